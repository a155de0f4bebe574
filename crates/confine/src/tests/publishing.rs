//! Publication: whole or not at all, with the right mode and the right word about what happened.

use std::{
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

use sha2::{Digest, Sha256};
use vocab::outcome::Effect;

use super::*;
use crate::{
    ConfineError, PublishOptions,
    publish::{Mode, Published, Replace},
};

fn publish(
    scene: &Scene,
    path: &str,
    bytes: &[u8],
    options: PublishOptions,
) -> Result<Published, ConfineError> {
    scene.root.locate(&scene.path(path)).and_then(|place| place.publish(bytes, options))
}

fn names(scene: &Scene) -> Vec<String> {
    let entries = scene.root.read_dir(&scene.path(".")).unwrap();
    entries.into_iter().map(|entry| entry.name.into_string().unwrap()).collect()
}

#[test]
fn it_says_whether_the_file_is_new() {
    let scene = Scene::new();
    let options = PublishOptions { sync: true, ..PublishOptions::default() };
    assert!(publish(&scene, "f", b"one", options).unwrap().created);
    assert!(!publish(&scene, "f", b"two", options).unwrap().created);
    assert_eq!(scene.read("f").as_deref(), Ok("two"));
    assert_eq!(names(&scene), ["f"]);
}

#[test]
fn modes_are_kept_or_set() {
    let scene = Scene::new();
    let mode = |path: &str| fs::metadata(scene.inside(path)).unwrap().mode() & 0o7777;
    publish(&scene, "new", b"", PublishOptions::default()).unwrap();
    fs::write(scene.inside("plain"), "").unwrap();
    assert_eq!(mode("new"), mode("plain"));
    fs::set_permissions(scene.inside("new"), fs::Permissions::from_mode(0o750)).unwrap();
    publish(&scene, "new", b"x", PublishOptions::default()).unwrap();
    assert_eq!(mode("new"), 0o750);
    let exact = PublishOptions { mode: Mode::Exact(0o600), ..PublishOptions::default() };
    publish(&scene, "new", b"y", exact).unwrap();
    assert_eq!(mode("new"), 0o600);
}

#[test]
fn only_what_is_expected_is_replaced() {
    let scene = Scene::new();
    let with = |replace| PublishOptions { replace, ..PublishOptions::default() };
    let refused = |path: &str, replace| {
        let error = publish(&scene, path, b"new", with(replace)).unwrap_err();
        assert_eq!(error.effect(), Effect::NotStarted);
        error.code()
    };
    scene.write("f", "old");
    let hash = |text: &str| Replace::Content(Sha256::digest(text).into());
    assert_eq!(refused("f", Replace::Never), "already_exists");
    assert_eq!(refused("f", hash("other")), "stale_content");
    assert_eq!(refused("g", hash("old")), "stale_content");
    let other = scene.root.id();
    assert_eq!(refused("f", Replace::Id(other)), "stale_content");
    assert_eq!(scene.read("f").as_deref(), Ok("old"));
    publish(&scene, "f", b"newer", with(hash("old"))).unwrap();
    let id = scene.root.stat(&scene.path("f")).unwrap().id;
    publish(&scene, "f", b"newest", with(Replace::Id(id))).unwrap();
    assert!(publish(&scene, "g", b"", with(Replace::Never)).unwrap().created);
    assert_eq!(names(&scene), ["f", "g"]);
}

#[test]
fn links_are_written_through_inside_only() {
    let scene = Scene::new();
    scene.write("d/f", "old");
    symlink("d/f", scene.inside("l")).unwrap();
    symlink("d/made", scene.inside("dangling")).unwrap();
    symlink("../outside/new", scene.inside("out")).unwrap();
    symlink("loop", scene.inside("loop")).unwrap();
    let options = PublishOptions::default();
    publish(&scene, "l", b"new", options).unwrap();
    publish(&scene, "dangling", b"made", options).unwrap();
    assert_eq!(scene.read("d/f").as_deref(), Ok("new"));
    assert_eq!(scene.read("d/made").as_deref(), Ok("made"));
    assert_eq!(publish(&scene, "out", b"", options).unwrap_err().code(), "path_outside_root");
    assert_eq!(publish(&scene, "loop", b"", options).unwrap_err().code(), "too_many_links");
    assert_eq!(publish(&scene, "no/f", b"", options).unwrap_err().code(), "not_found");
    assert_eq!(publish(&scene, "d/f/x", b"", options).unwrap_err().code(), "not_a_directory");
}

#[test]
fn other_names_of_a_file_keep_their_content() {
    let scene = Scene::new();
    let outside = scene.base.path().join("outside/f");
    fs::hard_link(&outside, scene.inside("f")).unwrap();
    publish(&scene, "f", b"new", PublishOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(outside).unwrap(), "outside");
}

#[test]
fn a_place_that_moved_is_not_written_to() {
    let scene = Scene::new();
    scene.write("d/f", "old");
    let place = scene.root.locate(&scene.path("d/f")).unwrap();
    let mut pending = place.writer(PublishOptions::default()).unwrap();
    pending.write_all(b"new").unwrap();
    fs::rename(scene.inside("d"), scene.inside("e")).unwrap();
    scene.write("d/f", "other");
    let error = pending.commit().unwrap_err();
    assert_eq!((error.code(), error.effect()), ("path_changed", Effect::NotStarted));
    assert_eq!(scene.read("e/f").as_deref(), Ok("old"));
    assert_eq!(fs::read_dir(scene.inside("e")).unwrap().count(), 1);
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let scene = Scene::new();
    let place = scene.root.locate(&scene.path("f")).unwrap();
    let mut pending = place.writer(PublishOptions::default()).unwrap();
    pending.write_all(b"half").unwrap();
    drop(pending);
    assert!(names(&scene).is_empty());
}

#[test]
fn a_directory_in_the_way_stays() {
    let scene = Scene::new();
    let place = scene.root.locate(&scene.path("f")).unwrap();
    let pending = place.writer(PublishOptions::default()).unwrap();
    fs::create_dir(scene.inside("f")).unwrap();
    assert_eq!(pending.commit().unwrap_err().code(), "is_a_directory");
    assert_eq!(names(&scene), ["f"]);
}

#[test]
fn denied_and_read_only_are_told_apart_from_missing() {
    if is_root() {
        return;
    }
    let scene = Scene::new();
    scene.write("f", "old");
    scene.write("d/f", "old");
    let chmod = |path: &str, mode| {
        fs::set_permissions(scene.inside(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod("f", 0o400);
    chmod("d", 0o500);
    let code =
        |path: &str| publish(&scene, path, b"x", PublishOptions::default()).unwrap_err().code();
    assert_eq!(code("f"), "permission_denied");
    assert_eq!(code("d/new"), "permission_denied");
    chmod("d", 0o700);
    assert_eq!(scene.read("f").as_deref(), Ok("old"));
}

#[test]
fn directories_are_made_with_their_parents() {
    let scene = Scene::new();
    scene.write("f", "");
    symlink("../outside", scene.inside("out")).unwrap();
    symlink("x/y", scene.inside("dangling")).unwrap();
    let make = |path: &str| {
        let made = scene.root.create_dirs(&scene.path(path));
        made.map(|made| made.len()).map_err(|error| (error.code(), error.effect()))
    };
    assert_eq!(make("a/b/c"), Ok(3));
    assert_eq!(make("a/b/c"), Ok(0));
    assert_eq!(make("."), Ok(0));
    assert_eq!(make("dangling/z"), Ok(3));
    assert!(scene.inside("x/y/z").is_dir());
    assert_eq!(make("f/x"), Err(("not_a_directory", Effect::NotStarted)));
    assert_eq!(make("f"), Err(("not_a_directory", Effect::NotStarted)));
    assert_eq!(make("out/x"), Err(("path_outside_root", Effect::NotStarted)));
    // What was made on the way is removed again.
    assert_eq!(make("new/../out/x"), Err(("path_outside_root", Effect::NotStarted)));
    assert!(!scene.inside("new").exists());
    let made = scene.root.create_dirs(&scene.path("p/q")).unwrap();
    let lane = scene.root.locate(&scene.path("p/q/f")).unwrap().lane();
    let ticket = crate::lane::register(lane).unwrap();
    assert!(!made[1].undo(), "a change is on its way there");
    drop(ticket);
    fs::write(scene.inside("p/f"), "").unwrap();
    assert_eq!([made[1].undo(), made[0].undo()], [true, false]);
    assert_eq!(fs::read_dir(scene.base.path().join("outside")).unwrap().count(), 1);
}
