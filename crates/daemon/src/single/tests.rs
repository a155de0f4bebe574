//! One daemon per state root, also right after one has died.

#![expect(
    clippy::disallowed_methods,
    reason = "starts another process that takes a lock, and looks for its child"
)]

use std::path::Path;

use super::*;

fn paths(dir: &Path) -> Paths {
    let below = |name: &str| dir.join(name);
    let (home, runtime, config) = (below("home"), below("run"), below("config.toml"));
    Paths { home, runtime, socket_name: crate::paths::SOCKET_NAME.to_owned(), config }
}

#[test]
fn one_claim_at_a_time_and_the_credential_stays() {
    let dir = tempfile::tempdir().unwrap();
    let paths = paths(dir.path());
    let first = Claim::take(&paths).unwrap().unwrap();
    assert!(Claim::take(&paths).unwrap().is_none());
    assert!(is_daemon(&paths, std::process::id()) && !is_daemon(&paths, 1));
    first.publish(b"{}").unwrap();
    let one = credential(&paths).unwrap();
    assert!(credential(&paths).unwrap().matches(one.expose().as_bytes()));
    first.withdraw().unwrap();
    drop(first);
    assert!(!is_daemon(&paths, std::process::id()));
    assert!(Claim::take(&paths).unwrap().is_some());
}

#[test]
fn what_a_dead_daemon_leaves_of_its_lock_is_waited_for_a_while() {
    let dir = tempfile::tempdir().unwrap();
    let paths = paths(dir.path());
    paths.prepare().unwrap();
    let pid = dir.path().join("pid");
    let script = format!("echo $$ >{0}.new; mv {0}.new {0}; exec sleep 1000", pid.display());
    drop(Lock::try_acquire(&paths.lock()).unwrap());
    let mut taker = std::process::Command::new("flock");
    let mut taker = taker.arg(paths.lock()).args(["sh", "-c", &script]).spawn().unwrap();
    while !pid.exists() {
        std::thread::yield_now();
    }
    assert!(Claim::take(&paths).unwrap().is_none());
    taker.kill().unwrap();
    taker.wait().unwrap();
    // Nobody lets go: it is given up after its time.
    assert_eq!(DAEMON_LOCK_DYING_MS, 2_000, "no longer than people wait for an answer");
    assert!(Claim::take(&paths).unwrap().is_none());
    let orphan = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let orphan = rustix::process::Pid::from_raw(orphan).unwrap();
    std::thread::scope(|scope| {
        let claimed = scope.spawn(|| Claim::take(&paths).unwrap());
        rustix::process::kill_process(orphan, rustix::process::Signal::KILL).unwrap();
        assert!(claimed.join().unwrap().is_some());
    });
}

#[test]
fn a_state_file_over_its_bound_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let paths = paths(dir.path());
    paths.prepare().unwrap();
    let (secrets, unsealer) = crate::secrets::open(paths.secrets());
    let most = usize::try_from(STATE_FILE_BYTES_MAX).unwrap();
    for (bytes, is_taken) in [(most, true), (most + 1, false)] {
        for path in [paths.credential(), paths.secrets().join("local")] {
            state_file::publish(&path, &vec![b'x'; bytes]).unwrap();
        }
        assert_eq!(credential(&paths).is_ok(), is_taken, "{bytes}");
        assert_eq!(secrets.has("local").is_ok(), is_taken, "{bytes}");
        assert_eq!(unsealer.unseal("local").is_ok(), is_taken, "{bytes}");
    }
}
