//! What tries to get away: background children, sessions of their own, second forks.

use vocab::limits::CHILD_KILL_ROUNDS_MAX;

use super::*;

/// A grandchild that left its group and its parent and does not listen to TERM. It prints its pid.
const ESCAPEE: &str = "setsid bash -c '(trap \"\" TERM HUP; echo $BASHPID; exec >/dev/null 2>&1; \
                       while :; do sleep 1; done) & ' &";

#[test]
fn stopping_kills_the_tree_and_an_escaped_grandchild_that_ignores_term() {
    let script = format!("{ESCAPEE} echo $$; sleep 1000");
    let policy = bash(&script).grace(Duration::from_millis(100));
    let (report, output) = run_until(policy, |so_far| so_far.matches('\n').count() == 2);
    assert_eq!(report.status, ExitStatus::Cancelled);
    assert_eq!(report.survivors, vec![]);
    let pids = numbers(&output);
    assert_eq!(pids.len(), 2, "{output}");
    pids.into_iter().for_each(assert_gone);
}

#[test]
fn a_timeout_of_one_call_leaves_the_others_of_its_run_alone() {
    let scope = scope();
    let (_, output) = run_in(&scope, bash("sleep 1000 >/dev/null 2>&1 & echo $!"));
    let (report, _) = run_in(&scope, bash("sleep 1000").timeout(Duration::from_millis(50)));
    assert_eq!(report.status, ExitStatus::TimedOut);
    let pid = numbers(&output)[0];
    assert_alive(pid);
    scope.end(PATIENCE);
    assert_gone(pid);
}

#[test]
fn a_background_child_that_keeps_the_pipe_is_a_survivor() {
    let scope = scope();
    let (report, output) = run_in(&scope, bash("sleep 1000 & echo $!"));
    let pid = numbers(&output)[0];
    assert_eq!(report.output_end, OutputEnd::Silence);
    assert_eq!(report.status, ExitStatus::Exited(0));
    let survivor = crate::report::Survivor { pid, command: "sleep 1000".into() };
    assert_eq!(report.survivors, vec![survivor]);
    assert_alive(pid);
    let killed = scope.end(PATIENCE);
    assert!(killed.iter().any(|killed| killed.pid == pid && killed.gone), "{killed:?}");
    assert_gone(pid);
}

#[test]
fn what_a_call_of_its_own_lifetime_leaves_behind_is_killed_with_it() {
    let policy = bash("sleep 1000 & nohup setsid sleep 1000 >/dev/null 2>&1 & echo $!");
    let (report, output) = run(policy.lifetime(Lifetime::Call));
    assert_eq!((report.status, report.survivors), (ExitStatus::Exited(0), vec![]));
    assert_gone(numbers(&output)[0]);
}

