//! What a job has shown, as a person and a script get it.

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;

use super::*;
use crate::{
    attached::gone,
    home::{Ended, read},
    pty::Terminal,
    tmux::children,
};

impl Host {
    fn logs(&self, home: &Home, flags: &[&str]) -> Ended {
        home.stead(&[&["logs", self.files.id().as_str()], flags].concat())
    }

    fn logs_on_terminal(&self, home: &Home, flags: &[&str]) -> Terminal {
        Terminal::run(home.command(&[&["logs", self.files.id().as_str()], flags].concat()))
    }

    /// Types a line and waits for the end.
    fn finish(&mut self) {
        let mut control = Client::of(self, "control");
        control.send(Kind::Control, &json!({"op": "send", "text": "\n"}));
        control.wait(Kind::Exit, "}");
        self.child.wait().unwrap();
    }
}

/// Starts a job and waits until it has shown a word.
fn showing(home: &Home, script: &str, word: &str) -> Host {
    let host = ready(home, script);
    Client::of(&host, "view").wait(Kind::Data, word);
    host
}

#[test]
fn the_screen_is_printed_while_the_job_lives_and_after() {
    let home = Home::new();
    let mut host =
        showing(&home, "printf '\\033[31mred\\033[m\\r\\nready\\r\\n'; read x; echo bye", "ready");
    assert_eq!(host.logs(&home, &[]).with(0).out, "red\nready\n");
    let told: Value = serde_json::from_str(&host.logs(&home, &["--json"]).with(0).out).unwrap();
    let id = host.files.id().as_str();
    assert_eq!(told, json!({"id": id, "live": true, "text": "red\nready\n"}));
    host.finish();
    assert_eq!(host.logs(&home, &[]).with(0).out, "red\nready\n\nbye\n");
    assert_eq!(host.logs(&home, &["-f"]).with(0).out, "red\nready\n\nbye\n");
    let told: Value = serde_json::from_str(&host.logs(&home, &["--json"]).with(0).out).unwrap();
    assert_eq!(told["live"], false);
    for id in ["00000000", "nonsense", "../x"] {
        home.stead(&["logs", id]).with(3);
    }
}

#[test]
fn a_host_that_was_killed_has_left_what_it_recorded() {
    let home = Home::new();
    let mut host = showing(&home, "echo first; read x; sleep 1000", "first");
    let mut control = Client::of(&host, "control");
    control.send(Kind::Control, &json!({"op": "flush"}));
    control.wait(Kind::Reply, "}");
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    // The text that it had time for is older.
    stdx::state_file::publish(&host.files.screen(), b"older\n").unwrap();
    assert_eq!(host.logs(&home, &[]).with(0).out, "first\n");
    assert!(host.logs(&home, &["--export", "txt"]).with(0).out.starts_with("first\n"));
}

#[test]
fn a_pipe_is_followed_with_plain_text_to_the_jobs_end() {
    let home = Home::new();
    let script =
        "echo before; read x; printf '\\033]2;title\\007\\033[1mbold\\033[m after\\n'; exit 3";
    let mut host = showing(&home, script, "before");
    let mut command = home.command(&["logs", host.files.id().as_str(), "-f"]);
    let mut following = command.spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap());
    let mut seen = String::new();
    lines.read_line(&mut seen).unwrap();
    assert_eq!(seen, "before\n");
    host.finish();
    lines.read_to_string(&mut seen).unwrap();
    assert_eq!(seen, "before\n\nbold after\n");
    assert_eq!(following.wait().unwrap().code(), Some(0));
}

#[test]
fn following_ends_when_nobody_reads_or_its_host_is_killed() {
    let home = Home::new();
    let mut host = showing(&home, "echo on; read x; sleep 1000", "on");
    let follow = |host: &Host| {
        let mut command = home.command(&["logs", host.files.id().as_str(), "-f"]);
        let mut following = command.spawn().unwrap();
        let mut lines = BufReader::new(following.stdout.take().unwrap());
        let mut seen = String::new();
        lines.read_line(&mut seen).unwrap();
        (following, lines)
    };
    let (mut following, lines) = follow(&host);
    drop(lines);
    assert_eq!(following.wait().unwrap().code(), Some(0));
    let (mut following, _lines) = follow(&host);
    host.child.kill().unwrap();
    assert_eq!(following.wait().unwrap().code(), Some(1));
}

