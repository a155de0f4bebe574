//! The client on a real terminal, whose other end the test holds, and with a host that does as the test says.

use std::{
    io::{Read as _, Write as _},
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    thread::JoinHandle,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};
use stdx::clock::Clock;
use vocab::limits::{ATTACH_FENCE_MS_MAX, ATTACH_INPUT_BYTES_MAX, ATTACH_RESTORE_MS_MAX};

use super::*;
use crate::{
    frame::{self, Decoder, Frame, Kind},
    hello::{self, Hello},
    tty,
};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with both ends.
pub(crate) struct Pair {
    pub(crate) master: std::fs::File,
    pub(crate) slave: OwnedFd,
}

impl Pair {
    pub(crate) fn open() -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(name, flags, Mode::empty()).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        Self { master: master.into(), slave }
    }

    pub(crate) fn is_raw(&self) -> bool {
        !tcgetattr(&self.slave).unwrap().local_modes.contains(LocalModes::ICANON)
    }

    /// Reads what is shown until a text was.
    #[track_caller]
    fn wait_for(&mut self, text: &str) -> String {
        let mut seen = String::new();
        while !seen.contains(text) {
            assert!(is_readable(&self.master), "{text:?} never came: {seen:?}");
            let mut buffer = [0; 4_096];
            let n_bytes = self.master.read(&mut buffer).unwrap();
            seen.push_str(&String::from_utf8_lossy(&buffer[..n_bytes]));
        }
        seen
    }
}

pub(crate) fn is_readable(fd: impl AsFd) -> bool {
    let patience = Timespec::try_from(PATIENCE).unwrap();
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&patience)).unwrap() != 0
}

/// A client on a thread, its terminal, and the host it has said hello to.
struct Rig {
    _dir: tempfile::TempDir,
    pair: Pair,
    host: UnixStream,
    decoder: Decoder,
    hello: Hello,
    client: Option<JoinHandle<Result<Outcome, Failure>>>,
}

