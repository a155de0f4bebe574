//! Locks of this process, of others, and of those that are gone.

use super::*;

#[test]
fn a_lock_is_held_once_and_released_on_drop() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let first = Lock::try_acquire(&path).unwrap();
    assert!(first.is_some());
    assert!(Lock::try_acquire(&path).unwrap().is_none());
    drop(first);
    assert!(Lock::try_acquire(&path).unwrap().is_some());
}

#[test]
fn a_lock_whose_taker_died_is_told_from_one_that_is_held() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let own = Lock::try_acquire(&path).unwrap();
    assert!(Lock::is_taker_alive(&path));
    drop(own);
    assert!(!Lock::is_taker_alive(&path));
    // The child that it starts has the file open as well, and outlives it.
    let mut taker = std::process::Command::new("flock");
    let pid = dir.path().join("pid");
    let script = format!("echo $$ >{0}.new; mv {0}.new {0}; exec sleep 1000", pid.display());
    let mut taker = taker.arg(&path).args(["sh", "-c", &script]).spawn().unwrap();
    while !pid.exists() {
        std::thread::yield_now();
    }
    assert!(Lock::is_held(&path).unwrap() && Lock::is_taker_alive(&path));
    taker.kill().unwrap();
    taker.wait().unwrap();
    assert!(Lock::is_held(&path).unwrap() && !Lock::is_taker_alive(&path));
    let orphan = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let orphan = rustix::process::Pid::from_raw(orphan).unwrap();
    rustix::process::kill_process(orphan, rustix::process::Signal::KILL).unwrap();
    while Lock::is_held(&path).unwrap() {
        std::thread::yield_now();
    }
}

#[test]
fn who_holds_a_lock_is_told_also_when_it_was_handed_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    assert!(!Lock::is_held(&path).unwrap() && !path.exists());
    let lock = Lock::try_acquire(&path).unwrap().unwrap();
    assert!(Lock::is_held(&path).unwrap());
    assert_eq!(Lock::holder(&path), None, "this process is not another one");
    // Nor is one that has the file open and nothing more, whichever is asked first.
    let reads = || {
        let open = std::process::Stdio::from(File::open(&path).unwrap());
        std::process::Command::new("sleep").arg("1000").stdin(open).spawn().unwrap()
    };
    let mut readers = vec![reads()];
    assert_eq!(Lock::holder(&path), None);
    let handed = std::process::Stdio::from(OwnedFd::from(lock));
    let mut child = std::process::Command::new("sleep").arg("1000").stdin(handed).spawn().unwrap();
    readers.push(reads());
    assert!(Lock::is_held(&path).unwrap());
    assert_eq!(Lock::holder(&path), Some(child.id()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!Lock::is_held(&path).unwrap());
    assert_eq!(Lock::holder(&path), None);
    for mut reader in readers {
        reader.kill().unwrap();
        reader.wait().unwrap();
    }
}