#[test]
fn a_terminal_is_given_back_as_it_was() {
    let home = Home::new();
    let script = "printf '\\033[?2004h\\033[?1000hstarted\\r\\n'; read x; echo more; sleep 1000";
    let host = showing(&home, script, "started");
    let mut terminal = host.logs_on_terminal(&home, &["-f"]);
    terminal.wait_for("started");
    let mut control = Client::of(&host, "control");
    control.send(Kind::Control, &json!({"op": "send", "text": "\n"}));
    terminal.wait_for("more");
    terminal.type_in("\u{3}");
    assert_eq!(terminal.end(), 130, "{}", terminal.seen);
    terminal.wait_for("\x1b[?1000l");
    assert!(terminal.seen.contains("\x1b[?2004l"), "{:?}", terminal.seen);

    let mut terminal = host.logs_on_terminal(&home, &["--replay", "--speed", "100"]);
    terminal.wait_for("started");
    terminal.wait_for("more");
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
    terminal.wait_for("\x1b[?1000l");
    assert!(terminal.echoes());
}

#[test]
fn what_shows_a_job_is_killed_and_the_terminal_given_back() {
    let home = Home::new();
    let script =
        "printf '\\033[?2004h\\033[?1000h\\033[?1049hstarted\\r\\n'; read x; echo later; read x";
    let host = showing(&home, script, "started");
    let mut control = Client::of(&host, "control");
    control.send(Kind::Control, &json!({"op": "send", "text": "\n"}));
    Client::of(&host, "view").wait(Kind::Data, "later");
    for flags in [&["-f"][..], &["--replay", "--speed", "0.00001"]] {
        let mut terminal = host.logs_on_terminal(&home, flags);
        let before = terminal.found.clone();
        terminal.wait_for("started");
        let guard = ProcId::of(children(terminal.pid())[0]).unwrap();
        terminal.signal(Signal::KILL);
        for reset in ["\x1b[?1049l", "\x1b[?1000l", "\x1b[?2004l", "\x1b[23;2t"] {
            terminal.wait_for(reset);
        }
        gone(&guard);
        assert_eq!((terminal.end(), terminal.modes()), (-1, before));
    }
    let mut terminal = Terminal::run(home.command(&["secrets", "set", "openai"]));
    let before = terminal.found.clone();
    terminal.wait_for("it is not shown");
    assert!(!terminal.echoes());
    let guard = ProcId::of(children(terminal.pid())[0]).unwrap();
    terminal.signal(Signal::KILL);
    gone(&guard);
    assert_eq!((terminal.end(), terminal.modes()), (-1, before));
}

#[test]
fn a_replay_waits_and_ends_as_it_is_told() {
    let home = Home::new();
    let mut host = showing(&home, "echo one; read x; echo two; read x", "one");
    let mut control = Client::of(&host, "control");
    control.send(Kind::Control, &json!({"op": "send", "text": "\n"}));
    Client::of(&host, "view").wait(Kind::Data, "two");
    host.finish();
    // So slow that the second word never comes by itself.
    let slow = ["--replay", "--speed", "0.00001"];
    for (key, code) in [("q", 0), ("\u{3}", 130), ("\x1b[99;5u", 130)] {
        let mut terminal = host.logs_on_terminal(&home, &slow);
        terminal.wait_for("one");
        terminal.type_in(key);
        assert_eq!(terminal.end(), code, "{}", terminal.seen);
        assert!(terminal.echoes() && !terminal.seen.contains("two"), "{}", terminal.seen);
    }
    let mut terminal = host.logs_on_terminal(&home, &["--replay", "--idle-limit", "0.01"]);
    terminal.wait_for("two");
    assert_eq!(terminal.end(), 0);
    let piped = host.logs(&home, &["--replay", "--speed", "1000"]).with(0);
    assert!(piped.out.starts_with("one\r\n\r\ntwo\r\n"), "{:?}", piped.out);
}

#[test]
fn what_was_recorded_is_exported_into_new_private_files() {
    let home = Home::new();
    let mut host = showing(&home, "printf '\\033[31mred\\033[m\\r\\n'; read x; exit 3", "red");
    // Also while it runs.
    let live = host.logs(&home, &["--export", "cast3"]).with(0);
    let header: Value = serde_json::from_str(live.out.lines().next().unwrap()).unwrap();
    assert_eq!(header["version"], 3);
    assert!(live.out.contains("red") && !live.out.contains("\"x\""), "{}", live.out);
    host.finish();
    for (format, text) in [
        ("cast3", ",\"x\",\"3\"]\n"),
        ("cast2", "\"version\":2,"),
        ("txt", "red\n"),
        ("html", "<span style=\"color:#cc6666;\">red</span>"),
    ] {
        let file = home.work().join(format);
        let told = host.logs(&home, &["--export", format, "-o", format]).with(0);
        assert_eq!(told.out, "");
        assert!(read(&file).contains(text), "{format}: {}", read(&file));
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(host.logs(&home, &["--export", format]).with(0).out, read(&file));
        let refused = host.logs(&home, &["--export", format, "-o", format]).with(1);
        assert!(refused.err.contains("exists"), "{}", refused.err);
    }
    for flags in [
        &["--speed", "2"][..],
        &["--replay", "--speed", "0"],
        &["--replay", "--export", "txt"],
        &["-o", "x"],
        &["--export", "gif"],
    ] {
        host.logs(&home, flags).with(2);
    }
}

