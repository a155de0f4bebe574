//! Disks that are full or read-only, in a mount namespace of the test's own. Only root can make those;
//! everybody else passes without them.

#![expect(clippy::disallowed_methods, reason = "tests arrange and look at real files")]

use crate::bench::Bench;
use rustix::{
    mount::{MountFlags, MountPropagationFlags, mount, mount_change, mount_remount},
    thread::UnshareFlags,
};
use serde_json::json;
use std::ffi::CString;

/// Mounts a small disk over the root. The namespace is the test process's; nextest gives each test one.
fn small_disk(dir: &std::path::Path) -> bool {
    let unshared = {
        #[expect(deprecated, reason = "a mount namespace needs no care about file descriptors")]
        rustix::thread::unshare(UnshareFlags::NEWNS)
    };
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    unshared.is_ok()
        && mount_change("/", private).is_ok()
        && mount("tmpfs", dir, "tmpfs", MountFlags::empty(), Some(c"size=256k")).is_ok()
}

fn bench() -> Option<Bench> {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    std::fs::create_dir(&root).unwrap();
    small_disk(&root).then(|| Bench::over(dir, |_| {}))
}

#[test]
fn a_full_disk_is_told_and_nothing_is_half_written() {
    // The threads of a runtime and of the pool come after the namespace, so that all of them see it.
    let Some(bench) = bench() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        bench.file("a", "old\n");
        let big = "x".repeat(1 << 20);
        bench.refused_before("write", json!({"path": "a", "content": big}), "no_space").await;
        let edit = json!({"path": "a", "oldText": "old", "newText": big});
        bench.refused_before("edit", edit, "no_space").await;
        assert_eq!(bench.content("a"), b"old\n");
        assert_eq!(bench.root().read_dir().unwrap().count(), 1);
        // Directories that were made for it are gone again.
        bench.refused_before("write", json!({"path": "d/e/a", "content": big}), "no_space").await;
        assert_eq!(bench.root().read_dir().unwrap().count(), 1);
    });
}

#[test]
fn a_read_only_root_can_be_read_and_not_written() {
    let Some(bench) = bench() else { return };
    bench.file("a", "old\n");
    let data = CString::default();
    mount_remount(bench.root(), MountFlags::RDONLY, data.as_c_str()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        assert_eq!(bench.text("read", json!({"path": "a"})).await, "old\n");
        for path in ["a", "b", "d/c"] {
            bench.refused_before("write", json!({"path": path, "content": "x"}), "read_only").await;
        }
        let edit = json!({"path": "a", "oldText": "old", "newText": "new"});
        bench.refused_before("edit", edit, "read_only").await;
    });
}
