//! Real children: how they start, end, are killed, and what they leave behind.

#![expect(clippy::disallowed_methods, reason = "the tests look at /proc and make directories")]

use std::{fs, os::fd::OwnedFd, path::Path, sync::mpsc, time::Duration};

use super::*;
use crate::{
    Environment, Host, Lifetime, Policy, become_subreaper,
    report::{ExitStatus, OutputEnd},
};

mod escape;
mod job;

/// A wait for the kernel to do what it was asked to; far beyond what it ever takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn environment() -> Environment {
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/local/bin:/usr/bin:/bin").unwrap();
    environment
}

fn root() -> OwnedFd {
    fs::File::open("/").unwrap().into()
}

fn bash(script: &str) -> Policy {
    Policy::new("bash", root(), environment()).args(["-c", script]).lifetime(Lifetime::Run)
}

fn plan(policy: Policy) -> Plan {
    Plan::realize(policy, &Host::probe()).unwrap()
}

fn scope() -> Scope {
    become_subreaper().unwrap();
    Scope::open(&format!("test-{}-{}", std::process::id(), registry::next_call()))
}

/// Runs to the end and returns the report with all output as text.
fn run_in(scope: &Scope, policy: Policy) -> (ExitReport, String) {
    let mut output = Vec::new();
    let mut sink = |bytes: &[u8]| output.extend_from_slice(bytes);
    let report = scope.run(&plan(policy), &mut sink, &Cancel::new().unwrap()).unwrap();
    (report, String::from_utf8(output).unwrap())
}

fn run(policy: Policy) -> (ExitReport, String) {
    run_in(&scope(), policy)
}

/// Runs until the output so far satisfies, then cancels.
fn run_until(policy: Policy, enough: impl Fn(&str) -> bool) -> (ExitReport, String) {
    let (cancel, mut output) = (Cancel::new().unwrap(), Vec::new());
    let mut sink = |bytes: &[u8]| {
        output.extend_from_slice(bytes);
        if !cancel.is_cancelled() && enough(&String::from_utf8_lossy(&output)) {
            cancel.cancel();
        }
    };
    let report = scope().run(&plan(policy), &mut sink, &cancel).unwrap();
    (report, String::from_utf8(output).unwrap())
}

/// Waits until no such process lives, by handle.
fn assert_gone(pid: u32) {
    let Some(raw) = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()) else { return };
    let Ok(handle) = rustix::process::pidfd_open(raw, rustix::process::PidfdFlags::empty()) else {
        return;
    };
    let mut fds = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
    let ready = rustix::event::poll(&mut fds, Some(&tree::timespec(PATIENCE))).unwrap();
    assert_eq!(ready, 1, "{pid} still lives: {}", proc_fs::command(pid));
}

fn assert_alive(pid: u32) {
    assert!(proc_fs::process(pid).is_some_and(|process| !process.zombie), "{pid} is gone");
}

fn numbers(text: &str) -> Vec<u32> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn a_command_ends_with_its_code_and_its_output() {
    let (report, output) = run(bash("echo one; echo two >&2; echo three; exit 7"));
    assert_eq!(output, "one\ntwo\nthree\n");
    assert_eq!(report.status, ExitStatus::Exited(7));
    assert_eq!(report.status.failure().unwrap().code, "command_failed");
    assert_eq!((report.output_end, report.survivors), (OutputEnd::Closed, vec![]));
    assert!(run(bash("true")).0.status.is_success());
}

#[test]
fn both_streams_arrive_in_the_order_they_were_written() {
    let (_, output) = run(bash("for i in {1..500}; do echo $i; echo $i >&2; done"));
    let expected: String = (1..=500).map(|i| format!("{i}\n{i}\n")).collect();
    assert_eq!(output, expected);
}

#[test]
fn a_death_by_signal_is_told_with_its_name() {
    let (report, _) = run(bash("kill -SEGV $$"));
    assert_eq!(report.status, ExitStatus::Signaled { number: 11, name: "SIGSEGV" });
    let failure = report.status.failure().unwrap();
    assert_eq!(failure.code, "command_killed_by_signal");
    assert_eq!(failure.effect, vocab::outcome::Effect::Indeterminate);
    assert!(failure.message.contains("SIGSEGV"));
}

