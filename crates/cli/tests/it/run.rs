//! `stead run`: prompts, JSON lines, sessions that go on, exit codes, pipes and Ctrl-C.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::home::Home;

/// Answers with the last user message, unless a story fits.
fn echo() -> Value {
    let text = |text: &str| json!({"type": "text", "text": text});
    let bash =
        |command: &str| json!({"type": "call", "tool": "bash", "input": {"command": command}});
    json!({
        "turns": [{"blocks": [text("You said: {{user}}\n")]}],
        "stories": [
            {"when": "^tool$", "turns": [{"blocks": [bash("echo one; echo two")]}, {"blocks": [text("{{last:two}}!")]}]},
            {"when": "^fail$", "turns": [{"blocks": [text("I try.")], "fail": {"code": "overloaded_now", "message": "no room"}}]},
            {"when": "^wait$", "turns": [{"blocks": [bash("echo started; exec tail -f /dev/null")]}]},
            {"when": "^long$", "turns": [{"blocks": [text(&"word \n".repeat(20_000))]}]},
        ],
    })
}

#[test]
fn a_prompt_is_answered_on_stdout_and_told_about_on_stderr() {
    let home = Home::scripted(&echo());
    let ended = home.stead(&["run", "hello", "you"]).with(0);
    assert_eq!(ended.out, "You said: hello you\n");
    assert!(
        ended.err.contains("s/m · ") && ended.err.contains("go on: stead run -s "),
        "{}",
        ended.err
    );
    let piped = home.stead_with(&["run", "why?"], "a line\n").with(0);
    assert_eq!(piped.out, "You said: why?\n\n```\na line\n```\n");
    assert_eq!(home.stead_with(&["run", "-"], "only this").with(0).out, "You said: only this\n");
    home.write("note.txt", "in a file\n");
    let filed = home.stead(&["run", "-f", "note.txt", "see"]).with(0);
    assert!(filed.out.contains("note.txt:\n\n```\nin a file\n```"), "{}", filed.out);
    assert!(home.stead(&["run"]).with(2).err.contains("there is no prompt"));
    assert!(home.stead(&["run", "-f", "missing", "x"]).with(3).err.contains("missing"));
}

#[test]
fn json_lines_are_whole_and_alone() {
    let home = Home::scripted(&echo());
    let lines = home.stead(&["run", "--mode", "auto", "--json", "tool"]).with(0).lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[1]), ("stead-session", "start"), "{kinds:?}");
    for kind in ["tool-input-available", "tool-output-available", "text-delta", "finish"] {
        assert!(kinds.contains(&kind), "{kind} is missing: {kinds:?}");
    }
    let end = lines.last().unwrap();
    assert_eq!((&end["type"], &end["state"]), (&json!("stead-end"), &json!("finished")));
    assert_eq!(end["session_id"], lines[0]["session_id"]);

    let shown =
        home.stead(&["sessions", "show", "--json", end["session_id"].as_str().unwrap()]).with(0);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!((&shown["model"], shown["messages"].as_array().unwrap().len()), (&json!("s/m"), 2));
}

#[test]
fn a_session_goes_on_by_a_part_of_its_name() {
    let home = Home::scripted(&echo());
    home.stead(&["run", "first of all"]).with(0);
    home.stead(&["run", "first again"]).with(0);
    assert_eq!(home.stead(&["run", "-s", "of all", "more"]).with(0).out, "You said: more\n");
    let unclear = home.stead(&["run", "-s", "first", "more"]).with(2);
    assert!(
        unclear.err.contains("ambiguous") && unclear.err.contains("first again"),
        "{}",
        unclear.err
    );
    home.stead(&["run", "-s", "nothing", "more"]).with(3);

    let rows: Value =
        serde_json::from_str(&home.stead(&["sessions", "list", "--json"]).with(0).out).unwrap();
    let titles: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["first of all", "first again"]);
    assert_eq!(rows[0]["messages"], 4);
    // A title is too easily another one's where nobody can be asked.
    let by_title = home.stead(&["sessions", "rm", "of all"]).with(2);
    let hint = by_title.err.split("stead sessions rm ").nth(1).unwrap();
    let short = hint.split(' ').next().unwrap().to_owned();
    home.stead(&["sessions", "rm", &short, "first"]).with(2);
    home.stead(&["sessions", "show", "of all"]).with(0);
    home.stead(&["sessions", "rm", &short]).with(0);
    home.stead(&["sessions", "show", "of all"]).with(3);
    home.stead(&["sessions", "rm", "first again"]).with(0);
    home.stead(&["run", "one more"]).with(0);
    home.stead(&["rm", "-y", "ne mor"]).with(0);
    let none = home.stead(&["sessions", "list", "-q", "of all"]).with(0).err;
    assert!(none.contains("no sessions whose title holds \"of all\""), "{none}");
}

