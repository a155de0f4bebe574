//! Sessions by the words that jobs are told by: one list, one way to name what stands in it.

use serde_json::json;

use super::*;

/// Answers with what was said; two words lead to a command, which asks first.
fn script() -> Value {
    let text = |text: &str| json!({"blocks": [{"type": "text", "text": text}]});
    let call =
        |command: &str| json!({"type": "call", "tool": "bash", "input": {"command": command}});
    let bash = |command: &str| json!({"blocks": [call(command)]});
    json!({
        "turns": [text("You said: {{user}}")],
        "stories": [
            {"when": "^ask$", "turns": [bash("echo asked"), text("It ran.")]},
            {"when": "^twice$", "turns": [
                {"blocks": [call("echo one"), call("echo two")]},
                text("Both ran."),
            ]},
            {"when": "^hold$", "turns": [bash("exec tail -f /dev/null"), text("It ended.")]},
        ],
    })
}

/// Starts a session's run under a name, and waits until it is done.
fn session(home: &Home, name: &str, prompt: &str) -> String {
    let told = home.stead(&["bg", "--json", "--name", name, prompt]).with(0).out;
    let row: Value = serde_json::from_str(&told).unwrap();
    home.stead(&["wait", row["id"].as_str().unwrap(), "--timeout", "60"]).with(0);
    row["id"].as_str().unwrap().to_owned()
}

/// Runs a command, and looks for words in all that it says.
#[track_caller]
fn check(home: &Home, args: &[&str], code: i32, words: &str) {
    let Ended { out, err, .. } = home.stead(args).with(code);
    let said = format!("{out}{err}");
    assert!(said.contains(words), "{args:?}: {said}");
}

#[test]
fn a_word_means_a_job_or_a_session_whichever_fits_better() {
    let home = Home::scripted(&script());
    let told = home.stead(&["bg", "--json", "--name", "build", "--", "sleep", "1000"]).with(0).out;
    let job: Value = serde_json::from_str(&told).unwrap();
    let job = job["id"].as_str().unwrap();
    let id = session(&home, "build it", "hello");
    let short = &id[id.len() - 8..];
    let (of_job, of_session) = ("as the process tells", "as its run is stored");
    for (text, words) in [
        (job, of_job),
        (&job[..7], of_job),
        ("build", of_job),
        (&id, of_session),
        (short, of_session),
        ("build it", of_session),
        ("ild IT", of_session),
        // A part of the name of one job goes before titles that hold it too.
        ("uil", of_job),
    ] {
        check(&home, &["explain", text], 0, words);
    }
    home.stead(&["bg", "--name", "rebuild", "--", "sleep", "1000"]).with(0);
    check(&home, &["explain", "uil"], 2, "several jobs and sessions match");
    check(&home, &["stop", "uil"], 2, &format!("{job}  job build\n"));
    check(&home, &["send", "uil", "x"], 2, &format!("{short}  session build it\n"));
    for verb in ["stop", "logs", "explain", "wait", "rm", "respawn", "pin"] {
        check(&home, &[verb, "nothing"], 3, "there is no job and no session \"nothing\"");
    }
}

