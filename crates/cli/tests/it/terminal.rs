//! What a person at a terminal does: answer questions, also later, type a key, press Ctrl-C.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{
    home::{Home, read},
    pty::Terminal,
};

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const QUESTION: &str = "(n REASON): ";

fn asking() -> Home {
    let text = |text: &str| json!({"type": "text", "text": text});
    let bash =
        |command: &str| json!({"type": "call", "tool": "bash", "input": {"command": command}});
    Home::scripted(&json!({
        "turns": [
            {"blocks": [text("I look first."), bash("echo one; echo two")]},
            {"blocks": [text("I saw {{last}}.")]},
        ],
        "stories": [{"when": "^wait$", "turns": [{"blocks": [bash("echo started; exec tail -f /dev/null")]}]}],
    }))
}

fn on_terminal(home: &Home, args: &[&str]) -> Terminal {
    Terminal::run(home.command(args))
}

/// Leaves a run at its question and returns the short id that its hint names.
fn left_at_a_question(home: &Home) -> String {
    let mut terminal = on_terminal(home, &["run", "look"]);
    terminal.wait_for(QUESTION);
    terminal.type_in(CTRL_D);
    assert_eq!(terminal.end(), 4, "{}", terminal.seen);
    let hint = terminal.seen.split("answer it: stead run -s ").nth(1).unwrap();
    hint.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn a_question_takes_only_a_clear_answer() {
    let home = asking();
    let mut terminal = on_terminal(&home, &["run", "look"]);
    terminal.wait_for("echo one; echo two");
    terminal.wait_for(QUESTION);
    terminal.type_in("perhaps\n");
    terminal.wait_for(QUESTION);
    terminal.type_in("y\n");
    terminal.wait_for("I saw one");
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);

    let mut terminal = on_terminal(&home, &["run", "look"]);
    terminal.wait_for(QUESTION);
    terminal.type_in("n use the other one\n");
    terminal.wait_for("refused: use the other one");
    terminal.wait_for("I saw");
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
}

#[test]
fn a_run_that_was_left_at_its_question_is_answered_later() {
    let home = asking();
    let session = left_at_a_question(&home);
    let refused = home.stead(&["run", "-s", &session, "more"]).with(1);
    assert!(refused.err.contains(&format!("stead run -s {session}")), "{}", refused.err);
    for command in [&["sessions", "list"][..], &["sessions", "show", &session]] {
        let told = home.stead(command).with(0).err;
        assert!(told.contains(&format!("hint: answer it: stead run -s {session}")), "{told}");
    }
    home.stead(&["daemon", "stop"]).with(0);

    let mut terminal = on_terminal(&home, &["run", "-s", &session]);
    terminal.wait_for("echo one; echo two");
    terminal.wait_for(QUESTION);
    terminal.type_in("yes\n");
    terminal.wait_for("I saw one");
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
    assert!(!terminal.seen.contains("I look first"), "{}", terminal.seen);

    let mut terminal = on_terminal(&home, &["run", "-s", &session]);
    terminal.wait_for("nothing waits for an answer");
    assert_eq!(terminal.end(), 2, "{}", terminal.seen);
}

#[test]
fn a_script_answers_without_a_terminal() {
    let home = asking();
    let session = left_at_a_question(&home);
    let silent = home.stead(&["run", "-s", &session]).with(4);
    assert!(silent.err.contains("--answer yes|no"), "{}", silent.err);
    home.stead(&["run", "--answer", "yes"]).with(2);
    home.stead(&["run", "-s", &session, "--answer", "yes", "--reason", "why"]).with(2);
    let ended = home.stead(&["run", "-s", &session, "--answer", "yes"]).with(0);
    assert_eq!(ended.out, "I saw one\ntwo.\n");
    assert!(ended.err.contains("echo one; echo two"), "{}", ended.err);

    let session = left_at_a_question(&home);
    let refuse = ["run", "-s", &session, "--answer", "no", "--reason", "not now", "--json"];
    let lines = home.stead(&refuse).with(0).lines();
    let first = lines.first().unwrap();
    assert_eq!(first["type"], "stead-session");
    assert!(first["session_id"].as_str().unwrap().ends_with(&session), "{first}");
    assert!(lines.iter().any(|line| line.to_string().contains("not now")), "{lines:?}");
    let shown = home.stead(&["sessions", "show", &session]).with(0).out;
    assert!(shown.contains("refused: not now"), "{shown}");
    assert_eq!(lines.last().unwrap()["state"], "finished");
}

