//! Families of processes: how far up they are looked at, and what hides nothing.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use super::*;

#[test]
fn a_process_that_names_itself_in_any_bytes_keeps_its_parents() {
    let me = std::process::id();
    let parent = Stat::of(me).unwrap().parent;
    for name in [&b"\xff\xfe"[..], b") Z 1 ("] {
        fs::write("/proc/self/comm", name).unwrap();
        assert_eq!(descends(me, parent), Some(true), "{name:?}");
        // Nobody of the family, up to its very first.
        assert_eq!(descends(me, u32::MAX), Some(false), "{name:?}");
    }
}

#[test]
fn a_family_is_looked_at_so_far_up_and_no_further() {
    // Each shell waits for the next one, and the last for its input.
    let script =
        "deeper() { [ $1 -gt 0 ] || exec sh -c 'echo $$; read _'; (deeper $(($1 - 1))); :; }";
    let script = format!("{script}; deeper {}", limits::ANCESTORS_MAX);
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut family = vec![line.trim().parse::<u32>().unwrap()];
    let me = std::process::id();
    while family.last() != Some(&me) {
        let parent = Stat::of(*family.last().unwrap()).unwrap().parent;
        family.push(parent);
    }
    let youngest = family[0];
    assert_eq!(descends(youngest, family[1]), Some(true));
    assert_eq!(descends(youngest, family[limits::ANCESTORS_MAX]), Some(true));
    assert_eq!(descends(youngest, family[limits::ANCESTORS_MAX + 1]), None);
    drop(child.stdin.take());
    child.wait().unwrap();
}
