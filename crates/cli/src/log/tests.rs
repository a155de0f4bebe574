//! Records in a bounded file, whatever the disk does.

use super::*;

#[test]
fn a_panic_is_told_by_its_place_and_with_its_ids() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("daemon.log");
    let subscriber = Log::open(path.clone()).unwrap().subscriber(LevelFilter::ERROR);
    let _guard = tracing::subscriber::set_default(subscriber);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(tell_panic));
    let span = tracing::error_span!("call", session = "s1", run = "r1", call = "c1");
    let fell = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        span.in_scope(|| panic!("PAYLOAD"))
    }));
    std::panic::set_hook(before);
    assert!(fell.is_err());
    let text =
        String::from_utf8(state_file::read(&path, LOG_FILE_BYTES_MAX).unwrap().unwrap()).unwrap();
    let line: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(line["place"].as_str().is_some_and(|place| place.contains("log/tests.rs:")), "{line}");
    assert_eq!(line["span"]["call"], "c1");
    assert_eq!(line["span"]["run"], "r1");
    assert!(!text.contains("PAYLOAD"), "{text}");
}

#[test]
fn standard_error_is_set_aside_once_it_is_over_its_bound() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("daemon.err");
    let chunk = vec![b'x'; usize::try_from(ERRORS_FILE_BYTES_MAX).unwrap()];
    let size = |path: &Path| state_file::size(path).unwrap();
    errors(&path).unwrap().write_all(&chunk).unwrap();
    errors(&path).unwrap().write_all(b"y").unwrap();
    assert_eq!(size(&path), Some(ERRORS_FILE_BYTES_MAX + 1));
    errors(&path).unwrap().write_all(b"z").unwrap();
    assert_eq!(size(&path), Some(1));
    assert_eq!(size(&path.with_extension("err.1")), Some(ERRORS_FILE_BYTES_MAX + 1));
}

/// A disk with so much room.
struct Disk(Vec<u8>, usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(self.1 - self.0.len()).min(3);
        self.0.extend_from_slice(&bytes[..n]);
        if n == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(n) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_record_after_a_cut_one_begins_on_a_line_of_its_own() {
    for (room, text) in [
        (6, "one\ntw\nfour\n"),
        (4, "one\nfour\n"),
        (8, "one\ntwo\nfour\n"),
        (7, "one\ntwo\nfour\n"),
    ] {
        let (mut disk, mut size, mut cut) = (Disk(Vec::new(), room), 0, false);
        put(&mut disk, b"one\n", &mut size, &mut cut).unwrap();
        for record in [&b"two\n"[..], b"three\n"] {
            put(&mut disk, record, &mut size, &mut cut).ok();
        }
        disk.1 = 100;
        put(&mut disk, b"four\n", &mut size, &mut cut).unwrap();
        assert_eq!(String::from_utf8(disk.0).unwrap(), text);
        assert_eq!(size, u64::try_from(text.len()).unwrap());
    }
    // What the last daemon left cut is seen by the next one.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("daemon.log");
    state_file::publish(&path, b"ha").unwrap();
    (&Log::open(path.clone()).unwrap()).write_all(b"one\n").unwrap();
    (&Log::open(path.clone()).unwrap()).write_all(b"two\n").unwrap();
    let bytes = state_file::read(&path, LOG_FILE_BYTES_MAX).unwrap().unwrap();
    assert_eq!(bytes, b"ha\none\ntwo\n");
}

#[test]
fn a_full_log_is_set_aside_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("daemon.log");
    let log = Log::open(path.clone()).unwrap();
    let mut line = vec![b'x'; 1 << 20];
    line[(1 << 20) - 1] = b'\n';
    for _ in 0..=2 * (LOG_FILE_BYTES_MAX >> 20) {
        (&log).write_all(&line).unwrap();
    }
    let size = |path: PathBuf| state_file::size(&path).unwrap();
    assert_eq!(size(path.clone()), Some(1 << 20));
    assert_eq!(size(path.with_extension("log.1")), Some(LOG_FILE_BYTES_MAX));
}
