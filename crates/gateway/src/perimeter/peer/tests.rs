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
        assert_eq!(family(me, parent), (vec![me], Top::Us), "{name:?}");
        // Nobody of the family, up to its very first.
        assert_eq!(family(me, u32::MAX).1, Top::Nobody, "{name:?}");
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
    let mut all = vec![line.trim().parse::<u32>().unwrap()];
    let me = std::process::id();
    while all.last() != Some(&me) {
        let parent = Stat::of(*all.last().unwrap()).unwrap().parent;
        all.push(parent);
    }
    let check = |ancestor: usize, top: Top| {
        let n_seen = ancestor.min(limits::ANCESTORS_MAX + 1);
        assert_eq!(family(all[0], all[ancestor]), (all[..n_seen].to_vec(), top), "{ancestor}");
    };
    check(1, Top::Us);
    check(limits::ANCESTORS_MAX, Top::Us);
    check(limits::ANCESTORS_MAX + 1, Top::Unknown);
    drop(child.stdin.take());
    child.wait().unwrap();
}
