//! A job inside a person's shell, on a terminal that somebody else wrote: what is seen while it is attached,
//! and what is left of it afterwards.

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};
use stdx::proc_id::ProcId;

use crate::{
    home::{Home, write},
    host::{Host, ready, ready_of},
    tmux::{PROMPT, Tmux, children},
};

const VIM: &[&str] =
    &["vim", "-u", "NONE", "-i", "NONE", "-nN", "--cmd", "set mouse=a ttymouse=sgr title"];

/// A shell that has printed something, its modes, and what `stty` says of it.
pub(crate) struct Shell {
    pub(crate) tmux: Tmux,
    modes: String,
    stty: String,
}

impl Shell {
    pub(crate) fn new(home: &Home) -> Self {
        let tmux = Tmux::new(home);
        tmux.line("echo be''fore", PROMPT);
        let (modes, stty) = (tmux.modes(), tmux.stty());
        Self { tmux, modes, stty }
    }

    pub(crate) fn attach(&self, job: &str) {
        self.tmux.type_in(&format!("\"$STEAD\" attach {job}; code=$?; echo co''de=$code"));
        self.tmux.keys(&["Enter"]);
    }

    /// Lets go, and checks that the terminal is what it was.
    #[track_caller]
    fn let_go(&self, host: &Host) {
        self.tmux.keys(&["C-]", "d"]);
        self.tmux.wait_for(&format!("detached · {}", host.id()));
        self.tmux.wait_for("code=0");
        self.is_restored();
    }

    /// Checks that the terminal is what it was, and usable.
    #[track_caller]
    pub(crate) fn is_restored(&self) {
        self.tmux.wait_for_modes(&self.modes);
        // What never switched any of these is waited for here.
        self.tmux.wait_until("the terminal's modes", |_| self.tmux.stty() == self.stty);
        // Not up to the prompt: what a shell said of a killed client may stand below it.
        self.tmux.type_in("echo us''able");
        self.tmux.keys(&["Enter"]);
        self.tmux.wait_for("usable");
        let all = self.tmux.tmux(&["capture-pane", "-p", "-S", "-"]);
        assert!(all.contains("before"), "{all}");
    }

    #[track_caller]
    pub(crate) fn wait_for_modes(&self, part: &str) {
        self.tmux.wait_until_modes(part, |modes| modes.contains(part));
    }
}

/// Waits for the end of a process that is nobody's child here.
pub(crate) fn gone(process: &ProcId) {
    let pid = Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap();
    if let (Ok(handle), true) = (pidfd_open(pid, PidfdFlags::empty()), process.is_alive()) {
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], None).unwrap();
    }
    assert!(!process.is_alive());
}

fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn an_editor_is_seen_typed_into_and_left() {
    let home = Home::new();
    let host = ready_of(&home, VIM);
    let shell = Shell::new(&home);
    for word in ["hello", "again"] {
        shell.attach(&host.id());
        shell.wait_for_modes("alternate_on=1");
        shell.wait_for_modes("mouse_any_flag=1");
        shell.tmux.wait_for("~");
        shell.tmux.type_in(&format!("o{word}"));
        shell.tmux.wait_for(word);
        shell.tmux.keys(&["Escape"]);
        shell.let_go(&host);
    }
    shell.attach(&host.id());
    shell.tmux.wait_for("hello");
    shell.tmux.wait_for("again");
    shell.tmux.type_in(":q!");
    shell.tmux.keys(&["Enter"]);
    shell.tmux.wait_for(&format!("job ended · {} · exit code 0", host.id()));
    shell.is_restored();
}

#[test]
fn an_editors_client_is_killed() {
    let home = Home::new();
    let host = ready_of(&home, VIM);
    let shell = Shell::new(&home);
    shell.attach(&host.id());
    shell.wait_for_modes("mouse_any_flag=1");
    let client = shell.tmux.shell_child();
    let guard = ProcId::of(children(client)[0]).unwrap();
    kill(client, Signal::KILL);
    gone(&guard);
    // Whether the shell has spoken before or after is as it happens.
    shell.is_restored();
    shell.tmux.line("echo it was=$code", PROMPT);
    shell.tmux.wait_for("it was=137");
    assert_eq!(host.status()["alive"], true);
}

#[test]
fn an_editors_host_is_killed() {
    let home = Home::new();
    let mut host = ready_of(&home, VIM);
    let shell = Shell::new(&home);
    shell.attach(&host.id());
    shell.wait_for_modes("mouse_any_flag=1");
    host.child.kill().unwrap();
    shell.tmux.wait_for("is gone and left no word of its end (host_gone)");
    shell.tmux.wait_for("code=1");
    shell.is_restored();
}

