//! A thread that swaps directories, files and links while others work through them.

use std::{
    fs,
    io::Read,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use rustix::fs::{RenameFlags, renameat_with};

use super::*;
use crate::PublishOptions;

const SWAPS: usize = 200_000;

#[derive(Default)]
struct Seen {
    done: AtomicUsize,
    refused: AtomicUsize,
}

impl Seen {
    fn note(&self, done: bool) {
        if done { &self.done } else { &self.refused }.fetch_add(1, Ordering::Relaxed);
    }

    fn both(&self) -> bool {
        self.done.load(Ordering::Relaxed) > 0 && self.refused.load(Ordering::Relaxed) > 0
    }
}

#[derive(Default)]
struct Watch {
    swaps: AtomicUsize,
    over: AtomicBool,
    file: Seen,
    below: Seen,
    publish: Seen,
    mkdir: Seen,
    traverse: Seen,
}

impl Watch {
    fn all(&self) -> bool {
        self.swaps.load(Ordering::Relaxed) >= SWAPS
            && [&self.file, &self.below, &self.publish, &self.mkdir, &self.traverse]
                .iter()
                .all(|seen| seen.both())
    }

    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }
}

/// Ends the other threads also when one fails.
struct Over<'a>(&'a Watch);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.over.store(true, Ordering::Relaxed);
        }
    }
}

fn swap(scene: &Scene, watch: &Watch) {
    let _over = Over(watch);
    let open = |path: &str| fs::File::open(scene.inside(path)).unwrap();
    // By handle, because the swapper must not be led outside by its own swaps.
    let (root, d) = (&open(""), &open("d"));
    while watch.goes_on() {
        for (dir, a, b) in [(root, "d", "d-out"), (root, "x", "x-out"), (d, "inner", "d-in")] {
            renameat_with(dir, a, root, b, RenameFlags::EXCHANGE).unwrap();
            watch.swaps.fetch_add(1, Ordering::Relaxed);
        }
        if watch.all() {
            watch.over.store(true, Ordering::Relaxed);
        }
    }
}

fn read(scene: &Scene, watch: &Watch) {
    let _over = Over(watch);
    let paths = ["x", "d/f", "d/inner/f"].map(|text| scene.path(text));
    while watch.goes_on() {
        for (path, seen) in paths.iter().zip([&watch.file, &watch.below, &watch.below]) {
            let opened = scene.root.open_file(path);
            seen.note(opened.is_ok());
            if let Ok(mut opened) = opened {
                let mut content = String::new();
                opened.file.read_to_string(&mut content).unwrap();
                assert_eq!(content, "inside");
            }
        }
    }
}

fn write(scene: &Scene, watch: &Watch) {
    let _over = Over(watch);
    let (file, dir) = (scene.path("d/new"), scene.path("d/inner/made"));
    while watch.goes_on() {
        let published = scene
            .root
            .locate(&file)
            .and_then(|place| place.publish(b"inside", PublishOptions::default()));
        watch.publish.note(published.is_ok());
        let made = scene.root.create_dirs(&dir);
        watch.mkdir.note(made.is_ok());
    }
}

fn traverse(scene: &Scene, watch: &Watch) {
    let _over = Over(watch);
    let (start, options) = (scene.path("d"), Traverse { threads: Some(2), ..Traverse::default() });
    while watch.goes_on() {
        let walked = options.run(
            &scene.root,
            &start,
            || {
                |entry: &Entry<'_>| {
                    // What is being published beside its place is still empty.
                    let half = entry.name.to_string_lossy().starts_with(".stead-");
                    let mut content = String::new();
                    entry.open().ok()?.file.read_to_string(&mut content).ok()?;
                    (!half).then_some(content)
                }
            },
            |content| {
                assert_eq!(content, "inside");
                Flow::Continue
            },
        );
        watch.traverse.note(walked.is_ok());
    }
}

fn listing(dir: &Path) -> Vec<(PathBuf, Option<String>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(listing(&entry.path()));
        }
        found.push((entry.path(), fs::read_to_string(entry.path()).ok()));
    }
    found.sort();
    found
}

#[test]
fn a_hostile_thread_never_leads_outside() {
    let scene = Scene::new();
    scene.write("d/f", "inside");
    scene.write("d/inner/f", "inside");
    scene.write("x", "inside");
    fs::create_dir(scene.base.path().join("outside/inner")).unwrap();
    fs::write(scene.base.path().join("outside/inner/f"), "outside").unwrap();
    symlink("../outside", scene.inside("d-out")).unwrap();
    symlink(scene.base.path().join("outside"), scene.inside("d-in")).unwrap();
    symlink("../outside/f", scene.inside("x-out")).unwrap();
    let outside = scene.base.path().join("outside");
    let before = listing(&outside);
    let watch = Watch::default();
    std::thread::scope(|scope| {
        scope.spawn(|| swap(&scene, &watch));
        scope.spawn(|| read(&scene, &watch));
        scope.spawn(|| write(&scene, &watch));
        scope.spawn(|| traverse(&scene, &watch));
    });
    assert!(watch.all(), "ended by a failure");
    assert_eq!(listing(&outside), before);
    let left = listing(&scene.inside(""))
        .into_iter()
        .filter(|(path, _)| path.file_name().unwrap().to_string_lossy().starts_with(".stead-"));
    assert_eq!(left.count(), 0);
}
