//! A guard on a thread, with a real terminal, and a pipe that ends.

use std::{
    io::{Read as _, Write as _, pipe},
    os::fd::AsFd as _,
};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::*;
use crate::attach::tests::{Pair, is_readable};

/// Takes a terminal, says something over the pipe, dies, and returns what became of the terminal and what
/// was written to it.
fn left(said: impl FnOnce(&Modes) -> Vec<u8>, meanwhile: impl FnOnce(&Pair)) -> (Pair, String) {
    let mut pair = Pair::open();
    let found = tcgetattr(&pair.slave).unwrap();
    let mut raw = found.clone();
    raw.make_raw();
    tcsetattr(&pair.slave, OptionalActions::Now, &raw).unwrap();
    let (reader, mut writer) = pipe().unwrap();
    writer.write_all(&said(&Modes::of(&found))).unwrap();
    meanwhile(&pair);
    drop(writer);
    std::thread::scope(|scope| {
        scope.spawn(|| serve(reader, pair.slave.as_fd()).unwrap());
    });
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
    let (pair, seen) = left(|modes| modes.message(), |_| {});
    assert!(!pair.is_raw());
    assert!(seen.contains("\x1b[?1049l") && seen.contains("\x1b[?1003l"), "{seen:?}");
    let twice = |modes: &Modes| [modes.message(), vec![DISARM], modes.message()].concat();
    assert!(!left(twice, |_| {}).0.is_raw());
}

#[test]
fn a_terminal_that_was_given_back_is_left_alone() {
    for said in [&b""[..], b"D", b"A123"] {
        let (pair, seen) = left(|_| said.to_vec(), |_| {});
        assert!(pair.is_raw() && seen == "end", "{seen:?}");
    }
    let (pair, seen) = left(|modes| [modes.message(), vec![DISARM]].concat(), |_| {});
    assert!(pair.is_raw() && seen == "end", "{seen:?}");
}

#[test]
fn a_shell_that_has_set_its_own_modes_keeps_them() {
    let (pair, seen) = left(
        |modes| modes.message(),
        |pair| {
            let mut modes = tcgetattr(&pair.slave).unwrap();
            modes.local_modes.insert(LocalModes::ISIG);
            tcsetattr(&pair.slave, OptionalActions::Now, &modes).unwrap();
        },
    );
    assert!(pair.is_raw() && seen.contains("\x1b[?2004l"), "{seen:?}");
}