#[test]
fn a_session_is_told_what_a_job_is_told() {
    let home = Home::scripted(&script());
    let id = session(&home, "totals", "add them up");
    let short = &id[id.len() - 8..];
    let check = |args: &[&str], code: i32, words: &str| check(&home, args, code, words);
    check(
        &["rename", "totals", "all", "sums"],
        0,
        &format!("renamed · session {short} · all sums\n"),
    );
    check(&["pin", "sums"], 0, &format!("pinned · session {short} · all sums\n"));
    assert_eq!(
        (&row(&home, &id)["pinned"], &row(&home, &id)["name"]),
        (&true.into(), &"all sums".into())
    );
    check(&["pin", "--off", "sums"], 0, "no longer pinned");
    check(&["logs", "sums"], 0, "You said: add them up");
    // Who meant a job sees that it is none.
    check(&["logs", "sums"], 0, &format!("session {short} · all sums\n"));
    check(&["logs", "-f", "sums"], 0, "You said: add them up");
    check(&["logs", "--json", "sums"], 0, "\"title\": \"all sums\"");
    for flags in [&["--replay"][..], &["--export", "txt"]] {
        check(&[&["logs", "sums"], flags].concat(), 2, "is_a_session");
    }
    check(
        &["explain", "sums"],
        0,
        "done, as its run is stored: its last run ended as the model was",
    );
    check(
        &["send", "all sums", "and", "again"],
        0,
        &format!("sent · session {short} · all sums\n"),
    );
    check(&["wait", "sums", "--timeout", "60"], 0, "done · ");
    check(&["logs", "sums"], 0, "You said: and again");
    // What asks is answered by the same word as keys are typed.
    check(&["send", "all sums", "ask"], 0, "sent");
    check(&["wait", "sums", "--until", "blocked", "--timeout", "60"], 0, "blocked · ");
    check(&["explain", "sums"], 0, "its run asks whether it may use bash");
    check(&["logs", "-f", "sums"], 0, "waits for an answer");
    check(&["send", "all sums", "perhaps"], 2, &format!("stead send {short} yes"));
    check(&["send", "all sums", "yes"], 0, &format!("allowed · session {short} · bash\n"));
    check(&["wait", "sums", "--timeout", "60"], 0, "done · ");
    check(&["logs", "sums"], 0, "It ran.");
    check(&["send", "all sums", "hold"], 0, "sent");
    check(&["wait", "sums", "--until", "blocked", "--timeout", "60"], 0, "blocked · ");
    check(&["send", "all sums", "yes"], 0, "allowed");
    check(&["send", "all sums", "more"], 1, &format!("stead stop {short}"));
    check(&["stop", "all sums"], 0, &format!("stopped · session {short} · all sums\n"));
    check(&["wait", "sums"], 1, "stopped · ");
    // What only a terminal has.
    for verb in ["respawn", "upgrade", "detach"] {
        check(&[verb, "all sums"], 2, "is a session, and only a job has a terminal (is_a_session)");
    }
    // Nobody can be asked here, and a title is too easily another one's.
    check(&["rm", "sums"], 2, "there is no terminal to ask at");
    check(&["rm", short], 0, "removed · session ");
    check(&["explain", &id], 3, "there is no job and no session");
}

#[test]
fn one_word_answers_one_question() {
    let home = Home::scripted(&script());
    let id = session(&home, "pair", "hello");
    let short = &id[id.len() - 8..];
    let check = |args: &[&str], code: i32, words: &str| check(&home, args, code, words);
    check(&["send", "pair", "twice"], 0, "sent");
    check(&["wait", "pair", "--until", "blocked", "--timeout", "60"], 0, "blocked · ");
    check(&["explain", "pair"], 0, "its run has 2 questions");
    for word in ["yes", "no"] {
        check(&["send", "pair", word], 2, "waits for 2 answers");
        check(&["send", "pair", word], 2, "bash: echo one\n");
        check(&["send", "pair", word], 2, &format!("stead run -s {short} asks each of them\n"));
    }
    check(&["explain", "pair"], 0, "its run has 2 questions");
    check(&["run", "-s", short, "--answer", "yes"], 0, "Both ran.");
}

#[test]
fn the_name_of_a_program_is_no_prompt_unless_that_is_said() {
    let home = Home::scripted(&script());
    let check = |args: &[&str], code: i32, words: &str| check(&home, args, code, words);
    for word in ["claude", "sh", "/bin/sh"] {
        check(&["bg", word], 2, &format!("hint: stead bg -- {word} starts the program\n"));
        check(&["bg", word], 2, &format!("hint: stead bg --prompt {word} asks a session\n"));
    }
    assert_eq!(home.stead(&["ls", "--json"]).with(0).out, "[]\n");
    check(&["bg", "--prompt", "sh"], 0, "backgrounded · ");
    check(&["bg", "claude", "fix", "it"], 0, "stead bg -- claude fix it\n");
    for prompt in [&["sh it all"][..], &["/etc"], &["no-such-program"]] {
        let told = home.stead(&[&["bg"], prompt].concat()).with(0);
        assert!(!told.err.contains("stead bg -- "), "{prompt:?}: {}", told.err);
    }
}
