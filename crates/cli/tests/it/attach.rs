//! A job in a person's terminal: seen, typed into, let go of, and the terminal as it was afterwards, whoever
//! is killed.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use stdx::proc_id::ProcId;

use crate::{
    home::{Home, write},
    host::{Host, ready, ready_of},
    pty::Terminal,
    tmux::children,
};

const LET_GO: &str = "\u{1d}d";
const CTRL_Z: &str = "\u{1a}";

fn attach(home: &Home, host: &Host, flags: &[&str]) -> Terminal {
    Terminal::run(home.command(&[&["attach", &host.id()], flags].concat()))
}

fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

/// Waits until a process has ended and was reaped, or is nobody's zombie.
fn gone(process: &ProcId) {
    let pid = Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap();
    let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
    if let (Ok(handle), true) = (handle, process.is_alive()) {
        let mut fds = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut fds, None).unwrap();
    }
    assert!(!process.is_alive());
}

#[test]
fn what_is_typed_reaches_the_program_and_its_end_is_told() {
    let home = Home::new();
    let host = ready(&home, "echo hi; read x; echo got:$x; exit 3");
    let mut terminal = attach(&home, &host, &[]);
    let before = terminal.found.clone();
    terminal.wait_for("hi");
    let client = ProcId::of(terminal.pid()).unwrap();
    let guard = ProcId::of(children(client.pid)[0]).unwrap();
    assert_ne!(terminal.modes(), before);
    terminal.type_in("abc\r");
    terminal.wait_for("got:abc");
    terminal.wait_for(&format!("job ended · {} · exit code 3", host.id()));
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
    assert_eq!(terminal.modes(), before);
    assert!(!guard.is_alive());

    let mut again = attach(&home, &host, &[]);
    again.wait_for("has ended: exit code 3 (job_ended)");
    again.wait_for(&format!("stead respawn {} starts it again", host.id()));
    assert_eq!(again.end(), 1);
}

#[test]
fn letting_go_leaves_the_job_and_gives_the_terminal_back() {
    let home = Home::new();
    let host = ready(&home, "stty raw -echo; printf on; cat -v");
    for (keys, flags) in [
        (LET_GO, &[][..]),
        ("\u{1b}[93;5u\u{1b}[100u", &[]),
        ("\u{11}", &["--detach-keys", "ctrl-q"]),
    ] {
        let mut terminal = attach(&home, &host, flags);
        let before = terminal.found.clone();
        terminal.wait_for("on");
        let guard = ProcId::of(children(terminal.pid())[0]).unwrap();
        terminal.type_in("\u{1a}\u{1d}\u{1d}\u{1d}x|");
        terminal.wait_for("|");
        terminal.type_in(keys);
        terminal.wait_for(&format!("detached · {}", host.id()));
        assert_eq!(terminal.end(), 0, "{}", terminal.seen);
        assert_eq!(terminal.modes(), before);
        assert!(!guard.is_alive());
        assert_eq!(host.status()["alive"], true);
    }
    // Ctrl-Z was typed, and of twice Ctrl-] one, and one with what came after it.
    let mut terminal = attach(&home, &host, &[]);
    terminal.wait_for("on^Z^]^]x|^Z^]^]x|^Z^]^]^]x|");
    terminal.type_in(LET_GO);
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
}

#[test]
fn what_was_typed_last_is_typed() {
    let home = Home::new();
    // The program writes all the time, so that the client leaves with much of it unread.
    let host = ready(&home, "yes noise & read x; kill $!; echo \"<$x>\"; cat");
    let mut terminal = attach(&home, &host, &[]);
    terminal.wait_for("noise");
    terminal.type_in(&format!("last\r{LET_GO}"));
    terminal.wait_for("detached");
    assert_eq!(terminal.end(), 0);
    let mut terminal = attach(&home, &host, &[]);
    terminal.wait_for("<last>");
}

#[test]
fn an_agent_is_let_go_of_as_one_suspends_a_program() {
    let home = Home::new();
    let program = home.path("work/claude");
    write(&program, "#!/bin/sh\nstty raw -echo; printf on; cat -v");
    rustix::fs::chmod(&program, rustix::fs::Mode::RWXU).unwrap();
    let host = ready_of(&home, &[program.to_str().unwrap()]);
    for keys in [CTRL_Z, "\u{1b}[122;5u", "\u{1b}[27;5;122~", LET_GO] {
        let mut terminal = attach(&home, &host, &[]);
        terminal.wait_for("on");
        terminal.type_in(keys);
        terminal.wait_for("detached");
        assert_eq!(terminal.end(), 0, "{}", terminal.seen);
    }
    let mut terminal = attach(&home, &host, &["--detach-keys", "ctrl-q"]);
    terminal.wait_for("on");
    terminal.type_in(CTRL_Z);
    terminal.wait_for("^Z");
}