#[test]
fn a_deletion_is_asked_about_unless_it_is_agreed_to() {
    let home = asking();
    let session = left_at_a_question(&home);
    let mut terminal = on_terminal(&home, &["sessions", "rm", "look"]);
    terminal.wait_for(&session);
    terminal.wait_for("[y]es or [n]o: ");
    terminal.type_in("n\n");
    terminal.wait_for("nothing was deleted");
    assert_eq!(terminal.end(), 4, "{}", terminal.seen);
    home.stead(&["sessions", "show", &session]).with(0);

    let mut terminal = on_terminal(&home, &["sessions", "rm", "look"]);
    terminal.wait_for("[y]es or [n]o: ");
    terminal.type_in("y\n");
    terminal.wait_for("removed · session ");
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);

    left_at_a_question(&home);
    let mut terminal = on_terminal(&home, &["sessions", "rm", "--yes", "look"]);
    terminal.wait_for("removed · session ");
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
}

#[test]
fn a_key_that_is_typed_is_not_shown() {
    let home = Home::new();
    let mut terminal = on_terminal(&home, &["secrets", "set", "openai"]);
    terminal.wait_for("(it is not shown): ");
    assert!(!terminal.echoes());
    terminal.type_in("sk-typed-0123\n");
    terminal.wait_for("is stored");
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
    assert!(terminal.echoes() && !terminal.seen.contains("sk-typed"), "{}", terminal.seen);
    home.stead(&["secrets", "has", "openai"]).with(0);

    let mut terminal = on_terminal(&home, &["secrets", "set", "groq"]);
    terminal.wait_for("(it is not shown): ");
    terminal.type_in("sk-half");
    terminal.type_in(CTRL_C);
    assert_eq!(terminal.end(), 130, "{}", terminal.seen);
    assert!(terminal.echoes() && !terminal.seen.contains("sk-half"), "{}", terminal.seen);
    home.stead(&["secrets", "has", "groq"]).with(3);
}

#[test]
fn an_interrupt_stops_the_run() {
    let home = asking();
    let mut terminal = on_terminal(&home, &["run", "--mode", "auto", "wait"]);
    terminal.wait_for("started");
    terminal.wait_for("started");
    terminal.type_in(CTRL_C);
    terminal.wait_for("stead: stopped");
    assert_eq!(terminal.end(), 130, "{}", terminal.seen);

    let mut terminal = on_terminal(&home, &["run", "look"]);
    terminal.wait_for(QUESTION);
    terminal.type_in(CTRL_C);
    terminal.wait_for("stead: stopped");
    assert_eq!(terminal.end(), 130, "{}", terminal.seen);
}

/// A daemon that is held still, and let go again also by a test that fails.
struct Held(Pid);

impl Held {
    fn of(home: &Home) -> Self {
        let registration: Value =
            serde_json::from_str(&read(&home.path("state/daemon.json"))).unwrap();
        let pid = i32::try_from(registration["pid"].as_i64().unwrap()).unwrap();
        let pid = Pid::from_raw(pid).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        Self(pid)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        kill_process(self.0, Signal::CONT).unwrap();
    }
}

#[test]
fn a_second_interrupt_leaves_a_run_that_does_not_stop() {
    let home = asking();
    let mut terminal = on_terminal(&home, &["run", "--mode", "auto", "wait"]);
    terminal.wait_for("started");
    terminal.wait_for("started");
    let held = Held::of(&home);
    terminal.type_in(CTRL_C);
    terminal.wait_for("once more leaves it");
    terminal.type_in(CTRL_C);
    terminal.wait_for("left while the run was being stopped");
    terminal.wait_for("go on: stead run -s ");
    assert_eq!(terminal.end(), 130, "{}", terminal.seen);
    drop(held);
}
