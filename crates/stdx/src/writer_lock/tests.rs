//! Who may write, and what stands in the way.

#![expect(clippy::disallowed_methods, reason = "writes what other programs write")]

use super::*;

const AT: Timestamp = Timestamp::from_millis(7);

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl.lock");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

#[test]
fn one_holds_it_and_the_file_goes_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl.lock");
    let held = WriterLock::acquire(&path, AT).unwrap();
    let note = std::fs::read_to_string(&path).unwrap();
    let own = ProcId::current();
    let expected = format!("{{\"pid\":{},\"token\":\"{}\",\"at\":7}}", own.pid, own.token);
    assert_eq!(note, expected);
    let Err(Refused::Held { holder, .. }) = WriterLock::acquire(&path, AT) else { panic!() };
    assert_eq!(holder, Some(own.pid));
    drop(held);
    assert!(!path.exists());
    drop(WriterLock::acquire(&path, AT).unwrap());
}

#[test]
fn what_stands_there_counts_as_long_as_its_writer_lives() {
    let own = ProcId::current();
    let check = |text: String, is_held: bool| {
        let (_dir, path) = file(&text);
        assert_eq!(WriterLock::acquire(&path, AT).is_err(), is_held, "{text}");
    };
    // Our own, which nobody holds with the kernel any more.
    check(format!("{{\"pid\":{},\"token\":\"{}\",\"at\":1}}", own.pid, own.token), false);
    let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
    let parent = ProcId::of(u32::try_from(parent).unwrap()).unwrap();
    check(format!("{{\"pid\":{},\"token\":\"{}\",\"at\":1}}", parent.pid, parent.token), true);
    // Its pid was given to another process since.
    check(format!("{{\"pid\":{},\"token\":\"00000000.1\",\"at\":1}}", own.pid), false);
    // Another program's token.
    check(format!("{{ \"token\" : \"Mon Nov 30\", \"pid\" : {} }}", own.pid), true);
    check(format!("{{\"pid\":{}}}", own.pid), true);
    check("{\"pid\":4194399,\"token\":\"x\"}".to_owned(), false);
    check(String::new(), false);
    check("nonsense".to_owned(), false);
}

#[test]
fn a_link_or_a_strangers_thing_is_no_lock() {
    let dir = tempfile::tempdir().unwrap();
    let (target, link) = (dir.path().join("target"), dir.path().join("s.lock"));
    std::fs::write(&target, "kept").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert!(matches!(WriterLock::acquire(&link, AT), Err(Refused::Io { .. })));
    assert!(matches!(WriterLock::acquire(dir.path(), AT), Err(Refused::Io { .. })));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
}

#[test]
fn of_many_that_come_at_once_one_gets_it_each_time() {
    let (_dir, path) = file("{\"pid\":4194399,\"token\":\"x\"}");
    let inside = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for held in (0..200).filter_map(|_| WriterLock::acquire(&path, AT).ok()) {
                    let before = inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    assert_eq!(before, 0, "two hold it");
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    drop(held);
                }
            });
        }
    });
}