#[test]
fn a_failure_says_its_code() {
    let home = Home::scripted(&echo());
    let ended = home.stead(&["run", "fail"]).with(1);
    assert_eq!(ended.out, "I try.\n");
    assert!(ended.err.contains("no room (overloaded_now)"), "{}", ended.err);
    let unknown = home.stead(&["run", "-m", "nobody/x", "hello"]).with(1);
    assert!(unknown.err.contains("provider_unknown"), "{}", unknown.err);
}

#[test]
fn a_session_is_told_no_other_place() {
    let home = Home::scripted(&echo());
    home.stead(&["run", "hello"]).with(0);
    for place in [["-C", "/nonexistent"], ["-w", "nowhere"]] {
        let refused = home.stead(&["run", "-s", "hello", place[0], place[1], "more"]).with(2);
        assert!(refused.err.contains("a session works where it began"), "{}", refused.err);
    }
}

#[test]
fn a_mode_that_is_kept_is_named_in_the_last_line() {
    let home = Home::scripted(&echo());
    let usual = home.stead(&["run", "hello"]).with(0).err;
    assert!(!usual.contains("mode "), "{usual}");
    home.stead(&["run", "-s", "hello", "--mode", "auto", "more"]).with(0);
    let kept = home.stead(&["run", "-s", "hello", "again"]).with(0).err;
    assert!(kept.contains("s/m · mode auto · "), "{kept}");
}

#[test]
fn a_failure_is_told_before_the_last_line() {
    let home = Home::scripted(&echo());
    let told = home.stead(&["run", "fail"]).with(1).err;
    let at = |text: &str| told.find(text).unwrap_or_else(|| panic!("{text}: {told}"));
    assert!(at("overloaded_now") < at("go on: stead run"), "{told}");
}

#[test]
fn nobody_is_asked_where_nobody_is() {
    let home = Home::scripted(&echo());
    let ended = home.stead(&["run", "tool"]);
    // The refusal goes to the model; this script cannot do without the result and fails.
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.err.contains("approval_required"), "{}", ended.err);
    assert!(ended.err.contains("⎿ bash runs programs, which a person must allow"), "{}", ended.err);
    let told = "1 call was refused, since nobody could be asked; --mode auto allows it";
    assert!(ended.err.contains(told), "{}", ended.err);
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let home = Home::scripted(&echo());
    let mut child = home.command(&["run", "long"]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    drop(stdout);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap()),
        (Some(0), String::new())
    );
}

#[test]
fn the_first_interrupt_stops_the_run_and_waits_for_its_end() {
    let home = Home::scripted(&echo());
    let mut child =
        home.command(&["run", "--mode", "auto", "wait"]).stdout(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("● bash") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended before it called the tool");
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("stopped"), "{rest}");
    let rows: Value =
        serde_json::from_str(&home.stead(&["sessions", "list", "--json"]).with(0).out).unwrap();
    assert_eq!(rows[0]["state"], "aborted");
}

/// What the page for newcomers shows is typed as it stands there.
#[test]
fn a_script_of_the_readme_plays_without_a_key() {
    let readme = include_str!("../../../../README.md");
    let block = readme.split("```sh\n").find(|block| block.contains("script.json")).unwrap();
    let typed = block.split("```").next().unwrap();
    let home = Home::new();
    home.write("a-file.txt", "");
    let line =
        format!("STEAD=$0; stead() {{ \"$STEAD\" \"$@\"; }}; unset STEAD_CONFIG; set -e\n{typed}");
    let ended = home.shell(&line).with(0);
    assert!(ended.out.contains("You asked: what is here?\n\nI found:\n"), "{}", ended.out);
    assert!(ended.out.contains("a-file.txt"), "{}", ended.out);
    assert!(ended.out.ends_with("Hello!\n"), "{}", ended.out);
}
