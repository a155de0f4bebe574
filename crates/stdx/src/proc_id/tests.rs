//! This process, and processes with names that try to be something else.

#![expect(clippy::disallowed_methods, reason = "a process names itself through /proc")]

use super::*;

#[test]
fn this_process_is_alive_and_another_start_is_not_it() {
    let me = ProcId::current();
    assert!(me.is_alive());
    assert!(!ProcId { token: "0.1".into(), ..me }.is_alive());
    assert_eq!(ProcId::of(u32::MAX), None);
}

#[test]
fn a_signal_is_held_back_by_who_waits_for_it_and_not_by_who_is_being_born() {
    let check = |mask: &str, expected: bool| {
        let script = format!("exec env {mask} sleep 1000");
        let mut child = std::process::Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let process = ProcId::of(child.id()).unwrap();
        let is_sleep = || fs::read(format!("/proc/{}/comm", process.pid)).unwrap() == b"sleep\n";
        while !is_sleep() {
            std::thread::yield_now();
        }
        assert_eq!(process.holds_back(libc::SIGUSR1), expected, "{mask}");
        assert!(!ProcId { token: "0.1".into(), ..process }.holds_back(libc::SIGUSR1));
        child.kill().unwrap();
        child.wait().unwrap();
    };
    check("", false);
    check("--block-signal=USR1", true);
    check("--block-signal=USR2", false);
    check("--block-signal", false);
}

#[test]
fn a_name_of_any_bytes_hides_nothing() {
    let me = ProcId::current();
    let before = Stat::of(me.pid).unwrap();
    for name in [&b"\xff\xfe"[..], b") Z 1 (", b"a) X 0 0 0 (b", b" \n)", b")"] {
        fs::write("/proc/self/comm", name).unwrap();
        assert_eq!(Stat::of(me.pid), Some(before), "{name:?}");
        assert!(me.is_alive(), "{name:?}");
        assert_eq!(ProcId::of(me.pid).as_ref(), Some(&me), "{name:?}");
    }
}

#[test]
fn what_ends_in_the_middle_is_no_line() {
    let tail = " S 5 6 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 99 1 2";
    let check = |line: &str, wanted: Option<(u32, u32, u64, bool)>| {
        let found = Stat::parse(line.as_bytes());
        let found = found.map(|stat| (stat.parent, stat.group, stat.started, stat.zombie));
        assert_eq!(found, wanted, "{line}");
    };
    check(&format!("1 (a){tail}"), Some((5, 6, 99, false)));
    // A dead leader whose threads live on, and one without any.
    check(&format!("1 (a){}", tail.replacen('S', "Z", 1)), Some((5, 6, 99, false)));
    let alone = tail.replacen('S', "Z", 1).replace("20 0 3 0", "20 0 1 0");
    check(&format!("1 (a){alone}"), Some((5, 6, 99, true)));
    for bad in ["", "1 (a", "1 (a)", "1 (a) S 5 6 7 0", "1 (a) S x 6"] {
        check(bad, None);
    }
}