#[test]
fn input_is_empty_and_no_descriptor_leaks() {
    let leaky = rustix::io::dup(root()).unwrap();
    let (_, output) = run(bash("cat; echo /proc/self/fd/*"));
    // The shell opens the directory to list it, under a number beyond ours.
    let beyond = output.split_whitespace().filter(|path| !path.ends_with("/3")).count();
    assert_eq!(beyond, 3, "{output}");
    drop(leaky);
}

#[test]
fn signals_are_neither_blocked_nor_ignored() {
    let (_, output) = run(bash("grep -E '^Sig(Blk|Ign)' /proc/self/status"));
    let masks: Vec<u64> = output
        .lines()
        .filter_map(|line| u64::from_str_radix(line.split_once('\t')?.1, 16).ok())
        .collect();
    // Signals 32 and 33 belong to the C library, which neither sets nor clears them for anybody.
    let standard: Vec<u64> = masks.iter().map(|mask| mask & 0x7fff_ffff).collect();
    assert_eq!(standard, [0, 0], "{output}");
}

#[test]
fn twenty_megabytes_arrive_whole() {
    let scope = scope();
    let (mut count, mut sum) = (0usize, 0u64);
    let mut sink = |bytes: &[u8]| {
        count += bytes.len();
        sum += bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    };
    let policy = bash("head -c 20000000 /dev/zero | tr '\\0' x; printf end");
    let report = scope.run(&plan(policy), &mut sink, &Cancel::new().unwrap()).unwrap();
    assert!(report.status.is_success());
    assert_eq!(count, 20_000_003);
    let end: u64 = b"end".iter().map(|byte| u64::from(*byte)).sum();
    assert_eq!(sum, 20_000_000 * u64::from(b'x') + end);
}

#[test]
fn output_beyond_the_bound_is_counted_and_dropped() {
    let mut policy = bash("printf 0123456789");
    policy.output_bytes_max = 4;
    let (report, output) = run(policy);
    assert_eq!((output.as_str(), report.discarded), ("0123", 6));
    let (report, kept) = capture(&plan(bash("printf 0123456789")), 3).unwrap();
    assert_eq!((kept.as_slice(), report.discarded), (&b"012"[..], 7));
}

#[test]
fn a_child_sees_its_environment_and_nothing_else() {
    let scope = scope();
    let (_, output) = run_in(&scope, Policy::new("env", root(), environment()));
    let mut names: Vec<&str> =
        output.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(names, ["PATH", "STEAD_CALL", "STEAD_RUN"]);
    assert!(output.contains(&format!("STEAD_RUN={}\n", scope.run_id())), "{output}");
}

#[test]
fn a_child_starts_in_the_directory_that_was_opened_whatever_its_name_is_now() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    fs::create_dir(&old).unwrap();
    let mut policy = bash("pwd -P");
    policy.cwd = fs::File::open(&old).unwrap().into();
    let plan = plan(policy);
    fs::rename(&old, &new).unwrap();
    let (_, output) = capture(&plan, 1000).unwrap();
    let expected = fs::canonicalize(&new).unwrap();
    assert_eq!(Path::new(String::from_utf8(output).unwrap().trim_end()), expected);
}

#[test]
fn a_program_that_vanished_after_planning_is_not_started() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("program");
    fs::copy("/bin/sh", &program).unwrap();
    let plan = plan(Policy::new(&program, root(), environment()));
    fs::remove_file(&program).unwrap();
    let error = capture(&plan, 10).unwrap_err();
    assert_eq!(error.code(), "program_not_executable");
    assert_eq!(error.effect(), vocab::outcome::Effect::NotStarted);
    let long = Policy::new("true", root(), environment()).args(["x".repeat(200_000)]);
    assert_eq!(capture(&super::tests::plan(long), 10).unwrap_err().code(), "command_too_long");
}

#[test]
fn a_cancelled_command_is_never_started() {
    let cancel = Cancel::new().unwrap();
    cancel.clone().cancel();
    let error = scope().run(&plan(bash("true")), &mut |_| {}, &cancel).unwrap_err();
    assert_eq!(error.code(), "cancelled");
}

#[test]
fn cancelling_a_running_command_stops_it() {
    let script = "echo started $$; while :; do echo noise; done";
    let (report, output) = run_until(bash(script), |so_far| so_far.contains("noise"));
    assert_eq!(report.status, ExitStatus::Cancelled);
    assert_eq!(report.output_end, OutputEnd::Stopped);
    assert!(report.survivors.is_empty());
    assert!(output.starts_with("started"));
}

