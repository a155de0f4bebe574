//! Stead's own files cannot be reached, whatever name leads to them.

use std::{ffi::OsStr, fs, os::unix::fs::symlink, process::Command};

use super::*;
use crate::PublishOptions;

/// A root that holds the daemon's state, its configuration, and a place where it may yet appear.
fn scene() -> Scene {
    let scene = Scene::with(|base| {
        let root = base.join("root");
        fs::create_dir_all(root.join("state/secrets")).unwrap();
        fs::create_dir_all(root.join("state/scratch")).unwrap();
        fs::write(root.join("state/secrets/key"), "secret").unwrap();
        fs::write(root.join("config.toml"), "secret").unwrap();
        let protected = ["state", "config.toml", "run/stead"].map(|path| root.join(path));
        RootOptions {
            protected: protected.to_vec(),
            exempt: vec![root.join("state/scratch")],
            ..RootOptions::default()
        }
    });
    scene.write("f", "open");
    scene
}

fn readable(scene: &Scene) -> (Vec<String>, crate::traverse::Skipped) {
    let wanted = |entry: &Entry<'_>| entry.open().is_ok();
    let (found, report) = walked(&scene.root, ".", &Traverse::default(), wanted);
    (found, report.skipped)
}

#[test]
fn no_name_leads_to_protected_files() {
    let scene = scene();
    symlink("state", scene.inside("link")).unwrap();
    symlink(scene.inside("state"), scene.inside("absolute")).unwrap();
    symlink("config.toml", scene.inside("config")).unwrap();
    for path in ["state/secrets/key", "link/secrets/key", "absolute/secrets/key", "config"] {
        assert_eq!(scene.read(path), Err("protected"), "{path}");
        let place = scene.root.locate(&scene.path(path)).unwrap_err();
        assert_eq!(place.code(), "protected", "{path}");
    }
    let code = |path: &str| scene.root.read_dir(&scene.path(path)).unwrap_err().code();
    assert_eq!(code("state"), "protected");
    assert_eq!(code("state/secrets"), "protected");
    assert_eq!(code("link"), "protected");
    let made = scene.root.create_dirs(&scene.path("state/new")).unwrap_err();
    assert_eq!(made.code(), "protected");
    assert!(!scene.inside("state/new").exists());
    let (found, skipped) = readable(&scene);
    assert_eq!(found, ["f"]);
    assert_eq!(skipped.protected, 1);
}

#[test]
fn a_hard_link_is_another_name() {
    let scene = scene();
    fs::hard_link(scene.inside("state/secrets/key"), scene.inside("key")).unwrap();
    assert_eq!(scene.read("key"), Err("protected"));
    assert_eq!(readable(&scene).0, ["f"]);
    // One that comes into being later is seen as well.
    fs::write(scene.inside("state/later"), "secret").unwrap();
    fs::hard_link(scene.inside("state/later"), scene.inside("later")).unwrap();
    assert_eq!(scene.read("later"), Err("protected"));
    fs::hard_link(scene.inside("config.toml"), scene.inside("config")).unwrap();
    assert_eq!(scene.read("config"), Err("protected"));
    // Files of the workspace may have several names.
    fs::hard_link(scene.inside("f"), scene.inside("g")).unwrap();
    assert_eq!(scene.read("g").as_deref(), Ok("open"));
}

#[test]
fn what_does_not_exist_yet_is_protected_when_it_does() {
    let scene = scene();
    let options = PublishOptions::default();
    let place = scene.root.locate(&scene.path("run")).unwrap_err();
    assert_eq!(place.code(), "protected");
    let made = scene.root.create_dirs(&scene.path("run/stead")).unwrap_err();
    assert_eq!(made.code(), "protected");
    fs::create_dir(scene.inside("run")).unwrap();
    let other = scene.root.locate(&scene.path("run/other")).unwrap();
    other.publish(b"", options).unwrap();
    let place = scene.root.locate(&scene.path("run/stead")).unwrap_err();
    assert_eq!(place.code(), "protected");
    scene.write("run/stead/socket", "secret");
    assert_eq!(scene.read("run/stead/socket"), Err("protected"));
    assert_eq!(readable(&scene).0, ["f", "run/other"]);
}