#[test]
fn a_job_that_is_not_recorded_says_so() {
    let home = Home::new();
    let files = job(&home, "echo on; read x");
    let mut record = files.read().unwrap();
    record.record = false;
    files.create(&record).unwrap();
    let (host, line) = super::host(&home, files);
    assert_eq!(line, "ready\n");
    Client::of(&host, "view").wait(Kind::Data, "on");
    for flags in [&["--replay"][..], &["--export", "cast3"]] {
        assert!(host.logs(&home, flags).with(3).err.contains("not_recorded"));
    }
    assert_eq!(host.logs(&home, &[]).with(0).out, "on\n");
}

#[test]
fn a_line_that_the_terminal_has_broken_is_printed_whole() {
    let home = Home::new();
    let mut host = showing(&home, "printf '%0200d\\n' 7; echo on; read x", "on");
    let whole = format!("{}7\non\n", "0".repeat(199));
    let rows = format!("{}\n{}7\non\n", "0".repeat(120), "0".repeat(79));
    assert_eq!(host.logs(&home, &[]).with(0).out, whole);
    assert_eq!(host.logs(&home, &["--export", "txt"]).with(0).out, whole);
    host.finish();
    // The file is the screen as it was, row by row.
    assert_eq!(read(&host.files.screen()), rows);
    assert_eq!(host.logs(&home, &[]).with(0).out, whole);
    assert_eq!(host.logs(&home, &["-f"]).with(0).out, whole);
    assert!(host.logs(&home, &["--export", "txt"]).with(0).out.starts_with(&whole));
}

#[test]
fn who_reads_a_followed_pipe_too_slowly_is_told_that_something_is_missing() {
    let home = Home::new();
    let flood = 5 * vocab::limits::HOST_QUEUE_BYTES_MAX;
    let script = format!(
        "stty -echo; echo on; read x; yes 'a line of the flood' | head -c {flood}; echo; echo the end; \
         read x; echo 'after it'"
    );
    let mut host = showing(&home, &script, "on");
    let mut command = home.command(&["logs", host.files.id().as_str(), "-f"]);
    let mut following = command.spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    assert_eq!(first, "on\n");
    let mut control = Client::of(&host, "control");
    control.send(Kind::Control, &json!({"op": "send", "text": "\n"}));
    control.wait(Kind::Reply, "}");
    // Nobody reads while it writes.
    let mut shown = String::new();
    while !shown.contains("the end") {
        control.send(Kind::Control, &json!({"op": "snapshot"}));
        shown = control.wait(Kind::Reply, "}");
    }
    let reading = std::thread::spawn(move || {
        let mut seen = String::new();
        lines.read_to_string(&mut seen).unwrap();
        seen
    });
    let mut said = String::new();
    let mut errors = BufReader::new(following.stderr.take().unwrap());
    errors.read_line(&mut said).unwrap();
    assert!(said.contains("is missing here") && said.contains("--replay has it"), "{said}");
    host.finish();
    let seen = reading.join().unwrap();
    assert!(seen.len() < flood, "{}", seen.len());
    // Whole lines, then the screen in place of what is missing, then what came after it.
    assert!(
        seen.ends_with("the end\n\nafter it\n") || seen.ends_with("the end\nafter it\n"),
        "{:?}",
        &seen[seen.len() - 200..]
    );
    assert_eq!(following.wait().unwrap().code(), Some(0));
    errors.read_to_string(&mut said).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// The daemon may be asked with its credential, of which no other process shall hold a copy.
#[test]
fn a_guard_of_what_is_shown_is_there_before_the_daemon_is_asked() {
    let home = Home::new();
    home.stead(&["daemon", "start"]).with(0);
    let told: Value = serde_json::from_str(&read(&home.path("state/daemon.json"))).unwrap();
    let daemon = ProcId::of(u32::try_from(told["pid"].as_u64().unwrap()).unwrap()).unwrap();
    let signal = |signal| {
        let pid = rustix::process::Pid::from_raw(i32::try_from(daemon.pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    };
    for flags in [&["-f"][..], &["--replay"]] {
        // It answers nobody, so that whoever asks it by a name waits.
        signal(Signal::STOP);
        let mut terminal = Terminal::run(home.command(&[&["logs", "a name"], flags].concat()));
        let asks = ProcId::of(terminal.pid()).unwrap();
        while children(asks.pid).is_empty() {
            assert!(asks.is_alive(), "it asked without a guard: {}", terminal.seen);
            std::thread::yield_now();
        }
        signal(Signal::CONT);
        assert_eq!(terminal.end(), 3, "{}", terminal.seen);
    }
}