#[test]
fn partial_output_survives_a_timeout() {
    let (report, output) = run(bash("echo before; sleep 1000").timeout(Duration::from_secs(1)));
    assert_eq!(report.status, ExitStatus::TimedOut);
    assert_eq!(report.status.failure().unwrap().code, "command_timed_out");
    assert_eq!(output, "before\n");
}

#[test]
fn what_a_command_says_while_it_is_stopped_is_kept() {
    let script = "trap 'head -c 1000000 /dev/zero | tr \"\\0\" x; exit' TERM; echo ready; \
                  sleep 1000 & wait";
    let (report, output) = run_until(bash(script), |so_far| so_far.contains("ready"));
    assert_eq!(report.status, ExitStatus::Cancelled);
    assert_eq!(output.matches('x').count(), 1_000_000);
}

#[test]
fn nothing_starts_in_a_scope_that_ended() {
    let scope = scope();
    scope.end(Duration::ZERO);
    let error = scope.run(&plan(bash("true")), &mut |_| {}, &Cancel::new().unwrap()).unwrap_err();
    assert_eq!(error.code(), "run_ended");
}

#[test]
fn a_server_is_talked_to_and_ends_with_its_scope() {
    let scope = scope();
    let (their_in, our_in) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let (our_out, their_out) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let stderr = rustix::io::dup(&their_out).unwrap();
    let policy = Policy::new("cat", root(), environment()).lifetime(Lifetime::Session);
    let stdio = Stdio { stdin: their_in, stdout: their_out, stderr };
    let child = scope.launch(&plan(policy), &stdio).unwrap();
    drop(stdio);
    rustix::io::write(&our_in, b"hello").unwrap();
    let mut buffer = [0; 16];
    let count = rustix::io::read(&our_out, &mut buffer[..]).unwrap();
    assert_eq!(&buffer[..count], b"hello");
    assert!(child.id().is_alive());
    assert_eq!(child.try_wait(), None);
    let killed = scope.end(PATIENCE);
    assert_eq!(killed.len(), 1, "{killed:?}");
    assert_eq!(child.wait(), ExitStatus::Signaled { number: 15, name: "SIGTERM" });
    assert!(!child.signal(rustix::process::Signal::TERM));
}

#[test]
fn fifty_runs_at_once_do_not_touch_each_other() {
    become_subreaper().unwrap();
    std::thread::scope(|threads| {
        for number in 0..50 {
            threads.spawn(move || {
                let scope = Scope::open(&format!("test-{}-many-{number}", std::process::id()));
                let doomed = bash("echo $$; sleep 1000").timeout(Duration::from_millis(50));
                let kind = number % 3;
                if kind == 0 {
                    let (report, _) = run_in(&scope, doomed);
                    assert_eq!(report.status, ExitStatus::TimedOut);
                }
                for round in 0..3 {
                    let script =
                        format!("sleep 1000 >/dev/null 2>&1 & echo {number}.{round}; exit {kind}");
                    let (report, output) = run_in(&scope, bash(&script));
                    assert_eq!(report.status, ExitStatus::Exited(kind));
                    assert_eq!(output, format!("{number}.{round}\n"));
                    assert_eq!(report.survivors.len(), 1);
                }
                assert_eq!(scope.survivors().len(), 3);
                assert_eq!(scope.end(PATIENCE).len(), 3);
            });
        }
    });
    let zombies: Vec<_> =
        proc_fs::all().into_iter().filter(|process| process.parent == std::process::id()).collect();
    assert!(zombies.is_empty(), "{zombies:?}");
}

#[test]
fn without_orphans_coming_to_us_descendants_are_still_found() {
    // Each test is a process of its own, so nobody else made this one a subreaper.
    rustix::process::set_child_subreaper(None).unwrap();
    let scope = Scope::open(&format!("test-{}-plain", std::process::id()));
    let script = "setsid bash -c '(echo $BASHPID; exec >/dev/null 2>&1; sleep 1000) &' & wait";
    let (report, output) = run_in(&scope, bash(script));
    assert_eq!(report.survivors.len(), 1);
    let pid = numbers(&output)[0];
    assert_eq!(scope.end(PATIENCE).len(), 1);
    assert_gone(pid);
}
