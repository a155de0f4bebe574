//! Guards of real terminals, whose client goes without a word.

#![expect(clippy::disallowed_methods, reason = "reads what the kernel tells of a process")]

use std::io::Read as _;

use rustix::{
    process::{Signal, kill_process},
    termios::LocalModes,
};

use super::*;
use crate::attach::tests::{Pair, is_readable};

/// Takes a terminal, says something to its guard, dies, and returns what became of the terminal and what was
/// written to it.
fn left(
    said: impl FnOnce(&Guard, &Termios, &Termios),
    meanwhile: impl FnOnce(&Pair),
) -> (Pair, String) {
    let mut pair = Pair::open();
    let guard = Guard::start(pair.slave.as_fd(), pair.slave.as_fd()).unwrap();
    let found = tcgetattr(&pair.slave).unwrap();
    let mut raw = found.clone();
    raw.make_raw();
    said(&guard, &found, &raw);
    tcsetattr(&pair.slave, OptionalActions::Now, &raw).unwrap();
    meanwhile(&pair);
    // A client that is killed closes its end, and nothing more.
    drop(guard);
    // Something to be read in any case.
    rustix::io::write(&pair.slave, b"end").unwrap();
    let mut seen = String::new();
    while !seen.ends_with("end") {
        assert!(is_readable(&pair.master), "{seen:?}");
        let mut buffer = [0; 4_096];
        let n_bytes = pair.master.read(&mut buffer).unwrap();
        seen.push_str(&String::from_utf8_lossy(&buffer[..n_bytes]));
    }
    (pair, seen)
}

#[test]
fn a_terminal_whose_client_was_killed_is_given_back() {
    let once = |guard: &Guard, found: &Termios, raw: &Termios| {
        guard.arm(found, raw, b"bye ").unwrap();
    };
    let (pair, seen) = left(once, |_| {});
    assert_eq!((pair.is_raw(), seen.as_str()), (false, "bye end"));
    // What is said last counts, also when the terminal was given back in between.
    let (pair, seen) = left(
        |guard, found, raw| {
            guard.arm(raw, raw, b"first ").unwrap();
            guard.disarm();
            guard.arm(found, raw, b"second ").unwrap();
        },
        |_| {},
    );
    assert_eq!((pair.is_raw(), seen.as_str()), (false, "second end"));
}

#[test]
fn a_terminal_that_was_given_back_is_left_alone() {
    let armed_and_disarmed = |guard: &Guard, found: &Termios, raw: &Termios| {
        guard.arm(found, raw, b"bye ").unwrap();
        guard.disarm();
    };
    for (pair, seen) in [
        left(|_, _, _| {}, |_| {}),
        left(|guard, _, _| guard.disarm(), |_| {}),
        left(|guard, _, _| guard.say(b"A123").unwrap(), |_| {}),
        left(armed_and_disarmed, |_| {}),
    ] {
        assert_eq!((pair.is_raw(), seen.as_str()), (true, "end"));
    }
}

#[test]
fn a_shell_that_has_set_its_own_modes_keeps_them() {
    let (pair, seen) = left(
        |guard, found, raw| guard.arm(found, raw, b"bye ").unwrap(),
        |pair| {
            let mut modes = tcgetattr(&pair.slave).unwrap();
            modes.local_modes.insert(LocalModes::ISIG);
            tcsetattr(&pair.slave, OptionalActions::Now, &modes).unwrap();
        },
    );
    assert_eq!((pair.is_raw(), seen.as_str()), (true, "bye end"));
}

#[test]
fn more_than_a_guard_can_write_is_refused() {
    let pair = Pair::open();
    let guard = Guard::start(pair.slave.as_fd(), pair.slave.as_fd()).unwrap();
    let modes = tcgetattr(&pair.slave).unwrap();
    let longest = [b'x'; GUARD_FAREWELL_BYTES_MAX];
    guard.arm(&modes, &modes, &longest).unwrap();
    let longer = [&longest[..], b"x"].concat();
    let refused = guard.arm(&modes, &modes, &longer).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    assert!(guard.arm(&modes, &modes, &vec![0; 1 << 20]).is_err());
    guard.disarm();
    // As much as a terminal has to be told at most.
    let all = screen::resets(screen::Levels::UNKNOWN).len();
    assert!(all <= GUARD_FAREWELL_BYTES_MAX, "{all}");
}

/// What the system tells of a guard that has begun to listen.
fn told(guard: &Guard, what: &str) -> String {
    let pipe = guard.pipe.as_ref().unwrap();
    while rustix::io::ioctl_fionread(pipe).unwrap() != 0 {
        std::thread::yield_now();
    }
    let path = format!("/proc/{}/{what}", guard.process.as_raw_pid());
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_guard_keeps_nothing_of_its_client() {
    let pair = Pair::open();
    let (kept, other) = std::io::pipe().unwrap();
    // The client's descriptors are inherited by every fork, whatever is said of programs.
    rustix::io::fcntl_setfd(&other, rustix::io::FdFlags::empty()).unwrap();
    let guard = Guard::start(pair.slave.as_fd(), pair.slave.as_fd()).unwrap();
    guard.disarm();
    let status = told(&guard, "status");
    let line = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().to_owned()
    };
    assert_eq!(line("Name:"), "stead-guard");
    // The C library keeps two for itself.
    let caught = u64::from_str_radix(&line("SigCgt:"), 16).unwrap();
    assert_eq!(caught & !(0b11 << 31), 0, "{status}");
    let ignored = u64::from_str_radix(&line("SigIgn:"), 16).unwrap();
    assert_eq!(ignored & !(0b11 << 31), 0, "{status}");
    let held_off = u64::from_str_radix(&line("SigBlk:"), 16).unwrap();
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::PIPE] {
        assert_ne!(held_off & (1 << (signal.as_raw() - 1)), 0, "{signal:?}: {status}");
    }
    assert!(told(&guard, "environ").bytes().all(|byte| byte == 0));
    assert!(std::env::vars_os().next().is_some(), "the client's own environment is as it was");
    let directory = format!("/proc/{}/fd", guard.process.as_raw_pid());
    let mut fds: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|fd| fd.unwrap().file_name()).collect();
    fds.sort();
    assert_eq!(fds, ["0", "1", "2"]);
    // Nobody but the client held the pipe's other end, while the guard lives.
    drop(other);
    let mut rest = Vec::new();
    std::io::BufReader::new(kept).read_to_end(&mut rest).unwrap();
    // No signal but the last one ends it, and it ends with its client.
    kill_process(guard.process, Signal::TERM).unwrap();
    assert!(told(&guard, "status").contains("Name:\tstead-guard"));
}
