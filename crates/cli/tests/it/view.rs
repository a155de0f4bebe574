//! The agent view as a person sees it: in tmux, with a daemon, two jobs and a session that asks.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use stdx::proc_id::ProcId;

use crate::{
    attached::{Shell, gone},
    home::{Home, read, write},
    tmux::{PROMPT, Tmux, children},
};

/// A home with a session that asks, and two jobs.
fn home() -> Home {
    let text = |text: &str| json!({"type": "text", "text": text});
    let home = Home::scripted(&json!({
        "turns": [
            {"blocks": [text("I look first."),
                {"type": "call", "tool": "bash", "input": {"command": "echo one; echo two"}}]},
            {"blocks": [text("I saw {{last}}.")]},
        ],
        "stories": [{"when": "^more$", "turns": [{"blocks": [text("There is no more.")]}]}],
    }));
    home.stead(&["bg", "look around"]).with(0);
    let talks = "echo hello; while read -r line; do echo \"got $line\"; done";
    home.stead(&["bg", "--name", "talker", "--", "sh", "-c", talks]).with(0);
    home.stead(&["bg", "--name", "sleeper", "--", "sleep", "1000"]).with(0);
    home
}

fn rows(home: &Home) -> Vec<Value> {
    serde_json::from_str(&home.stead(&["ls", "--json"]).with(0).out).unwrap()
}

/// Opens the view, and returns how the terminal was before.
fn opened(tmux: &Tmux) -> (String, String) {
    let before = (tmux.stty(), tmux.modes());
    tmux.type_in("\"$STEAD\" view");
    tmux.keys(&["Enter"]);
    tmux.wait_until("the list", |screen| {
        screen.contains("needs you (") && screen.contains("sleeper")
    });
    before
}

/// Waits for the prompt, and checks that the terminal is as it was.
#[track_caller]
fn given_back(tmux: &Tmux, (stty, modes): &(String, String)) {
    tmux.wait_until("the prompt", |screen| screen.trim_end().ends_with(PROMPT));
    tmux.wait_for_modes(modes);
    assert_eq!(&tmux.stty(), stty);
}

/// Gives the sleeper another name, stops it, starts it again and removes it.
fn changed(tmux: &Tmux) {
    tmux.type_in("/sleeper");
    tmux.keys(&["Enter", "r", "C-u"]);
    tmux.type_in("night owl");
    tmux.keys(&["Enter"]);
    tmux.wait_for("renamed · night owl");
    tmux.keys(&["Escape"]);
    // No directory of a test has a blank in its name.
    tmux.type_in("/t owl");
    // The row has its new name once the filter finds it.
    tmux.wait_until("the owl", |screen| {
        screen.contains("show only: t owl") && screen.contains("working (1)")
    });
    tmux.keys(&["Enter", "s"]);
    tmux.wait_for("end night owl?");
    tmux.keys(&["n"]);
    tmux.wait_for("nothing was done");
    tmux.keys(&["s"]);
    tmux.wait_for("end night owl?");
    tmux.keys(&["y"]);
    tmux.wait_for("stopped · night owl");
    tmux.wait_for("failed, stopped (1)");
    tmux.keys(&["R"]);
    tmux.wait_for("started · night owl");
    tmux.wait_for("working (1)");
    tmux.keys(&["x"]);
    tmux.wait_for("end and remove night owl");
    tmux.keys(&["y"]);
    tmux.wait_for("removed · night owl");
    tmux.keys(&["Escape"]);
}

