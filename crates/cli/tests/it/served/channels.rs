//! A runtime that serves the directories below one parent, each to those who name it.

use std::{fs, os::unix::fs::symlink};

use rustix::process::Signal;

use super::{
    Served, TOKEN,
    places::{leveled, story, timeless, work_in},
};
use crate::home::Home;

/// Gives a channel of a runtime a name; tells what was said, and whether it was added.
fn add(home: &Home, served: &Served, name: &str, more: &[&str]) -> (bool, String) {
    let address = served.address().to_string();
    let mut args = vec!["workspace", "add", name, "--remote", &address];
    args.extend(more);
    let mut adding = home.command(&args);
    adding.env("STEAD_REMOTE_TOKEN", TOKEN);
    let told = adding.output().unwrap();
    (told.status.success(), String::from_utf8_lossy(&told.stderr).into_owned())
}

fn parent(home: &Home) -> Served {
    fs::create_dir(home.path("outside")).unwrap();
    fs::write(home.path("outside/secret"), "secret").unwrap();
    fs::create_dir(home.path("work/parent")).unwrap();
    for name in ["one", "two", ".hidden"] {
        fs::create_dir(home.path("work/parent").join(name)).unwrap();
    }
    fs::write(home.path("work/parent/file"), "").unwrap();
    symlink(home.path("outside"), home.path("work/parent/out")).unwrap();
    symlink("one", home.path("work/parent/alias")).unwrap();
    Served::start(home, &["--shared-parent", "parent", "--allow-exec", "--allow-mounts"])
}

#[test]
fn each_channel_is_a_workspace_of_its_own() {
    let home = Home::scripted(&story());
    let mut served = parent(&home);
    let real = fs::canonicalize(home.path("work/parent")).unwrap();
    assert!(served.ready.contains(&format!("shared parent {real:?}")), "{}", served.ready);
    for name in ["one", "two"] {
        let (is_added, told) = add(&home, &served, name, &["--channel", name]);
        assert!(is_added, "{told}");
    }
    let listed = home.stead(&["workspace", "list", "--json"]).with(0).out;
    assert!(listed.contains("\"channel\": \"one\""), "{listed}");
    assert!(home.stead(&["workspace", "list"]).with(0).out.contains(" · two"));
    // The same story, in a directory here and in either channel.
    fs::create_dir(home.path("work/here")).unwrap();
    let here = home.path("work/here");
    let root = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let tell = |place: &[&str], path: &std::path::Path| {
        let real = fs::canonicalize(path).unwrap();
        leveled(&timeless(work_in(&home, place)), &root(&real))
    };
    let local = tell(&["-C", here.to_str().unwrap()], &here);
    for name in ["one", "two"] {
        assert_eq!(tell(&["-w", name], &real.join(name)), local, "{name}");
    }
    assert!(real.join("one/d/a.txt").exists() && real.join("two/d/a.txt").exists());
    let refused = home.stead(&["cp", "one:d/a.txt", "x"]).with(1).err;
    assert!(refused.contains("method_not_supported"), "{refused}");
    served.signal(Signal::HUP);
    assert_eq!(served.says(), "stead: reloaded, generation 2\n");
    assert!(!work_in(&home, &["-w", "two"]).is_empty());
    served.signal(Signal::TERM);
    assert!(served.child.wait().unwrap().success());
}

#[test]
fn a_channel_is_a_directory_below_the_parent_and_nothing_else() {
    let home = Home::scripted(&story());
    let served = parent(&home);
    for (channel, code) in [
        (None, "channel_required"),
        (Some("missing"), "channel_not_found"),
        (Some("file"), "channel_not_found"),
        (Some("out"), "channel_not_found"),
        (Some("alias"), "channel_not_found"),
        (Some(".hidden"), "channel_invalid"),
        (Some(".."), "channel_invalid"),
        (Some("one/../two"), "channel_invalid"),
        (Some("../outside"), "channel_invalid"),
    ] {
        let more: Vec<&str> = channel.into_iter().flat_map(|name| ["--channel", name]).collect();
        let (is_added, told) = add(&home, &served, "x", &more);
        assert!(!is_added && told.contains(code), "{channel:?}: {told}");
    }
    let single = Served::start(&home, &[]);
    let (is_added, told) = add(&home, &single, "x", &["--channel", "one"]);
    assert!(!is_added && told.contains("capability_not_supported"), "{told}");
}

#[test]
fn a_shared_parent_excludes_a_root() {
    let home = Home::new();
    for (flags, twins, told) in [
        (&["--shared-parent", "p", "--root", "r"][..], &[][..], "cannot be used with"),
        (
            &[],
            &[("STEAD_WORKSPACE_SHARED_PARENT", "p"), ("STEAD_WORKSPACE_ROOT", "r")],
            "exclude each other",
        ),
        // A flag wins over the twin of the one that it excludes.
        (&["--shared-parent", "missing"], &[("STEAD_WORKSPACE_ROOT", ".")], "no such file"),
        (&["--shared-parent", "p", "--id", "x"], &[], "cannot be used with"),
        (
            &["--shared-parent", "p"],
            &[("STEAD_WORKSPACE_ID", "x")],
            "--shared-parent serves several",
        ),
        (&["--shared-parent", "missing"], &[], "no such file"),
        (&[], &[("STEAD_WORKSPACE_SHARED_PARENT", "missing")], "no such file"),
    ] {
        let mut command = super::command(&home, flags);
        command.envs(twins.iter().copied());
        let ended = command.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success() && said.contains(told), "{flags:?} {twins:?}: {said}");
    }
}