#[test]
fn a_protected_directory_is_no_root() {
    let scene = scene();
    let open = |path: &str| {
        let options = RootOptions {
            protected: vec![scene.inside("state")],
            exempt: vec![scene.inside("state/scratch")],
            ..RootOptions::default()
        };
        Root::open(&scene.inside(path), options).map_err(|error| error.code())
    };
    assert_eq!(open("state").unwrap_err(), "protected");
    assert_eq!(open("state/secrets").unwrap_err(), "protected");
    let scratch = open("state/scratch").unwrap();
    let path = vocab::path::parse("f", scratch.roots()).unwrap();
    scratch.locate(&path).unwrap().publish(b"x", PublishOptions::default()).unwrap();
    fs::hard_link(scene.inside("state/scratch/f"), scene.inside("state/scratch/g")).unwrap();
    scratch.open_file(&path).unwrap();
}

/// Runs one test of this binary in a mount namespace of its own, after `prepare` ran there with the
/// directory as its argument. Only root can.
fn in_namespace(test: &str, prepare: &str, dir: &Path) {
    let script = format!("set -e; cd \"$1\"; {prepare}; shift; exec \"$@\"");
    let status = Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c", &script, "sh"])
        .arg(dir)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("STEAD_TEST_DIR", dir)
        .status();
    assert!(status.unwrap().success());
}

fn prepared() -> PathBuf {
    PathBuf::from(std::env::var_os("STEAD_TEST_DIR").unwrap())
}

#[test]
fn mounts_do_not_hide_what_is_protected() {
    if is_root() {
        let base = tempfile::tempdir().unwrap();
        let prepare = "mkdir -p root/state/secrets root/m root/inner root/other root/file; \
            echo secret >root/state/secrets/key; touch root/bound; echo open >root/f; \
            mount --bind root/state root/m; mount --bind root/state/secrets root/inner; \
            mount --bind root/state/secrets/key root/bound; mount -t tmpfs none root/other; \
            echo open >root/other/f";
        in_namespace("tests::protected::mounts_prepared", prepare, base.path());
    }
}

#[test]
#[ignore = "runs in a mount namespace made by the test before it"]
fn mounts_prepared() {
    let root = prepared().join("root");
    for mounts in [true, false] {
        for missing in [true, false] {
            crate::sys::pretend_openat2_is_missing(missing);
            let protected = vec![root.join("state")];
            let options = RootOptions { mounts, protected, ..RootOptions::default() };
            let root = Root::open(&root, options).unwrap();
            let code = |text: &str| {
                let path = vocab::path::parse(text, root.roots()).unwrap();
                root.open_file(&path).map_or_else(|error| error.code(), |_| "opened")
            };
            let closed = if mounts { "protected" } else { "other_mount" };
            for path in ["m/secrets/key", "inner/key", "bound"] {
                assert_eq!(code(path), closed, "{path} {mounts}");
            }
            assert_eq!(code("other/f"), if mounts { "opened" } else { "other_mount" });
            assert_eq!(code("f"), "opened");
            let wanted = |entry: &Entry<'_>| entry.open().is_ok();
            let (found, _) = walked(&root, ".", &Traverse::default(), wanted);
            let expected: &[&str] = if mounts { &["f", "other/f"] } else { &["f"] };
            assert_eq!(found, expected);
        }
    }
    crate::sys::pretend_openat2_is_missing(false);
}

#[test]
fn a_full_disk_changes_nothing() {
    if is_root() {
        let base = tempfile::tempdir().unwrap();
        let prepare = "mkdir root; mount -t tmpfs -o size=256k none root; echo old >root/f; \
            mkdir root/ro; mount -t tmpfs none root/ro; echo old >root/ro/f; \
            mount -o remount,ro root/ro";
        in_namespace("tests::protected::full_disk_prepared", prepare, base.path());
    }
}

#[test]
#[ignore = "runs in a mount namespace made by the test before it"]
fn full_disk_prepared() {
    use vocab::outcome::Effect;
    let options = RootOptions { mounts: true, ..RootOptions::default() };
    let root = Root::open(&prepared().join("root"), options).unwrap();
    let check = |text: &str, bytes: &[u8], code: &str| {
        let path = vocab::path::parse(text, root.roots()).unwrap();
        let place = root.locate(&path).unwrap();
        let error = place.publish(bytes, PublishOptions::default()).unwrap_err();
        assert_eq!((error.code(), error.effect()), (code, Effect::NotStarted));
        let dir = root.open_dir(&path.parent().unwrap()).unwrap();
        assert_eq!(dir.stat(OsStr::new("f")).unwrap().len, 4);
        let names = dir.entries(10).unwrap();
        assert!(names.iter().all(|entry| !entry.name.to_string_lossy().starts_with(".stead-")));
    };
    check("f", &vec![0; 1 << 20], "no_space");
    check("ro/f", b"new", "read_only");
}