#[test]
fn a_person_works_with_all_that_runs_from_one_screen() {
    let home = home();
    let tmux = Tmux::new(&home);
    let before = opened(&tmux);
    assert!(tmux.modes().contains("alternate_on=1"));

    // The session stands first, since it needs somebody: its question is read and answered.
    tmux.wait_for("1 blocked · 2 working");
    tmux.keys(&["Space"]);
    tmux.wait_for("I look first.");
    tmux.wait_for("? bash wants to run: echo one");
    tmux.keys(&["a"]);
    tmux.wait_for("look around asks");
    tmux.wait_for("command: echo one; echo two");
    tmux.keys(&["y"]);
    tmux.wait_for("I saw one");
    tmux.wait_for("2 working · 1 done");
    tmux.keys(&["Escape"]);

    // A filter, a peek at a screen, and a word typed into it.
    tmux.type_in("/talk");
    tmux.wait_until("only the talker", |screen| !screen.contains("sleeper"));
    tmux.keys(&["Enter", "Space"]);
    tmux.wait_for("hello");
    tmux.keys(&["a"]);
    tmux.wait_for("type into talker:");
    tmux.type_in("漢字");
    tmux.keys(&["Enter"]);
    tmux.wait_for("got 漢字");

    // Into its terminal, and back.
    tmux.keys(&["Enter"]);
    tmux.wait_until("the job alone", |screen| {
        screen.contains("got 漢字") && !screen.contains("stead view")
    });
    tmux.type_in("from inside");
    tmux.keys(&["Enter"]);
    tmux.wait_for("got from inside");
    tmux.keys(&["C-]", "d"]);
    tmux.wait_for("stead view");
    tmux.keys(&["Escape", "Escape"]);
    tmux.wait_for("sleeper");

    changed(&tmux);

    // Something new of each kind.
    tmux.type_in("n! echo made by hand");
    tmux.keys(&["Enter"]);
    tmux.wait_for("started ·");
    tmux.type_in("nmore");
    tmux.keys(&["Enter"]);
    tmux.wait_for("begun");
    tmux.wait_for("3 done");

    tmux.keys(&["q"]);
    given_back(&tmux, &before);
    let named = |name: &str| rows(&home).into_iter().find(|row| row["name"] == name);
    assert_eq!(named("talker").unwrap()["state"], "working");
    assert_eq!(named("night owl"), None);
    assert_eq!(rows(&home).len(), 4);
}