#[test]
fn a_survivor_may_go_on_writing() {
    let scope = scope();
    let dir = tempfile::tempdir().unwrap();
    // Pipes with a name: whoever opens one end waits for the other.
    let [ready, done] = ["ready", "done"].map(|name| {
        let (path, mode) = (dir.path().join(name), rustix::fs::Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        path
    });
    // Twice what a pipe holds can only be written if somebody reads.
    let more = 2 * vocab::limits::CHILD_PIPE_BYTES;
    let script = format!(
        "(trap : USR1; sleep 1000 & echo >{ready:?}; wait; head -c {more} /dev/zero; echo $? >{done:?}; \
         sleep 1000) & read _ <{ready:?}; echo $!"
    );
    let (report, output) = run_in(&scope, bash(&script));
    assert_eq!(report.output_end, OutputEnd::Silence);
    let pid = numbers(&output)[0];
    let raw = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(raw, rustix::process::Signal::USR1).unwrap();
    assert_eq!(fs::read_to_string(done).unwrap(), "0\n", "nobody reads");
    scope.end(PATIENCE);
    assert_gone(pid);
}

#[test]
fn ending_a_scope_kills_everything_in_it() {
    let scope = scope();
    let script = format!("{ESCAPEE} nohup sleep 1000 >/dev/null 2>&1 & echo $!");
    let (report, output) = run_in(&scope, bash(&script));
    assert!(!report.survivors.is_empty());
    let pids = numbers(&output);
    assert_eq!(pids.len(), 2, "{output}");
    let killed = scope.end(Duration::from_millis(100));
    assert!(killed.iter().all(|killed| killed.gone), "{killed:?}");
    for pid in pids {
        assert!(killed.iter().any(|killed| killed.pid == pid), "{killed:?}");
        assert_gone(pid);
    }
    assert_eq!(scope.survivors(), vec![]);
}

/// Needs a process of its own, as nextest gives each test: only the last scope ends such a one.
#[test]
fn a_descendant_without_a_trace_ends_with_the_last_scope() {
    let scope = scope();
    let script =
        "env -i setsid bash -c '(echo $BASHPID; exec >/dev/null 2>&1; sleep 1000) &' & wait";
    let (_, output) = run_in(&scope, bash(script));
    let pid = numbers(&output)[0];
    scope.end(Duration::ZERO);
    assert_gone(pid);
}

/// Each a process of its own, as nextest makes it: no other test gives birth here.
#[test]
fn a_child_that_got_away_without_a_trace_is_named() {
    let check = |script: &str| {
        let scope = scope();
        let (report, _) = run_in(&scope, bash(script));
        // It may be seen while it still is the shell or the `setsid` that becomes its program.
        let named = report.survivors.iter().filter(|left| left.command.contains("sleep 7101"));
        assert_eq!((named.count(), report.survivors.len()), (1, 1), "{script}");
        let pid = report.survivors[0].pid;
        assert_alive(pid);
        // A later call does not name it anew, and the end of the run does end it.
        let (report, _) = run_in(&scope, bash("true"));
        assert_eq!(report.survivors, vec![], "{script}");
        assert!(scope.end(PATIENCE).iter().any(|killed| killed.pid == pid), "{script}");
        assert_gone(pid);
    };
    check("env -i setsid -f sleep 7101");
    check("env -i setsid -f sleep 7101 >/dev/null 2>&1");
    check("unset STEAD_RUN STEAD_CALL; (setsid sleep 7101 &)");
    check("unset STEAD_RUN STEAD_CALL; (setsid sleep 7101 >/dev/null 2>&1 &)");
}

#[test]
fn of_several_runs_only_the_one_whose_output_it_holds_names_a_child_without_a_trace() {
    let (one, other) = (scope(), scope());
    run_in(&other, bash("true"));
    let (report, _) = run_in(&one, bash("env -i setsid -f sleep 7102"));
    assert_eq!(report.survivors.len(), 1);
    // Without the output nobody can tell whose it is. The call waits until it has left the group and let
    // go of what it was given.
    let script = ": $(env -i setsid -f bash -c 'exec sleep 7103 >/dev/null' 2>/dev/null)";
    let (report, _) = run_in(&one, bash(script));
    assert_eq!(report.survivors, vec![]);
    other.end(Duration::ZERO);
    // Nor does the one that remains take it over: it may have been the other's.
    assert_eq!(run_in(&one, bash("true")).0.survivors, vec![]);
    assert!(one.end(Duration::ZERO).iter().any(|killed| killed.command.ends_with("sleep 7103")));
}

#[test]
fn dropping_a_scope_kills_what_is_in_it() {
    let scope = scope();
    let (_, output) = run_in(&scope, bash("sleep 1000 >/dev/null 2>&1 & echo $!"));
    drop(scope);
    assert_gone(numbers(&output)[0]);
}

#[test]
fn ending_a_scope_stops_a_call_in_progress() {
    let scope = scope();
    let (started, came) = mpsc::sync_channel(1);
    std::thread::scope(|threads| {
        let running = threads.spawn(|| {
            let mut sink = |_: &[u8]| started.try_send(()).unwrap_or_default();
            let cancel = Cancel::new().unwrap();
            scope.run(&plan(bash("echo started; sleep 1000")), &mut sink, &cancel).unwrap()
        });
        came.recv_timeout(PATIENCE).unwrap();
        scope.end(PATIENCE);
        let report = running.join().unwrap();
        assert_eq!(report.status, ExitStatus::Signaled { number: 15, name: "SIGTERM" });
    });
}

#[test]
fn leftovers_of_an_earlier_start_are_found_by_their_marker() {
    let run = format!("leftover-{}", std::process::id());
    let mut policy = bash("echo $$; exec sleep 1000").lifetime(Lifetime::Detached);
    policy.environment = policy.environment.with_run(&run);
    let (ours, theirs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let copy = || rustix::io::dup(&theirs).unwrap();
    let stdio = Stdio { stdin: copy(), stdout: copy(), stderr: copy() };
    let child = launch_detached(&plan(policy), &stdio).unwrap();
    let mut buffer = [0; 16];
    assert!(rustix::io::read(&ours, &mut buffer[..]).unwrap() > 0);
    assert_eq!(reap_leftovers(&["another".into()], Duration::ZERO), vec![]);
    assert!(child.id().is_alive());
    let killed = reap_leftovers(&["another".into(), run], Duration::ZERO);
    assert_eq!(killed.len(), 1, "{killed:?}");
    assert_eq!(child.wait(), ExitStatus::Signaled { number: 9, name: "SIGKILL" });
}

#[test]
fn a_detached_child_that_nobody_waits_for_leaves_no_zombie() {
    let null = || fs::File::options().read(true).write(true).open("/dev/null").unwrap().into();
    let stdio = Stdio { stdin: null(), stdout: null(), stderr: null() };
    let detached = plan(bash("exec sleep 1000").lifetime(Lifetime::Detached));
    let [ends, stays] = [(), ()].map(|()| launch_detached(&detached, &stdio).unwrap());
    let [ended, stayed] = [&ends, &stays].map(|child| child.id().pid);
    assert!(ends.signal(rustix::process::Signal::KILL));
    let mut fds = [rustix::event::PollFd::new(&ends, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut fds, Some(&tree::timespec(PATIENCE))).unwrap();
    drop((ends, stays));
    assert!(proc_fs::process(ended).unwrap().zombie);
    registry::sweep();
    assert_eq!(proc_fs::process(ended), None);
    assert_alive(stayed);
    let raw = rustix::process::Pid::from_raw(i32::try_from(stayed).unwrap()).unwrap();
    rustix::process::kill_process(raw, rustix::process::Signal::KILL).unwrap();
    assert_gone(stayed);
    registry::sweep();
    assert!(!registry::is_direct(stayed));
}

#[test]
fn what_keeps_appearing_is_chased_for_so_many_rounds() {
    let scope = scope();
    let mut rounds = 0;
    let mut find = || {
        rounds += 1;
        let (_, output) = run_in(&scope, bash("sleep 1000 >/dev/null 2>&1 & echo $!"));
        vec![proc_fs::process(numbers(&output)[0]).unwrap()]
    };
    let killed = tree::end(&mut find, Duration::ZERO, &Clock::system(), &mut Idle);
    assert_eq!((rounds, killed.len()), (CHILD_KILL_ROUNDS_MAX, CHILD_KILL_ROUNDS_MAX));
}

#[test]
fn a_reused_pid_is_not_hit() {
    let scope = scope();
    let (_, output) = run_in(&scope, bash("sleep 1000 >/dev/null 2>&1 & echo $!"));
    let pid = numbers(&output)[0];
    let mut other = proc_fs::process(pid).unwrap();
    other.started += 1;
    let told = tree::end(&mut || vec![other], Duration::ZERO, &Clock::system(), &mut Idle);
    assert_eq!(told, vec![]);
    assert_alive(pid);
}

#[test]
fn no_more_survivors_are_named_than_a_report_can_bear() {
    let most = vocab::limits::CHILD_SURVIVORS_LISTED_MAX;
    let scope = scope();
    let script = format!("for i in {{1..{}}}; do sleep 1000 >/dev/null 2>&1 & done", most + 3);
    let (report, _) = run_in(&scope, bash(&script));
    assert_eq!(report.survivors.len(), most);
    assert_eq!(scope.end(PATIENCE).len(), most + 3);
}

#[test]
fn a_long_command_line_is_shortened() {
    let scope = scope();
    let script = format!("bash -c 'echo; sleep 1000; : {}' &", "x".repeat(1000));
    let (report, _) = run_in(&scope, bash(&script));
    let shown = vocab::limits::CHILD_COMMAND_SHOWN_BYTES_MAX;
    assert!(report.survivors.iter().all(|survivor| survivor.command.len() <= shown));
    assert!(report.survivors.iter().any(|survivor| survivor.command.len() == shown));
}

#[test]
fn a_marker_is_found_behind_a_large_environment() {
    let mut policy = bash("sleep 1000 & echo $!");
    for number in 0..10 {
        policy.environment.set(format!("AAA_{number}"), "x".repeat(100_000)).unwrap();
    }
    let scope = scope();
    let (report, output) = run_in(&scope, policy);
    assert_eq!(report.survivors.len(), 1);
    let pid = numbers(&output)[0];
    assert_eq!(proc_fs::marks(pid).unwrap().run.as_deref(), Some(scope.run_id()));
}

#[test]
fn no_more_pipes_are_drained_than_the_limit() {
    let drain = Drain::start().unwrap();
    let most = vocab::limits::CHILD_DRAINED_PIPES_MAX;
    let writers: Vec<OwnedFd> = (0..=most)
        .map(|_| {
            let (ours, theirs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
            rustix::io::ioctl_fionbio(&ours, true).unwrap();
            drain.take(ours);
            theirs
        })
        .collect();
    // The last reader is closed, so its writer is told.
    let last = writers.last().unwrap();
    let mut fds = [rustix::event::PollFd::new(last, rustix::event::PollFlags::empty())];
    rustix::event::poll(&mut fds, Some(&tree::timespec(PATIENCE))).unwrap();
    assert!(fds[0].revents().contains(rustix::event::PollFlags::ERR));
    assert_eq!(rustix::io::write(&writers[0], b"x"), Ok(1));
}

/// Plays two parts: started by the test runner it starts itself again and kills that second self; the
/// second self waits for a command meanwhile.
#[test]
fn a_command_dies_with_the_process_that_waits_for_it() {
    if std::env::args().any(|argument| argument == "--show-output") {
        let mut sink = |bytes: &[u8]| {
            rustix::io::write(rustix::stdio::stderr(), bytes).unwrap();
        };
        let policy = bash("echo ,$$,; exec sleep 1000");
        scope().run(&plan(policy), &mut sink, &Cancel::new().unwrap()).unwrap();
        return;
    }
    let name = "scope::tests::escape::a_command_dies_with_the_process_that_waits_for_it";
    let again = ["--exact", name, "--show-output", "--nocapture"];
    let policy = Policy::new(std::env::current_exe().unwrap(), root(), environment()).args(again);
    let (ours, theirs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let null = || fs::File::options().read(true).write(true).open("/dev/null").unwrap().into();
    let stdio = Stdio { stdin: null(), stdout: null(), stderr: theirs };
    let scope = scope();
    let child = scope.launch(&plan(policy.lifetime(Lifetime::Detached)), &stdio).unwrap();
    drop(stdio);
    let (mut text, mut buffer) = (String::new(), [0; 256]);
    while text.matches(',').count() < 2 {
        let count = rustix::io::read(&ours, &mut buffer[..]).unwrap();
        assert!(count > 0, "{text}");
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    let pid = text.split(',').nth(1).unwrap().parse().unwrap();
    assert_alive(pid);
    child.signal(rustix::process::Signal::KILL);
    assert_eq!(child.wait(), ExitStatus::Signaled { number: 9, name: "SIGKILL" });
    assert_gone(pid);
}