#[test]
fn a_window_that_changes_its_size_changes_the_programs() {
    let home = Home::new();
    let lines: String = (1..100).map(|line| format!("line {line}.\n")).collect();
    write(&home.path("work/text"), &lines);
    let host = ready_of(&home, &["less", "text"]);
    let shell = Shell::new(&home);
    shell.attach(&host.id());
    shell.tmux.wait_for("line 23.");
    shell.tmux.tmux(&["resize-window", "-x", "60", "-y", "40"]);
    shell.tmux.wait_for("line 39.");
    assert_eq!(host.status()["cols"], 60);
    shell.tmux.tmux(&["resize-window", "-x", "80", "-y", "24"]);
    shell.tmux.wait_until("the first size", |screen| !screen.contains("line 39."));
    shell.tmux.keys(&["G"]);
    shell.tmux.wait_for("line 99.");
    shell.let_go(&host);
}

#[test]
fn a_sequence_may_be_cut_where_a_client_comes_and_where_it_goes() {
    let home = Home::new();
    let script = "stty -echo; printf 'a\\033[3'; read x; printf '1mred\\033[m\\r\\n'; \
                  read x; printf 'b\\033]2;never ends'; read x; printf '\\007c\\303'; read x; printf '\\244d'; cat";
    let host = ready(&home, script);
    let shell = Shell::new(&home);
    shell.attach(&host.id());
    shell.tmux.wait_until("a", |screen| screen.lines().any(|line| line == "a"));
    shell.tmux.keys(&["Enter"]);
    shell.tmux.wait_until("ared", |screen| screen.lines().any(|line| line == "ared"));
    assert!(shell.tmux.tmux(&["capture-pane", "-pe"]).contains("a\u{1b}[31mred"));
    shell.tmux.keys(&["Enter"]);
    shell.tmux.wait_until("b", |screen| screen.lines().any(|line| line == "b"));
    shell.let_go(&host);
    shell.attach(&host.id());
    shell.tmux.wait_until("b", |screen| screen.lines().any(|line| line == "b"));
    shell.tmux.keys(&["Enter"]);
    shell.tmux.wait_until("bc", |screen| screen.lines().any(|line| line.starts_with("bc")));
    shell.let_go(&host);
    shell.attach(&host.id());
    shell.tmux.wait_until("bc", |screen| screen.lines().any(|line| line.starts_with("bc")));
    shell.tmux.keys(&["Enter"]);
    shell.tmux.wait_until("bcäd", |screen| screen.lines().any(|line| line == "bcäd"));
    shell.let_go(&host);
}

#[test]
fn a_client_that_is_suspended_gives_the_terminal_back_meanwhile() {
    let home = Home::new();
    let host = ready_of(&home, VIM);
    let shell = Shell::new(&home);
    shell.attach(&host.id());
    shell.wait_for_modes("mouse_any_flag=1");
    let client = shell.tmux.shell_child();
    kill(client, Signal::TSTP);
    shell.tmux.wait_for("Stopped");
    shell.is_restored();
    shell.tmux.line("fg", "~");
    shell.wait_for_modes("mouse_any_flag=1");
    // Stopped without being asked, it can only take the terminal again. The shell reads it raw meanwhile.
    kill(client, Signal::STOP);
    shell.tmux.wait_for(PROMPT);
    shell.tmux.type_in("stty sane; fg");
    shell.tmux.keys(&["C-j"]);
    shell.tmux.wait_until("the editor", |screen| !screen.contains(PROMPT));
    shell.tmux.type_in("itext");
    shell.tmux.wait_for("text");
    shell.tmux.keys(&["C-]", "d"]);
    shell.tmux.wait_for("detached");
    shell.is_restored();
}

#[test]
fn a_window_that_is_closed_leaves_nobody_behind() {
    let home = Home::new();
    let host = ready(&home, "echo on; read x; echo \"<$x>\"; read x");
    let shell = Shell::new(&home);
    shell.attach(&host.id());
    shell.tmux.wait_for("on");
    let client = ProcId::of(shell.tmux.shell_child()).unwrap();
    let guard = ProcId::of(children(client.pid)[0]).unwrap();
    // What was typed in the last moment is typed.
    shell.tmux.type_in("last\r");
    shell.tmux.wait_for("<last>");
    let wait = |process: &ProcId| {
        let pid = Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap();
        rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap()
    };
    let handles = [wait(&client), wait(&guard)];
    shell.tmux.tmux(&["kill-server"]);
    for handle in &handles {
        let mut fds = [rustix::event::PollFd::new(handle, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut fds, None).unwrap();
    }
    assert!(!client.is_alive() && !guard.is_alive());
    assert_eq!((&host.status()["alive"], &host.status()["attached"]), (&true.into(), &0.into()));
}
