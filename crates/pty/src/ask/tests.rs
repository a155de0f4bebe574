//! Hosts that are not there, or as good as that.

use std::os::unix::net::UnixListener;

use stdx::clock::Clock;

use super::*;

#[test]
fn a_host_that_does_not_answer_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("host.sock");
    let code = |path: &Path| ask(path, &Control::Status).unwrap_err().code();
    assert_eq!(code(&path), "host_gone");
    // One that is stopped: the kernel takes the connection for it.
    let listener = UnixListener::bind(&path).unwrap();
    let clock = Clock::system();
    assert_eq!(code(&path), "host_silent");
    assert!(Duration::from_millis(HOST_ANSWER_MS_MAX) <= clock.monotonic());
    let answer = |bytes: Vec<u8>| {
        let listener = listener.try_clone().unwrap();
        std::thread::spawn(move || {
            // The first connection is the one above.
            let mut stream = listener.accept().unwrap().0;
            assert_ne!(stream.read(&mut [0; 4096]).unwrap(), 0);
            stream.write_all(&bytes).ok();
            // It listens on: who asks may not have said everything yet.
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            std::io::copy(&mut stream, &mut std::io::sink()).ok();
        })
    };
    drop(listener.accept().unwrap());
    for (bytes, expected) in [
        (frame::encode(Kind::Reply, b"[]"), "host_malformed"),
        (vec![2, 255, 255, 255, 255], "host_malformed"),
        (Vec::new(), "host_silent"),
    ] {
        let thread = answer(bytes);
        assert_eq!(code(&path), expected);
        thread.join().unwrap();
    }
}
