//! Ways out that are there for a moment only, and other file systems below the root.

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use workspace::source::OwnedWorkspace as _;

use super::{SECRET, at, outside, tried};
use crate::{
    home::Home,
    served::{Served, TOKEN, command},
};

/// How often a parent is another one while operations go through it.
const SWAPS: usize = 2_000;

/// Ends the swapping also when the test fails.
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_operation_follows_a_parent_that_is_swapped_for_a_link() {
    let home = Home::new();
    let far = home.path("far");
    for dir in [far.clone(), home.path("work/d")] {
        fs::create_dir(dir).unwrap();
    }
    fs::write(far.join("secret"), SECRET).unwrap();
    fs::write(far.join("f"), SECRET).unwrap();
    fs::write(home.path("work/d/f"), "inside\n").unwrap();
    symlink(&far, home.path("work/other")).unwrap();
    let before = outside(&far);
    let served = Served::start(&home, &["--allow-exec"]);
    let remote = served.connect().await;
    let workspace = remote.borrow();
    let (n_swaps, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (counted, ended) = (Arc::clone(&n_swaps), Over(Arc::clone(&over)));
    let (one, other) = (home.path("work/d"), home.path("work/other"));
    let swapping = std::thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            std::thread::yield_now();
        }
    });
    let (mut was_inside, mut n_refused) = (false, 0);
    while n_swaps.load(Ordering::Relaxed) < SWAPS || !was_inside || n_refused == 0 {
        for path in ["d/f", "d", "d/new", "d/../d/f"] {
            let told = tried(&*workspace, path).await;
            assert!(!told.text.contains(SECRET), "{path}: {}", told.text);
            was_inside |= told.text.contains("inside") || told.text.contains("written");
            let out = |(_, code): &&(_, String)| code == "path_outside_root";
            n_refused += told.codes.iter().filter(out).count();
        }
        assert_eq!(outside(&far), before);
    }
    drop(ended);
    swapping.join().unwrap();
    Box::new(remote).close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_mounted_below_the_root_is_closed_unless_it_is_allowed() {
    let may_mount = ["--mount", "mount", "-t", "tmpfs", "none", "/mnt"];
    let allowed = Command::new("unshare").args(may_mount).output();
    if !allowed.is_ok_and(|end| end.status.success()) {
        println!("left out: nothing can be mounted here");
        return;
    }
    for flags in [&["--allow-exec"][..], &["--allow-exec", "--allow-mounts"]] {
        let home = Home::new();
        fs::create_dir(home.path("work/m")).unwrap();
        let inner = command(&home, flags);
        let mut outer = Command::new("unshare");
        let script = format!(
            "mount -t tmpfs none m && echo '{SECRET}' >m/f && mkdir m/d && exec \"$0\" \"$@\""
        );
        outer.args(["--mount", "sh", "-c", &script]).arg(inner.get_program());
        outer.args(inner.get_args()).current_dir(home.work()).env_clear();
        outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        outer.env("STEAD_WORKSPACE_TOKEN", TOKEN).env("STEAD_WORKSPACE_LISTEN", "127.0.0.1:0");
        outer.stdin(Stdio::null()).stderr(Stdio::piped());
        let served = Served::ready(outer);
        let remote = served.connect().await;
        let workspace = remote.borrow();
        if flags.contains(&"--allow-mounts") {
            let read = workspace.read(at(&*workspace, "m/f"), 1_000).await.unwrap();
            assert_eq!(read, format!("{SECRET}\n"));
            assert!(workspace.download(at(&*workspace, "m"), super::tree()).await.is_ok());
        } else {
            for path in ["m/f", "m", "m/new", "m/d", "./m/../m/f"] {
                let told = tried(&*workspace, path).await;
                assert!(!told.text.contains(SECRET), "{path}: {}", told.text);
                assert!(
                    told.codes.iter().all(|(_, code)| code == "other_mount"),
                    "{path}: {:?}",
                    told.codes
                );
                assert!(!told.codes.is_empty());
            }
            // Whoever copies all of it is told that it is not all.
            let all = workspace.download(at(&*workspace, "."), super::tree()).await;
            assert_eq!(all.unwrap_err().code, "other_mount");
        }
        Box::new(remote).close().await;
    }
}