impl Rig {
    fn new(options: &Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("host.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let pair = Pair::open();
        let terminal = Terminal::open(&pair.slave, &pair.slave).unwrap();
        let options = options.clone();
        let guard = terminal.guard().unwrap();
        let client = std::thread::spawn(move || run(&socket, &terminal, &guard, &options));
        let host = listener.accept().unwrap().0;
        host.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rig = Self {
            _dir: dir,
            pair,
            host,
            decoder: Decoder::default(),
            hello: Hello::default(),
            client: Some(client),
        };
        let hello = rig.frame();
        assert_eq!(hello.kind, Kind::Hello);
        rig.hello = hello::from_json(&hello.payload).unwrap();
        rig
    }

    /// Waits for the client's next frame.
    #[track_caller]
    fn frame(&mut self) -> Frame {
        loop {
            if let Some(frame) = self.decoder.take().unwrap() {
                return frame;
            }
            let mut buffer = vec![0; 64 << 10];
            let n_bytes = self.host.read(&mut buffer).unwrap();
            assert!(0 < n_bytes, "the client has gone");
            self.decoder.push(&buffer[..n_bytes]);
        }
    }

    fn say(&mut self, kind: Kind, payload: &[u8]) {
        self.host.write_all(&frame::encode(kind, payload)).unwrap();
    }

    #[track_caller]
    fn ends(&mut self, expected: &Result<Outcome, Failure>) {
        let client = self.client.take().unwrap();
        assert_eq!(&client.join().unwrap(), expected);
    }

    fn type_in(&mut self, bytes: &[u8]) {
        self.pair.master.write_all(bytes).unwrap();
    }
}

fn options() -> Options {
    Options {
        role: Role::Attach,
        steal: false,
        scrollback: Scrollback::Append,
        detach: vec![Chord::USUAL],
        terminal: Known::read(Some("quick"), None, None),
    }
}

#[test]
fn a_client_says_what_it_wants_and_ends_as_it_is_told() {
    let exit = br#"{"code":3,"signal":null,"at":1}"#;
    let ended: ExitRecord = hello::from_json(exit).unwrap();
    let check = |frames: &[(Kind, &[u8])], expected: Outcome| {
        let mut rig = Rig::new(&Options { steal: true, ..options() });
        assert_eq!((rig.hello.cols, rig.hello.rows), (Some(80), Some(24)));
        assert_eq!((rig.hello.role, rig.hello.steal), (Role::Attach, true));
        assert_eq!(rig.hello.terminal.as_ref().unwrap().name, "quick");
        rig.say(Kind::Data, b"shown");
        let seen = rig.pair.wait_for("shown");
        assert!(seen.starts_with("\x1b[22;2t\n") && rig.pair.is_raw(), "{seen:?}");
        for (kind, payload) in frames {
            rig.say(*kind, payload);
        }
        rig.host.shutdown(std::net::Shutdown::Both).unwrap();
        rig.ends(&Ok(expected));
        assert!(!rig.pair.is_raw());
        let seen = rig.pair.wait_for("\x1b[c");
        for reset in ["\x1b[23;2t", "\x1b[?1049l", "\x1b[?2004l", "\x1b[?1003l", "\x1b[?25h"] {
            assert!(seen.contains(reset), "{reset:?}: {seen:?}");
        }
    };
    let detached = Kind::Detached;
    check(&[(detached, br#"{"reason":"takeover"}"#)], Outcome::Detached(By::Takeover));
    check(&[(detached, br#"{"reason":"request"}"#)], Outcome::Detached(By::Request));
    let ending: [(Kind, &[u8]); 2] = [(Kind::Exit, exit), (detached, br#"{"reason":"exit"}"#)];
    check(&ending, Outcome::Ended(Box::new(ended.clone())));
    check(&ending[..1], Outcome::Ended(Box::new(ended)));
    check(&[], Outcome::HostGone);
    check(&[(Kind::Data, b"half of an \x1b[3")], Outcome::HostGone);
}

#[test]
fn a_client_that_is_refused_says_why() {
    let mut rig = Rig::new(&options());
    let refused = br#"{"reason":"refused","error":{"code":"too_many_clients","effect":"not_started","message":"full"}}"#;
    rig.say(Kind::Detached, refused);
    assert_eq!(rig.client.take().unwrap().join().unwrap().unwrap_err().code, "too_many_clients");
    assert!(!rig.pair.is_raw());

    let dir = tempfile::tempdir().unwrap();
    let pair = Pair::open();
    let terminal = Terminal::open(&pair.slave, &pair.slave).unwrap();
    let guard = terminal.guard().unwrap();
    let gone = run(&dir.path().join("none.sock"), &terminal, &guard, &options()).unwrap_err();
    assert_eq!((gone.code.as_str(), pair.is_raw()), ("host_gone", false));
    let (file, _) = UnixStream::pair().unwrap();
    assert_eq!(Terminal::open(&pair.slave, &file).unwrap_err().code, "not_a_terminal");
    assert_eq!(Terminal::open(&file, &pair.slave).unwrap_err().code, "not_a_terminal");
}

#[test]
fn a_closed_terminal_lets_go() {
    let mut rig = Rig::new(&options());
    rig.say(Kind::Data, b"shown");
    rig.pair.wait_for("shown");
    rig.pair = Pair::open();
    rig.ends(&Ok(Outcome::TerminalGone));
}

#[test]
fn who_only_looks_types_nothing() {
    let mut rig = Rig::new(&Options { role: Role::View, ..options() });
    assert_eq!(rig.hello.role, Role::View);
    rig.say(Kind::Data, b"shown");
    rig.pair.wait_for("shown");
    rig.type_in(b"typed\x1b[A\x1d\x1d");
    rig.type_in(b"\x1dd");
    rig.ends(&Ok(Outcome::Detached(By::Key)));
    let mut rest = Vec::new();
    rig.host.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
}

#[test]
fn late_answers_are_swallowed_up_to_the_fence() {
    let mut rig = Rig::new(&options());
    rig.say(Kind::Detached, br#"{"reason":"request"}"#);
    rig.pair.wait_for("\x1b[c");
    rig.type_in(b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[>1;2c\x1b[?62;4c");
    rig.ends(&Ok(Outcome::Detached(By::Request)));
    // What is typed now is the shell's, and nothing else is.
    rig.type_in(b"ls\n");
    let mut line = [0; 64];
    let n_bytes = rustix::io::read(&rig.pair.slave, &mut line).unwrap();
    assert_eq!(&line[..n_bytes], b"ls\n");
}

#[test]
fn a_terminal_that_answers_nothing_is_waited_for_only_so_long() {
    let mut rig = Rig::new(&options());
    let clock = Clock::system();
    let before = clock.monotonic();
    rig.say(Kind::Detached, br#"{"reason":"request"}"#);
    rig.ends(&Ok(Outcome::Detached(By::Request)));
    let waited = clock.monotonic().saturating_sub(before);
    assert!(Duration::from_millis(ATTACH_FENCE_MS_MAX) <= waited);
}

#[test]
fn a_terminal_that_is_stuck_does_not_hold_the_end_up() {
    let mut rig = Rig::new(&options());
    // Nobody reads the terminal from here on, and the host is soon not read either.
    rig.host.set_nonblocking(true).unwrap();
    let flood = frame::encode(Kind::Data, &[b'x'; 4_096]);
    // A frame that was cut short leaves the client waiting for its rest, which is as good.
    while rig.host.write(&flood).is_ok() {}
    // Keys are heard all the same.
    rig.type_in(b"abc");
    rig.host.set_nonblocking(false).unwrap();
    assert_eq!(rig.frame(), Frame { kind: Kind::Data, payload: b"abc".to_vec() });
    // To the last byte, whatever of it the client has come to.
    let end = tty::open_again(rig.pair.slave.as_fd()).unwrap();
    // The kernel carries what was written to the other end a little later, which makes room once more.
    let mut n_refused = 0;
    while n_refused < 10_000 {
        n_refused = if tty::write(&end, b"x") == Ok(0) { n_refused + 1 } else { 0 };
        std::thread::yield_now();
    }
    let clock = Clock::system();
    let before = clock.monotonic();
    rig.type_in(b"\x1dd");
    rig.ends(&Ok(Outcome::Detached(By::Key)));
    assert!(!rig.pair.is_raw());
    let waited = clock.monotonic().saturating_sub(before);
    assert!(Duration::from_millis(ATTACH_RESTORE_MS_MAX) <= waited);
}

#[test]
fn typing_that_a_host_does_not_take_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("host.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let mut link = Link::connect(&socket).unwrap();
    let host = listener.accept().unwrap();
    let mut n_typed = 0;
    while link.has_room() {
        link.say(Kind::Data, &[b'x'; 4_096]);
        n_typed += 4_096;
    }
    let expected = ATTACH_INPUT_BYTES_MAX..2 * ATTACH_INPUT_BYTES_MAX;
    assert!(expected.contains(&n_typed), "{n_typed}");
    drop((host, link));

    // Nothing of it is lost once the host reads on.
    let mut rig = Rig::new(&options());
    rig.say(Kind::Data, b"shown");
    rig.pair.wait_for("shown");
    let mut master = rig.pair.master.try_clone().unwrap();
    let letters = (b'a'..=b'w').cycle();
    let bytes: Vec<u8> = letters.take(3 * ATTACH_INPUT_BYTES_MAX).collect();
    let expected = bytes.clone();
    let typist = std::thread::spawn(move || master.write_all(&bytes).unwrap());
    let mut heard = Vec::new();
    while heard.len() < expected.len() {
        heard.extend(rig.frame().payload);
    }
    assert!(heard == expected);
    typist.join().unwrap();
    rig.type_in(b"\x1dd");
    rig.ends(&Ok(Outcome::Detached(By::Key)));
}
