//! How a job says that it is, and how that is told.

use super::*;
use crate::hello::{Control, Reply, Said, Token};

const TOKEN: &str = "token-of-the-job";

/// Waits until a follower is told of a state.
#[track_caller]
fn wait_until(client: &mut Client, state: &str, source: &str) -> Value {
    loop {
        let told = client.wait(Kind::State);
        if told["state"] == state && told["state_source"] == source {
            return told;
        }
    }
}

fn follower(job: &Job) -> Client {
    job.client(json!({"role": "control", "features": ["states"]}))
}

/// A job whose command is known as an agent's: a link to a shell under that name.
fn agent(name: &str, script: &str, rules: Option<&str>) -> Job {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join(name);
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    let words = [program.to_str().unwrap(), "-c", script].map(str::to_owned);
    let job = Job::prepared(
        |record| record.command = words.to_vec(),
        |files| {
            if let Some(rules) = rules {
                stdx::state_file::publish(&files.rules(), rules.as_bytes()).unwrap();
            }
        },
    );
    let job = job.unwrap_or_else(|failure| panic!("{failure:?}"));
    // The program runs, and needs its name no more.
    drop(dir);
    job
}

#[test]
fn a_report_is_told_to_everyone_who_follows() {
    let mut job = Job::sh("echo on; read x");
    let mut follower = follower(&job);
    assert_eq!(follower.wait(Kind::State)["state"], "working");
    let mut inside = job.control();
    let report = |state: &str, seq: u64| {
        json!({"op": "report", "state": state, "seq": seq, "message": "run `ls`?", "source": "hook",
               "token": TOKEN})
    };
    assert_eq!(inside.ask(&report("blocked", 1)), json!({"ok": true}));
    let told = wait_until(&mut follower, "blocked", "report");
    assert_eq!(told["waiting_for"], "run `ls`?");
    assert_eq!(inside.ask(&report("working", 0)), json!({"ok": true}));
    assert_eq!(inside.ask(&report("done", 2)), json!({"ok": true}));
    let told = wait_until(&mut follower, "done", "report");
    assert_eq!((&told["status"], &told["waiting_for"]), (&json!("idle"), &Value::Null));
    let explained = inside.ask(&json!({"op": "explain"}));
    assert_eq!((&explained["state"], &explained["source"]), (&json!("done"), &json!("report")));
    assert_eq!((&explained["late_reports"], &explained["confidence"]), (&json!(1), &json!("high")));
    assert!(explained["weighed"].as_array().unwrap().iter().any(|it| it["outcome"] == "decides"));
    // The process has the last word.
    inside.ask(&json!({"op": "send", "text": "\r"}));
    wait_until(&mut follower, "done", "process");
    assert_eq!(job.end().code, Some(0));
}

#[test]
fn only_who_knows_the_token_may_report() {
    let job = Job::sh("cat");
    let mut client = job.control();
    for token in ["", "token-of-the-jox", "token-of-the-job ", "token"] {
        let asked = json!({"op": "report", "state": "done", "token": token});
        assert_eq!(client.ask(&asked)["error"]["code"], "forbidden", "{token}");
    }
    for bad in [
        json!({"op": "report", "state": "done"}),
        json!({"op": "report", "state": "dancing", "token": TOKEN}),
        json!({"op": "report", "state": "done", "token": TOKEN, "seq": -1}),
    ] {
        assert_eq!(client.ask(&bad)["error"]["code"], "frame_malformed", "{bad}");
    }
    assert_eq!(client.ask(&json!({"op": "explain"}))["state"], "working");
    let empty = Job::from(|record| {
        record.command = vec!["cat".into()];
        record.token = String::new();
    });
    let asked = json!({"op": "report", "state": "done", "token": ""});
    assert_eq!(empty.unwrap().control().ask(&asked)["error"]["code"], "forbidden");
}

#[test]
fn a_host_can_be_asked_for_one_thing() {
    let job = Job::sh("cat");
    let explained = crate::ask::ask(job.files.socket(), &Control::Explain).unwrap();
    let Reply::Explained(explained) = explained else { panic!("{explained:?}") };
    let text = explained.to_string();
    assert!(text.starts_with("working, as the process tells: the program runs\n"), "{text}");
    let token = Token("wrong".into());
    let report =
        Control::Report { state: Said::Done, message: None, seq: None, source: None, token };
    assert!(!format!("{report:?}").contains("wrong"));
    let Reply::Failed { error } = crate::ask::ask(job.files.socket(), &report).unwrap() else {
        panic!("a wrong token was taken");
    };
    assert_eq!(error.code, "forbidden");
}

#[test]
fn what_a_program_says_of_itself_is_told() {
    let say = |state: &str| format!("printf '\\033]7501;{state}\\007'; read x;");
    let script = format!(
        "{} {} {} exit 3",
        say("state=working"),
        say("state=blocked:kind=permission"),
        say("state=done")
    );
    let mut job = Job::sh(&script);
    let mut follower = follower(&job);
    let mut control = job.control();
    let go_on = json!({"op": "send", "text": "\r"});
    wait_until(&mut follower, "working", "signal");
    control.ask(&go_on);
    assert_eq!(wait_until(&mut follower, "blocked", "signal")["waiting_for"], "a permission");
    control.ask(&go_on);
    assert_eq!(wait_until(&mut follower, "done", "signal")["status"], "idle");
    control.ask(&go_on);
    wait_until(&mut follower, "failed", "process");
    assert_eq!(job.end().code, Some(3));
}

#[test]
fn an_agents_screen_and_title_are_read() {
    let script = "printf '\\033]2;\\342\\240\\202 x\\007'; read x; \
                  printf '\\033[2J\\033[HDo you want to go?\\r\\n\\342\\235\\257 1. Yes\\r\\nEsc to cancel'; \
                  read x";
    let job = agent("claude", script, None);
    let mut follower = follower(&job);
    wait_until(&mut follower, "working", "signal");
    let mut control = job.control();
    control.ask(&json!({"op": "send", "text": "\r"}));
    let told = wait_until(&mut follower, "blocked", "screen");
    assert_eq!(told["waiting_for"], "a permission");
    let explained = control.ask(&json!({"op": "explain"}));
    assert_eq!(explained["agent"], "claude");
}

#[test]
fn rules_that_were_written_for_a_job_are_used_and_bad_ones_are_told() {
    let own = "agent = \"pi\"\n[[screen]]\nname = \"mine\"\nsays = \"blocked\"\nwaiting_for = \"me\"\n\
               all = [{ in = \"bottom\", starts = \"mine\" }]\n";
    let job = agent("pi", "echo mine; read x", Some(own));
    let told = wait_until(&mut follower(&job), "blocked", "screen");
    assert_eq!(told["waiting_for"], "me");
    let job = agent("pi", "echo mine; read x", Some("agent ="));
    let explained = job.control().ask(&json!({"op": "explain"}));
    assert!(explained["rules_fault"].as_str().unwrap().contains("pi"), "{explained}");
    assert_eq!(explained["state"], "working");
}
