//! Walks: order, threads, ends, omissions.

#![expect(clippy::disallowed_methods, reason = "tests build trees the plain way")]

use std::{fs, os::unix::fs::symlink, path::PathBuf, sync::Barrier};

use vocab::limits::{TRAVERSE_AHEAD_BYTES_MAX, TRAVERSE_RESULTS_MAX};

use super::*;
use crate::{RootOptions, tests::walked};

fn paths(base: &Path, options: &Traverse) -> (Vec<String>, Report) {
    let root = Root::open(base, RootOptions::default()).unwrap();
    walked(&root, ".", options, |_| true)
}

fn files(base: &Path, count: usize) {
    for number in 0..count {
        fs::write(base.join(format!("f{number:05}")), "").unwrap();
    }
}

#[test]
fn everything_is_met_in_order_and_links_are_not_descended() {
    let base = tempfile::tempdir().unwrap();
    for path in ["b/c", "a", "a-b", "a/.h", ".git/x"] {
        fs::create_dir_all(base.path().join(path)).unwrap();
    }
    fs::write(base.path().join("a/f"), "").unwrap();
    symlink("a", base.path().join("l")).unwrap();
    symlink("/etc", base.path().join("out")).unwrap();
    let (found, report) = paths(base.path(), &Traverse::default());
    assert_eq!(found, ["a", "a/.h", "a/f", "a-b", "b", "b/c", "l", "out"]);
    assert_eq!((report.visited, report.skipped, report.stopped), (8, Skipped::default(), false));
    let (shallow, _) = paths(base.path(), &Traverse { max_depth: 1, ..Traverse::default() });
    assert_eq!(shallow, ["a", "a-b", "b", "l", "out"]);
}

#[test]
fn order_does_not_depend_on_threads() {
    let base = tempfile::tempdir().unwrap();
    for dir in 0..12 {
        let dir = base.path().join(format!("d{dir:02}"));
        fs::create_dir_all(dir.join("deep/er")).unwrap();
        files(&dir, dir.to_string_lossy().len() + 40);
        files(&dir.join("deep/er"), 10);
    }
    // More than may be finished ahead of its turn.
    files(base.path(), TRAVERSE_RESULTS_MAX + 500);
    let with =
        |threads| paths(base.path(), &Traverse { threads: Some(threads), ..Traverse::default() });
    let (one, report) = with(1);
    assert_eq!(one.len(), report.visited);
    for threads in [2, 3, TRAVERSE_WORKERS_MAX, 1_000] {
        assert_eq!(with(threads).0, one, "{threads}");
    }
}

#[test]
fn results_held_ahead_are_bounded_in_bytes() {
    const HELD: usize = TRAVERSE_AHEAD_BYTES_MAX / 8;
    let base = tempfile::tempdir().unwrap();
    for dir in 0..8 {
        let dir = base.path().join(format!("d{dir}"));
        fs::create_dir(&dir).unwrap();
        files(&dir, 50);
    }
    let (plain, _) = paths(base.path(), &Traverse::default());
    let root = Root::open(base.path(), RootOptions::default()).unwrap();
    let start = root.parse(".").unwrap();
    for threads in [1, 4] {
        let options = Traverse { threads: Some(threads), ..Traverse::default() };
        let (most, mut found) = (AtomicUsize::new(0), Vec::new());
        let visit = |entry: &Entry<'_>| {
            let held = options.held.fetch_add(HELD, Ordering::Relaxed) + HELD;
            most.fetch_max(held, Ordering::Relaxed);
            Some(entry.path.to_str().unwrap().to_owned())
        };
        let deliver = |path| {
            options.held.fetch_sub(HELD, Ordering::Relaxed);
            found.push(path);
            Flow::Continue
        };
        options.run(&root, &start, || visit, deliver).unwrap();
        assert_eq!(found, plain);
        // Each thread may be at one result more; without the bound all of them would be held.
        let most = most.into_inner();
        assert!(most <= TRAVERSE_AHEAD_BYTES_MAX + threads * HELD, "{most}");
    }
}