#[test]
fn a_daemon_that_dies_is_told_and_found_again() {
    let home = home();
    let tmux = Tmux::new(&home);
    let before = opened(&tmux);
    let registration: Value = serde_json::from_str(&read(&home.path("state/daemon.json"))).unwrap();
    let pid = i32::try_from(registration["pid"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    tmux.wait_for("no daemon");
    tmux.wait_for("stead daemon start");
    assert!(tmux.screen().contains("sleeper"), "what was known is still shown");
    home.stead(&["daemon", "start"]).with(0);
    tmux.wait_until("the next daemon", |screen| {
        screen.lines().next().is_some_and(|line| line.trim_end().ends_with("live"))
    });
    home.stead(&["rename", "sleeper", "dreamer"]).with(0);
    tmux.wait_for("dreamer");
    tmux.keys(&["q"]);
    given_back(&tmux, &before);
}

#[test]
fn the_terminal_is_given_back_whatever_ends_the_view_and_follows_its_size() {
    let home = home();
    let tmux = Tmux::new(&home);
    for signal in [Signal::TERM, Signal::HUP] {
        let before = opened(&tmux);
        let pid = i32::try_from(tmux.shell_child()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        given_back(&tmux, &before);
    }
    let before = opened(&tmux);
    tmux.type_in("/talk");
    tmux.wait_until("only the talker", |screen| !screen.contains("sleeper"));
    tmux.keys(&["Enter", "Enter"]);
    tmux.wait_until("the job alone", |screen| screen.starts_with("hello"));
    let pid = i32::try_from(tmux.shell_child()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    given_back(&tmux, &before);

    let before = opened(&tmux);
    tmux.tmux(&["resize-window", "-x", "120", "-y", "40"]);
    tmux.wait_for("R again");
    tmux.tmux(&["resize-window", "-x", "30", "-y", "8"]);
    tmux.wait_for("at least 40 × 10 cells");
    tmux.tmux(&["resize-window", "-x", "80", "-y", "24"]);
    tmux.wait_for("sleeper");
    tmux.keys(&["C-c"]);
    given_back(&tmux, &before);
}

/// Kills what the shell runs, and waits until nothing is left of it.
fn killed(shell: &Shell, n_children: usize) {
    let client = shell.tmux.shell_child();
    let others: Vec<ProcId> = children(client).into_iter().filter_map(ProcId::of).collect();
    assert_eq!(others.len(), n_children);
    kill_process(Pid::from_raw(i32::try_from(client).unwrap()).unwrap(), Signal::KILL).unwrap();
    others.iter().for_each(gone);
    shell.is_restored();
}

/// Sends a signal to what the shell runs.
fn signal(shell: &Shell, signal: Signal) {
    let pid = i32::try_from(shell.tmux.shell_child()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[test]
fn a_view_that_is_suspended_gives_the_terminal_back_meanwhile() {
    let home = home();
    let shell = Shell::new(&home);
    opened(&shell.tmux);
    signal(&shell, Signal::TSTP);
    shell.tmux.wait_for("Stopped");
    shell.is_restored();
    shell.tmux.type_in("fg");
    shell.tmux.keys(&["Enter"]);
    shell.tmux.wait_for("sleeper");
    // Keys are read as before, also after a stop that was no question.
    signal(&shell, Signal::STOP);
    shell.tmux.wait_for(PROMPT);
    shell.tmux.type_in("stty sane; fg");
    shell.tmux.keys(&["C-j"]);
    shell.tmux.wait_for("needs you (");
    shell.tmux.type_in("/talk");
    shell.tmux.wait_until("only the talker", |screen| !screen.contains("sleeper"));
    // The job that is shown in its place gives the terminal back, and both go on together.
    shell.tmux.keys(&["Enter", "Enter"]);
    shell.tmux.wait_until("the job alone", |screen| screen.starts_with("hello"));
    signal(&shell, Signal::TSTP);
    shell.tmux.wait_for("Stopped");
    shell.is_restored();
    shell.tmux.type_in("fg");
    shell.tmux.keys(&["Enter"]);
    shell.tmux.wait_until("the job again", |screen| !screen.contains(PROMPT));
    shell.tmux.type_in("more");
    shell.tmux.keys(&["Enter"]);
    shell.tmux.wait_for("got more");
    shell.tmux.keys(&["C-]", "d"]);
    shell.tmux.wait_for("stead view");
    shell.tmux.keys(&["C-c"]);
    shell.is_restored();
}

#[test]
fn a_view_that_is_killed_while_it_is_suspended_leaves_the_terminal_to_who_has_it() {
    let home = home();
    let shell = Shell::new(&home);
    write(&home.path("work/text"), &"a line of a page\n".repeat(100));
    let check = || {
        let view = shell.tmux.shell_child();
        let guard = ProcId::of(children(view)[0]).unwrap();
        signal(&shell, Signal::TSTP);
        shell.tmux.wait_for("Stopped");
        shell.is_restored();
        shell.tmux.type_in("less text");
        shell.tmux.keys(&["Enter"]);
        shell.tmux.wait_until("the pager", |screen| screen.starts_with("a line of a page"));
        let (modes, stty) = (shell.tmux.modes(), shell.tmux.stty());
        assert!(modes.contains("alternate_on=1"));
        kill_process(Pid::from_raw(i32::try_from(view).unwrap()).unwrap(), Signal::KILL).unwrap();
        gone(&guard);
        assert_eq!((shell.tmux.modes(), shell.tmux.stty()), (modes, stty));
        shell.tmux.keys(&["q"]);
        shell.is_restored();
        shell.tmux.line("clear", PROMPT);
        shell.tmux.line("echo be''fore", PROMPT);
    };
    opened(&shell.tmux);
    check();
    // Also one that has had the terminal again in between, and the screen of one session.
    opened(&shell.tmux);
    shell.tmux.type_in("/talk");
    shell.tmux.wait_until("only the talker", |screen| !screen.contains("sleeper"));
    shell.tmux.keys(&["Enter", "Enter"]);
    shell.tmux.wait_until("the job alone", |screen| screen.starts_with("hello"));
    shell.tmux.keys(&["C-]", "d"]);
    shell.tmux.wait_for("stead view");
    check();
    shell.attach("look");
    shell.tmux.wait_for("I look first.");
    check();
}

#[test]
fn whatever_shows_a_job_or_hides_a_key_gives_the_terminal_back_while_it_is_suspended() {
    let home = Home::new();
    let shell = Shell::new(&home);
    let script = "printf '\\033[?1000h\\033[?25lmouse on'; read x";
    home.stead(&["bg", "--name", "mouse", "--", "sh", "-c", script]).with(0);
    let screen = home.stead(&["logs", "mouse"]).with(0).out;
    assert!(screen.contains("mouse on"), "{screen}");
    let check = |command: &str, seen: &str, leave: &str| {
        shell.tmux.type_in(&format!("clear; echo be''fore; \"$STEAD\" {command}"));
        shell.tmux.keys(&["Enter"]);
        shell.tmux.wait_for(seen);
        signal(&shell, Signal::TSTP);
        shell.tmux.wait_for("Stopped");
        shell.is_restored();
        shell.tmux.type_in("clear; echo be''fore; fg");
        shell.tmux.keys(&["Enter"]);
        shell.tmux.wait_for(seen);
        shell.tmux.keys(&[leave]);
        shell.is_restored();
    };
    check("logs -f mouse", "mouse on", "C-c");
    home.stead(&["send", "mouse", "x"]).with(0);
    home.stead(&["wait", "mouse", "--timeout", "60"]).with(0);
    let slow = "echo first; sleep 1; echo last";
    home.stead(&["bg", "--name", "slow", "--", "sh", "-c", slow]).with(0);
    home.stead(&["wait", "slow", "--timeout", "60"]).with(0);
    check("logs --replay --speed 0.02 slow", "first", "q");
    check("secrets set play", "it is not shown", "C-c");
}

#[test]
fn a_view_that_is_killed_leaves_the_terminal_as_it_was() {
    let home = home();
    let shell = Shell::new(&home);
    opened(&shell.tmux);
    killed(&shell, 1);
    // What it shows in its place goes with it, and both have a guard.
    opened(&shell.tmux);
    shell.tmux.type_in("/talk");
    shell.tmux.wait_until("only the talker", |screen| !screen.contains("sleeper"));
    shell.tmux.keys(&["Enter", "Enter"]);
    shell.tmux.wait_until("the job alone", |screen| screen.starts_with("hello"));
    killed(&shell, 2);
    shell.attach("look");
    shell.tmux.wait_for("I look first.");
    killed(&shell, 1);
    assert_eq!(rows(&home).len(), 3);
}

#[test]
fn a_session_has_a_screen_of_its_own() {
    let home = home();
    let tmux = Tmux::new(&home);
    let before = (tmux.stty(), tmux.modes());
    tmux.type_in("\"$STEAD\" attach look");
    tmux.keys(&["Enter"]);
    tmux.wait_for("I look first.");
    tmux.keys(&["a"]);
    tmux.wait_for("look around asks");
    tmux.keys(&["N"]);
    tmux.type_in("not now");
    tmux.keys(&["Enter"]);
    tmux.wait_for("refused: not now");
    tmux.wait_for("I saw");
    tmux.wait_for(" · done");
    tmux.keys(&["a"]);
    tmux.wait_for("say to look around:");
    tmux.type_in("more");
    tmux.keys(&["Enter"]);
    tmux.wait_for("> more");
    tmux.wait_for("There is no more.");
    tmux.keys(&["Escape"]);
    given_back(&tmux, &before);
}

#[test]
fn what_is_no_terminal_is_refused_with_a_hint() {
    let home = Home::new();
    let told = home.stead(&["view"]).with(1).err;
    assert!(told.contains("stead ls"), "{told}");
    let tmux = Tmux::new(&home);
    tmux.line("TERM=dumb \"$STEAD\" view", PROMPT);
    tmux.wait_for("TERM names none");
    let quiet = tmux.modes();
    tmux.type_in("NO_COLOR=1 \"$STEAD\" view");
    tmux.keys(&["Enter"]);
    tmux.wait_for("nothing runs");
    let colored = tmux.tmux(&["capture-pane", "-p", "-e"]);
    // 39 and 49 are the terminal's own.
    let colored = colored.replace("[39m", "").replace("[49m", "");
    assert!(!colored.contains("[3") && !colored.contains("[4"), "{colored:?}");
    tmux.keys(&["q"]);
    tmux.wait_for_modes(&quiet);
}