#[test]
fn what_cannot_be_attached_says_why() {
    let home = Home::new();
    let host = ready(&home, "cat");
    let id = host.id();
    assert!(home.stead(&["attach", &id]).with(1).err.contains("not_a_terminal"));
    let check = |args: &[&str], code: i32, why: &str| {
        let mut terminal = Terminal::run(home.command(args));
        let before = terminal.found.clone();
        assert_eq!(terminal.end(), code, "{}", terminal.seen);
        assert!(terminal.seen.contains(why), "{why}: {}", terminal.seen);
        assert_eq!(terminal.modes(), before);
    };
    check(&["attach", "00000000"], 3, "there is no job and no session \"00000000\"");
    check(&["attach", "../../etc"], 3, "job_not_found");
    check(&["attach", &id, "--detach-keys", "d"], 2, "has to be one with ctrl-");
    check(&["attach", &id, "--read-only", "--steal"], 2, "cannot be used with");
    let mut inside = home.command(&["attach", &id]);
    inside.env("STEAD_JOB_SOCK", host.files.socket());
    let mut terminal = Terminal::run(inside);
    assert_eq!(terminal.end(), 1);
    assert!(terminal.seen.contains("attached_to_itself"), "{}", terminal.seen);
}

#[test]
fn a_job_is_found_from_where_sockets_lie_elsewhere() {
    let home = Home::new();
    let host = ready(&home, "echo on; cat");
    let mut command = home.command(&["attach", &host.id()]);
    command.env("STEAD_RUNTIME_DIR", home.path("elsewhere"));
    let mut terminal = Terminal::run(command);
    terminal.wait_for("on");
    terminal.type_in(LET_GO);
    terminal.wait_for("detached");
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
    let mut command = home.command(&["logs", &host.id(), "--json"]);
    let told = command.env("STEAD_RUNTIME_DIR", home.path("elsewhere")).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told["live"], true);
    assert!(!home.path("elsewhere").exists());
}

#[test]
fn a_second_terminal_takes_over_or_sends_away() {
    let home = Home::new();
    let host = ready(&home, "echo on; while read x; do echo \"<$x>\"; done");
    let mut first = attach(&home, &host, &[]);
    first.wait_for("on");
    let mut second = attach(&home, &host, &[]);
    second.wait_for("on");
    second.type_in("two\r");
    first.wait_for("<two>");
    // It takes the place back by typing.
    first.type_in("one\r");
    second.wait_for("<one>");

    let before = first.modes();
    let mut thief = attach(&home, &host, &["--steal"]);
    first.wait_for(&format!("taken over by another terminal · {}", host.id()));
    assert_eq!(first.end(), 0, "{}", first.seen);
    assert_ne!(first.modes(), before);
    thief.wait_for("<one>");
    thief.type_in("three\r");
    second.wait_for("<three>");
    assert_eq!(host.status()["attached"], 2);
}

#[test]
fn who_only_looks_neither_types_nor_sizes() {
    let home = Home::new();
    let host =
        ready(&home, "trap 'stty size' WINCH; echo on; while :; do read x; echo \"<$x>\"; done");
    let mut writer = attach(&home, &host, &[]);
    writer.wait_for("on");
    let mut looker = attach(&home, &host, &["--read-only"]);
    looker.wait_for("nothing that you type reaches it\r\n");
    looker.wait_for("on");
    looker.type_in("typed\r");
    looker.resize(100, 40);
    looker.signal(Signal::WINCH);
    writer.type_in("real\r");
    looker.wait_for("<real>");
    let status = host.status();
    assert_eq!((&status["cols"], &status["rows"]), (&80.into(), &24.into()));
    looker.type_in(LET_GO);
    looker.wait_for("detached");
    assert_eq!(looker.end(), 0, "{}", looker.seen);
    assert!(!looker.seen.contains("typed"), "{}", looker.seen);

    writer.resize(100, 40);
    writer.type_in("\r");
    writer.wait_for("40 100");
}

#[test]
fn signals_that_end_a_program_give_the_terminal_back() {
    let home = Home::new();
    let host = ready(&home, "printf '\\033[?1049h\\033[?1003hon'; cat");
    for (signal, code) in [(Signal::TERM, 130), (Signal::INT, 130), (Signal::HUP, 0)] {
        let mut terminal = attach(&home, &host, &[]);
        let before = terminal.found.clone();
        terminal.wait_for("on");
        terminal.signal(signal);
        assert_eq!(terminal.end(), code, "{}", terminal.seen);
        assert_eq!(terminal.modes(), before);
        let at = terminal.seen.rfind("\u{1b}[?1003h").unwrap();
        assert!(terminal.seen[at..].contains("\u{1b}[?1003l"), "{:?}", terminal.seen);
    }
    assert_eq!(host.status()["alive"], true);
}

#[test]
fn a_client_that_is_killed_leaves_its_guard_to_give_the_terminal_back() {
    let home = Home::new();
    let host = ready(&home, "printf '\\033[?1049h\\033[?1003hon'; cat");
    let mut terminal = attach(&home, &host, &[]);
    let before = terminal.found.clone();
    terminal.wait_for("on");
    let guard = ProcId::of(children(terminal.pid())[0]).unwrap();
    // It does not listen to what is meant for its client.
    for signal in [Signal::INT, Signal::HUP, Signal::TERM] {
        kill(guard.pid, signal);
    }
    assert!(guard.is_alive());
    // With everyone in its group, as a terminal's own program may kill what ran on it.
    let group = Pid::from_raw(i32::try_from(terminal.pid()).unwrap()).unwrap();
    kill_process_group(group, Signal::KILL).unwrap();
    terminal.wait_for("\u{1b}[?1003l");
    terminal.wait_for("\u{1b}[23;2t");
    gone(&guard);
    assert_eq!((terminal.end(), terminal.modes()), (-1, before));
}