#[test]
fn a_walk_has_no_more_threads_than_a_disk_bears() {
    let base = tempfile::tempdir().unwrap();
    let root = Root::open(base.path(), RootOptions::default()).unwrap();
    let start = root.parse(".").unwrap();
    for (threads, wanted) in [(0, 1), (3, 3), (TRAVERSE_WORKERS_MAX + 1, TRAVERSE_WORKERS_MAX)] {
        let visitors = AtomicUsize::new(0);
        let visitor = || {
            visitors.fetch_add(1, Ordering::Relaxed);
            |_: &Entry<'_>| None::<()>
        };
        let options = Traverse { threads: Some(threads), ..Traverse::default() };
        options.run(&root, &start, visitor, |()| Flow::Continue).unwrap();
        assert_eq!(visitors.into_inner(), wanted, "{threads}");
    }
}

#[test]
fn several_threads_visit_at_the_same_time() {
    let base = tempfile::tempdir().unwrap();
    for dir in ["a", "b"] {
        fs::create_dir(base.path().join(dir)).unwrap();
        fs::write(base.path().join(dir).join("f"), "").unwrap();
    }
    let root = Root::open(base.path(), RootOptions::default()).unwrap();
    let both = Barrier::new(2);
    let visit = |entry: &Entry<'_>| {
        if entry.kind == Kind::File {
            both.wait();
        }
        None::<()>
    };
    let options = Traverse { threads: Some(2), ..Traverse::default() };
    let start = root.parse(".").unwrap();
    options.run(&root, &start, || visit, |()| Flow::Continue).unwrap();
}

#[test]
fn a_receiver_and_a_flag_can_end_it() {
    let base = tempfile::tempdir().unwrap();
    files(base.path(), 5_000);
    let root = Root::open(base.path(), RootOptions::default()).unwrap();
    let start = root.parse(".").unwrap();
    let mut received = 0;
    let options = Traverse::default();
    let report = options
        .run(
            &root,
            &start,
            || |_: &Entry<'_>| Some(()),
            |()| {
                received += 1;
                if received == 3 { Flow::Stop } else { Flow::Continue }
            },
        )
        .unwrap();
    assert!(report.stopped);
    assert_eq!(received, 3);
    let visit = |_: &Entry<'_>| {
        options.cancel.store(true, Ordering::Relaxed);
        Some(())
    };
    let report = options.run(&root, &start, || visit, |()| Flow::Continue).unwrap();
    assert!(report.stopped && report.visited < 5_000);
}

#[test]
fn a_panicking_visitor_ends_the_walk() {
    let base = tempfile::tempdir().unwrap();
    files(base.path(), 200);
    let root = Root::open(base.path(), RootOptions::default()).unwrap();
    let start = root.parse(".").unwrap();
    let visit = |entry: &Entry<'_>| -> Option<()> {
        assert_ne!(entry.name, "f00100", "wanted");
        Some(())
    };
    let walked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Traverse::default().run(&root, &start, || visit, |()| Flow::Continue)
    }));
    assert!(walked.is_err());
}

#[test]
fn too_deep_trees_are_counted_not_followed() {
    let base = tempfile::tempdir().unwrap();
    let deep: PathBuf = (0..TRAVERSE_DEPTH_MAX + 5).map(|_| "d").collect();
    fs::create_dir_all(base.path().join(deep)).unwrap();
    let (found, report) = paths(base.path(), &Traverse::default());
    assert_eq!(found.len(), TRAVERSE_DEPTH_MAX);
    assert_eq!(report.skipped.too_deep, 1);
}

#[test]
fn a_directory_with_too_many_entries_is_counted() {
    let base = tempfile::tempdir().unwrap();
    files(base.path(), 5);
    let root = Root::open(base.path(), RootOptions::default()).unwrap();
    let dir = root.open_dir(&root.parse(".").unwrap()).unwrap();
    assert_eq!(dir.entries(5).unwrap().len(), 5);
    assert_eq!(dir.entries(4).unwrap_err(), Reason::TooManyEntries);
    let options = Traverse::default();
    let shared = Shared::new(&options, 0);
    shared.count(&Reason::TooManyEntries);
    assert_eq!(shared.report().skipped.oversized, 1);
}

#[test]
fn what_cannot_be_read_is_counted() {
    use std::os::unix::fs::PermissionsExt;
    let base = tempfile::tempdir().unwrap();
    let closed = base.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(base.path().join("f"), "").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let (found, report) = paths(base.path(), &Traverse::default());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(found, ["closed", "f"]);
    let root = rustix::process::geteuid().is_root();
    assert_eq!(report.skipped.unreadable, usize::from(!root));
}
