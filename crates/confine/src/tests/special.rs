//! Pipes, sockets, devices, odd names, mounts.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, os::unix::net::UnixListener};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::{Access, Kind, PublishOptions};

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let scene = Scene::new();
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, scene.inside("pipe"), FileType::Fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(scene.inside("socket")).unwrap();
    fs::create_dir(scene.inside("dir")).unwrap();
    let mut cases = vec!["pipe", "socket"];
    // Some containers deny devices to root as well.
    let null = rustix::fs::makedev(1, 3);
    if mknodat(CWD, scene.inside("null"), FileType::CharacterDevice, mode, null).is_ok() {
        cases.push("null");
    }
    for name in cases {
        assert_eq!(scene.read(name), Err("not_a_regular_file"), "{name}");
        assert_eq!(scene.read(&format!("{name}/x")), Err("not_a_directory"), "{name}");
        let place = scene.root.locate(&scene.path(name));
        assert_eq!(place.unwrap_err().code(), "not_a_regular_file", "{name}");
        assert_eq!(scene.root.stat(&scene.path(name)).unwrap().kind, Kind::Other);
        // Also by its bare name, as a walk opens it.
        let dir = scene.root.open_dir(&scene.path(".")).unwrap();
        let refused = dir.open_file(OsStr::new(name)).unwrap_err();
        assert_eq!(refused, crate::Reason::NotARegularFile, "{name}");
    }
    assert_eq!(scene.read("dir"), Err("is_a_directory"));
    assert_eq!(scene.root.locate(&scene.path("dir")).unwrap_err().code(), "is_a_directory");
    assert_eq!(scene.root.locate(&scene.path(".")).unwrap_err().code(), "is_a_directory");
}

#[test]
fn any_name_can_be_listed_and_opened_again() {
    let scene = Scene::new();
    let names: [&[u8]; 6] = [b"a\nb", b"\xFF\xFE", b"back\\slash", b" x ", b"-rf", b"\x1b[31m"];
    for name in names {
        fs::write(scene.inside("").join(OsStr::from_bytes(name)), "inside").unwrap();
    }
    let entries = scene.root.read_dir(&scene.path(".")).unwrap();
    assert_eq!(entries.len(), names.len());
    for entry in entries {
        let shown = vocab::path::display_name(&entry.name);
        let path = scene.root.parse(&shown).unwrap();
        assert_eq!(path.file_name(), Some(entry.name.as_os_str()), "{shown}");
        assert!(scene.root.open_file(&path).is_ok(), "{shown}");
    }
}

#[test]
fn links_can_be_looked_at_without_following() {
    let scene = Scene::new();
    std::os::unix::fs::symlink("/etc/passwd", scene.inside("l")).unwrap();
    let path = scene.path("l");
    assert_eq!(scene.root.lstat(&path).unwrap().kind, Kind::Link);
    assert_eq!(scene.root.read_link(&path).unwrap(), "/etc/passwd");
    assert_eq!(scene.root.stat(&path).unwrap_err().code(), "path_outside_root");
    assert_eq!(scene.root.access(&path, Access::Read).unwrap_err().code(), "path_outside_root");
}

#[test]
fn access_is_what_the_system_grants() {
    let scene = Scene::new();
    scene.write("f", "");
    scene.root.access(&scene.path("f"), Access::Read).unwrap();
    scene.root.access(&scene.path("."), Access::Write).unwrap();
    let denied = scene.root.access(&scene.path("f"), Access::Execute).unwrap_err();
    assert_eq!(denied.code(), "permission_denied");
    let missing = scene.root.access(&scene.path("g"), Access::Exists).unwrap_err();
    assert_eq!(missing.code(), "not_found");
}

#[test]
fn a_root_must_be_a_directory() {
    let scene = Scene::new();
    scene.write("f", "");
    let open = |path: PathBuf| Root::open(&path, RootOptions::default()).unwrap_err().code();
    assert_eq!(open(scene.inside("f")), "not_a_directory");
    assert_eq!(open(scene.inside("g")), "not_found");
}

#[test]
fn the_scratch_root_is_a_root_of_its_own() {
    let scene = Scene::with(|base| {
        fs::create_dir(base.join("scratch")).unwrap();
        RootOptions { temp: Some(base.join("scratch")), ..RootOptions::default() }
    });
    let text = scene.base.path().join("scratch/log").to_str().unwrap().to_owned();
    let place = scene.root.locate(&scene.path(&text)).unwrap();
    place.publish(b"kept", PublishOptions::default()).unwrap();
    assert_eq!(scene.read(&text).as_deref(), Ok("kept"));
    let up = format!("{text}/../../outside/f");
    assert!(vocab::path::parse(&up, scene.root.roots()).is_err());
}
