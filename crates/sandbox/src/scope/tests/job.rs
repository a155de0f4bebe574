//! Programs on a terminal: what controls them, what marks them, how all of them end.

use rustix::{
    fs::{Mode, OFlags},
    process::Signal,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

use super::*;
use crate::signals;

/// A job's program on a terminal, and the master's end of it.
struct Job {
    scope: Scope,
    child: Child,
    master: fs::File,
}

fn job(id: &str, script: &str) -> Job {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let mut environment = Environment::for_jobs(&[], &[]);
    environment.set("PATH", "/usr/local/bin:/usr/bin:/bin").unwrap();
    let policy = Policy::new("bash", root(), environment).args(["-c", script]);
    let scope = Scope::open_job(id);
    let child = scope.launch_on_terminal(&plan(policy), &slave).unwrap();
    Job { scope, child, master: master.into() }
}

impl Job {
    fn read_until(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        loop {
            let mut byte = [0];
            std::io::Read::read_exact(&mut self.master, &mut byte).unwrap();
            seen.push(byte[0]);
            if String::from_utf8_lossy(&seen).ends_with(text) {
                return String::from_utf8_lossy(&seen).into_owned();
            }
        }
    }
}

#[test]
fn a_job_leads_a_session_that_its_terminal_controls() {
    let script = "test -t 0 && test -t 2 && echo on >/dev/tty; ps -o sid= -p $$; echo pid $$; env; \
                  echo end";
    let mut job = job("aaaaaaaa", script);
    let seen = job.read_until("end\r\n");
    let pid = job.child.id().pid.to_string();
    assert!(seen.starts_with("on\r\n"), "{seen}");
    assert!(seen.contains(&format!("{pid}\r\npid {pid}")), "{seen}");
    assert!(seen.contains("STEAD_JOB_ID=aaaaaaaa\r\n"), "{seen}");
    assert!(!seen.contains("STEAD_RUN") && !seen.contains("STEAD_CALL"), "{seen}");
    assert_eq!(job.child.wait(), ExitStatus::Exited(0));
}

#[test]
fn a_job_is_asked_to_end_and_then_killed_with_all_it_has_started() {
    let script = "setsid bash -c 'trap \"\" TERM HUP; echo deaf; while :; do sleep 60; done' & \
                  trap 'echo asked; exit 3' TERM; wait; wait";
    let mut job = job("bbbbbbbb", script);
    job.read_until("deaf\r\n");
    job.scope.ask_to_end();
    job.read_until("asked\r\n");
    assert_eq!(job.child.wait(), ExitStatus::Exited(3));
    assert!(!job.scope.survivors().is_empty(), "what is deaf lives on");
    let killed = job.scope.end(Duration::ZERO);
    assert!(!killed.is_empty());
}

#[test]
fn a_shell_that_ignores_the_polite_signal_ends_by_a_hangup() {
    let mut job = job("eeeeeeee", "exec bash --norc --noprofile -i");
    // What it is told before it reads commands may come before it ignores anything.
    job.read_until("bash");
    std::io::Write::write_all(&mut job.master, b"echo re''ady\r").unwrap();
    job.read_until("ready\r\n");
    job.scope.ask_to_end();
    assert!(matches!(job.child.wait(), ExitStatus::Signaled { name: "SIGHUP", .. }));

    // What asks for the polite signal gets no other, and neither does what merely ignores it.
    for (id, trap, ended) in [
        ("ffffffff", "trap 'exit 4' TERM", ExitStatus::Exited(4)),
        ("abababab", "trap '' TERM", ExitStatus::Exited(5)),
    ] {
        let script = format!("trap 'exit 6' HUP; {trap}; echo on; read x; exit 5");
        let mut job = self::job(id, &script);
        job.read_until("on\r\n");
        job.scope.ask_to_end();
        std::io::Write::write_all(&mut job.master, b"\r").unwrap();
        assert_eq!(job.child.wait(), ended, "{trap}");
    }
}

#[test]
fn what_a_job_left_behind_lives_on_when_it_is_released_and_is_found_again() {
    // It tells from its own session: before it has one, the terminal's hangup would end it.
    let script = "setsid bash -c 'echo started; exec sleep 600' & read -r _; exit 0";
    let mut job = job("cccccccc", script);
    job.read_until("started\r\n");
    std::io::Write::write_all(&mut job.master, b"\r").unwrap();
    assert!(job.child.wait().is_success());
    job.scope.release();
    let killed = reap_leftover_jobs(&["cccccccc".to_owned()], Duration::ZERO);
    assert_eq!(killed.len(), 1, "{killed:?}");
    assert!(reap_leftovers(&["cccccccc".to_owned()], Duration::ZERO).is_empty());
}

#[test]
fn a_watched_signal_is_told_once_and_no_child_inherits_it() {
    let watched = signals::watch(&[Signal::USR1]).unwrap();
    assert_eq!(signals::taken(&watched).unwrap(), None);
    let job = job("dddddddd", "kill -USR1 $$; echo survived");
    assert!(matches!(job.child.wait(), ExitStatus::Signaled { name: "SIGUSR1", .. }));
}

#[test]
fn a_job_is_taken_over_with_all_that_it_has_started() {
    let job = job("dddddddd", "sleep 100 & echo on; wait");
    let pid = job.child.id().pid;
    let mut job = std::mem::ManuallyDrop::new(job);
    job.read_until("on\r\n");
    assert!(Scope::adopt_job("dddddddd", 1).is_err(), "no child of ours");
    let (scope, child) = Scope::adopt_job("dddddddd", pid).unwrap();
    assert_eq!(child.id(), job.child.id());
    assert_eq!(child.try_wait(), None);
    assert_eq!(scope.survivors().len(), 2);
    assert_eq!(scope.end(Duration::ZERO).len(), 2);
    assert!(matches!(child.wait(), ExitStatus::Signaled { .. }));
}
