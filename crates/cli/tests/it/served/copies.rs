//! `stead cp`: files and directories that go to a runtime, come from it, and go from one to another.

use std::{
    fs,
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use vocab::limits::COPY_PROGRESS_MS;

use super::{Served, TOKEN};
use crate::home::Home;

/// Adds a runtime that serves a directory of that name.
fn far(home: &Home, name: &str) -> Served {
    let root = home.path("work").join(name);
    fs::create_dir(&root).unwrap();
    let served = Served::start(home, &["--root", root.to_str().unwrap()]);
    let address = served.address().to_string();
    let mut adding = home.command(&["workspace", "add", name, "--remote", &address]);
    adding.env("STEAD_REMOTE_TOKEN", TOKEN);
    let told = adding.output().unwrap();
    assert!(told.status.success(), "{told:?}");
    served
}

fn temporaries(dir: &Path) -> usize {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".tmp")).count()
}

#[test]
fn files_and_directories_go_and_come_and_go_on() {
    let home = Home::scripted(&json!({"turns": []}));
    let (_one, _two) = (far(&home, "one"), far(&home, "two"));
    let work = home.path("work");
    let content: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[1]).collect();
    fs::create_dir_all(work.join("mine/deep")).unwrap();
    fs::write(work.join("mine/a"), &content).unwrap();
    fs::write(work.join("mine/deep/b"), "two").unwrap();
    std::os::unix::fs::symlink("a", work.join("mine/link")).unwrap();
    let cp = |args: &[&str], code: i32, told: &str| {
        let mut all = vec!["cp"];
        all.extend(args);
        let ended = home.stead(&all).with(code);
        assert!(ended.err.contains(told), "{args:?}: {}", ended.err);
        ended.out
    };
    cp(&["mine/a", "one:a"], 0, "copied to a: 2.8 MiB");
    assert!(fs::read(work.join("one/a")).unwrap() == content);
    cp(&["mine/deep/b", "one:a"], 1, "already exists");
    cp(&["-f", "mine/deep/b", "one:a"], 0, "copied to a: 3 B");
    let told: Value = serde_json::from_str(&cp(&["--json", "one:a", "back"], 0, "")).unwrap();
    assert_eq!(
        (&told["size"], &told["directory"], &told["created"]),
        (&json!(3), &json!(false), &json!(true))
    );
    assert_eq!(fs::read_to_string(work.join("back")).unwrap(), "two");
    cp(&["mine", "one:"], 1, "is a directory");
    cp(&["-r", "mine", "one:"], 0, "not copied: link (a link to a)");
    cp(&["-r", "mine", "one:"], 1, "already exists");
    cp(&["-r", "one:mine", "two:deeper"], 0, "copied to deeper");
    cp(&["-r", "two:deeper", "local:again"], 0, "copied to again");
    assert!(fs::read(work.join("again/a")).unwrap() == content);
    assert_eq!(fs::read_to_string(work.join("again/deep/b")).unwrap(), "two");
    assert!(fs::symlink_metadata(work.join("again/link")).is_err());
    for (args, code, told) in [
        (["one:missing", "x"], 3, "no such file"),
        (["missing", "one:x"], 3, "missing"),
        (["one:../escape", "x"], 1, "outside"),
        (["mine/a", "one:/etc/x"], 1, "outside"),
        (["mine/a", "one:none/x"], 3, "no such"),
        (["mine/a", "nowhere:x"], 3, "nowhere"),
        (["one:a", "none/"], 3, "no such directory"),
    ] {
        cp(&args, code, told);
    }
    assert_eq!(
        COPY_PROGRESS_MS, 100,
        "no copy here takes long enough to be told more than a few times"
    );
    for dir in ["one", "two", "."] {
        assert_eq!(temporaries(&work.join(dir)), 0, "{dir}");
    }
}

#[test]
fn a_copy_that_is_stopped_leaves_nothing() {
    let home = Home::scripted(&json!({"turns": []}));
    let _one = far(&home, "one");
    let work = home.path("work");
    // Long enough that it is stopped before its end.
    let long = fs::File::create(work.join("long")).unwrap();
    long.set_len(128 << 20).unwrap();
    let mut copying = home.command(&["cp", "long", "one:long"]);
    let mut copying = copying.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while temporaries(&work.join("one")) == 0 {
        assert!(copying.try_wait().unwrap().is_none(), "it ended before it began");
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(copying.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    assert!(!copying.wait().unwrap().success());
    let mut said = String::new();
    copying.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    while temporaries(&work.join("one")) > 0 {
        std::thread::yield_now();
    }
    assert!(!work.join("one/long").exists(), "{said}");
}

#[test]
fn a_runtime_that_was_started_again_is_called_anew() {
    let home = Home::scripted(&json!({"turns": []}));
    let served = far(&home, "one");
    let address = served.address().to_string();
    let port = address.split([':', '/']).nth(4).unwrap().to_owned();
    fs::write(home.path("work/x"), "x").unwrap();
    home.stead(&["cp", "x", "one:first"]).with(0);
    drop(served);
    let mut again: Command = super::command(&home, &["--root", "one", "--listen"]);
    again.arg(format!("127.0.0.1:{port}")).env("STEAD_WORKSPACE_TOKEN", TOKEN);
    let _served = Served::ready(again);
    home.stead(&["cp", "x", "one:second"]).with(0);
    assert!(home.path("work/one/second").exists());
}
