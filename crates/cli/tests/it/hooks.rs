//! Reports from inside jobs, and the hooks that make them.

#![expect(
    clippy::disallowed_methods,
    reason = "makes and looks at the files of agents, as a person would"
)]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use pty::{
    ask::ask,
    frame::Kind,
    hello::{Control, Reply},
};
use serde_json::{Value, json};
use vocab::limits::{HOOK_EVENT_BYTES_MAX, HOOKS_FILE_BYTES_MAX};

use crate::{
    home::{Home, read, write},
    host::{Client, Host, ready},
};

/// Says why the job is as it is.
fn explained(host: &Host) -> Value {
    let reply = ask(host.files.socket(), &Control::Explain).unwrap();
    let Reply::Explained(explanation) = reply else { panic!("{reply:?}") };
    serde_json::to_value(explanation).unwrap()
}

#[test]
fn a_program_reports_how_it_is() {
    let home = Home::new();
    let stead = home.command(&[]).get_program().to_str().unwrap().to_owned();
    let hook = |event: &str| format!("echo '{event}' | {stead} report --from-hook claude-code");
    let script = format!(
        "{stead} report blocked -m 'may I?' --seq 5 --source me; echo one; read x; \
         {}; echo two; read x; {}; echo three; read x; \
         {stead} report --from-hook codex '{{\"type\":\"agent-turn-complete\"}}'; echo four; read x",
        hook("{\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"x\"}"),
        hook("{\"hook_event_name\":\"PermissionRequest\",\"tool_name\":\"Bash\"}"),
    );
    let host = ready(&home, &script);
    let mut client = Client::of(&host, "attach");
    let mut after = |mark: &str| {
        client.wait(Kind::Data, mark);
        let told = explained(&host);
        client.send(Kind::Control, &json!({"op": "send", "text": "\r"}));
        told
    };
    let told = after("one");
    assert_eq!((&told["state"], &told["waiting_for"]), (&json!("blocked"), &json!("may I?")));
    assert_eq!((&told["source"], &told["detail"]), (&json!("report"), &json!("me reported it")));
    assert_eq!(after("two")["state"], "working");
    let told = after("three");
    assert_eq!(told["waiting_for"], "a permission for Bash");
    let told = after("four");
    assert_eq!((&told["state"], &told["status"]), (&json!("done"), &json!("idle")));
    assert_eq!(told["detail"], "codex reported it");
}

#[test]
fn outside_a_job_a_person_is_told_and_an_agent_is_not_disturbed() {
    let home = Home::new();
    let failed = home.stead(&["report", "done"]).with(1);
    assert!(
        failed.err.contains("not_in_a_job") && failed.err.contains("stead bg"),
        "{}",
        failed.err
    );
    home.stead(&["report", "dancing"]).with(2);
    home.stead(&["report"]).with(2);
    for words in [
        &["report", "--from-hook", "claude-code"][..],
        &["report", "--from-hook", "codex", "{}"],
        &["report", "--from-hook", "nobody"],
        &["report", "--from-hook"],
    ] {
        let ended = home.stead_with(words, "no JSON at all").with(0);
        assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", ""), "{words:?}");
    }
    // A job whose host is gone disturbs nobody either.
    let mut gone =
        home.command(&["report", "--from-hook", "codex", "{\"type\":\"agent-turn-complete\"}"]);
    let ended =
        gone.env("STEAD_JOB_SOCK", "/nowhere").env("STEAD_JOB_TOKEN", "x").output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty() && ended.stdout.is_empty());
    let mut gone = home.command(&["report", "done"]);
    let ended =
        gone.env("STEAD_JOB_SOCK", "/nowhere").env("STEAD_JOB_TOKEN", "x").output().unwrap();
    assert!(String::from_utf8(ended.stderr).unwrap().contains("host_gone"));
}

#[test]
fn a_hook_reads_all_that_it_is_told_and_says_nothing() {
    let home = Home::new();
    let event = |n_bytes: u64| {
        let head = "{\"hook_event_name\":\"Stop\",\"tool_input\":\"";
        let padding = usize::try_from(n_bytes).unwrap() - head.len() - 2;
        format!("{head}{}\"}}", "x".repeat(padding))
    };
    for n_bytes in [HOOK_EVENT_BYTES_MAX, HOOK_EVENT_BYTES_MAX + 1_000_000] {
        // A reader that left early would make the writer fail.
        let ended =
            home.stead_with(&["report", "--from-hook", "claude-code"], &event(n_bytes)).with(0);
        assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", ""));
    }
}

#[test]
fn hooks_are_shown_first_and_written_when_asked_for() {
    let home = Home::new();
    let config = home.path("user/.claude/settings.json");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    write(&config, "{\n    \"model\": \"opus\"\n}\n");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o640)).unwrap();
    let status = |expected: &str| {
        let found = home.stead(&["hooks", "status", "--json"]).with(0);
        let found: Value = serde_json::from_str(&found.out).unwrap();
        assert_eq!(
            (&found[0]["agent"], &found[0]["status"]),
            (&json!("claude-code"), &json!(expected))
        );
        assert_eq!((&found[1]["agent"], &found[1]["status"]), (&json!("codex"), &json!("absent")));
    };
    status("absent");
    let shown = home.stead(&["hooks", "install", "claude-code"]).with(0);
    assert!(
        shown.out.contains("\n+    \"hooks\": {\n") && shown.err.contains("--write"),
        "{}",
        shown.out
    );
    assert_eq!(read(&config), "{\n    \"model\": \"opus\"\n}\n");
    home.stead(&["hooks", "install", "claude-code", "--write"]).with(0);
    status("installed");
    assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o640);
    let again = home.stead(&["hooks", "install", "claude-code", "--write", "--json"]).with(0);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((&again["changed"], &again["written"]), (&json!(false), &json!(false)));
    home.stead(&["hooks", "remove", "claude-code"]).with(0);
    status("installed");
    home.stead(&["hooks", "remove", "claude-code", "--write"]).with(0);
    assert_eq!(read(&config), "{\n    \"model\": \"opus\"\n}\n");
    // Where there was nothing.
    let codex = home.path("user/.codex/config.toml");
    assert!(
        home.stead(&["hooks", "remove", "codex", "--write"])
            .with(0)
            .err
            .contains("nothing to change")
    );
    home.stead(&["hooks", "install", "codex", "--write"]).with(0);
    assert!(read(&codex).contains("\"--from-hook\", \"codex\"]"));
    let names: Vec<_> = fs::read_dir(codex.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

/// A name finds the next build as well; a path is taken only where the name means something else.
#[test]
fn hooks_call_the_program_by_its_name_where_that_finds_it() {
    let home = Home::new();
    let program = home.command(&[]).get_program().to_owned();
    let bin = home.path("bin");
    fs::create_dir(&bin).unwrap();
    let install = |agent: &str| {
        let mut command = home.command(&["hooks", "install", agent, "--write"]);
        let path = std::env::var("PATH").unwrap();
        let output = command.env("PATH", format!("{}:{path}", bin.display())).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let config = home.path("user/.codex/config.toml");
    // Another program of that name.
    fs::write(bin.join("stead"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(bin.join("stead"), fs::Permissions::from_mode(0o755)).unwrap();
    let told = install("codex");
    let path = fs::canonicalize(&program).unwrap();
    assert!(told.contains(&format!("these hooks call {}, since", path.display())), "{told}");
    assert!(read(&config).contains(path.to_str().unwrap()), "{}", read(&config));
    fs::remove_file(bin.join("stead")).unwrap();
    symlink(&program, bin.join("stead")).unwrap();
    let told = install("codex");
    assert!(!told.contains("attention"), "{told}");
    assert_eq!(read(&config), "notify = [\"stead\", \"report\", \"--from-hook\", \"codex\"]\n");
    install("claude-code");
    let settings = read(&home.path("user/.claude/settings.json"));
    assert!(settings.contains("|| 'stead' report --from-hook claude-code"), "{settings}");
}

#[test]
fn the_command_of_a_hook_does_nothing_outside_a_job() {
    let home = Home::new();
    home.stead(&["hooks", "install", "claude-code", "--write"]).with(0);
    let settings: Value =
        serde_json::from_str(&read(&home.path("user/.claude/settings.json"))).unwrap();
    let command = settings["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    let ended = home.shell(command).with(0);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", ""));
    let script = "echo '{\"hook_event_name\":\"Stop\"}' > event; sh -c \"$(cat hook)\" < event; echo on; read x";
    home.write("hook", command);
    let host = ready(&home, script);
    Client::of(&host, "attach").wait(Kind::Data, "on");
    assert_eq!(explained(&host)["detail"], "claude-code reported it");
}

#[test]
fn a_configuration_that_is_too_long_is_left_alone() {
    let home = Home::new();
    let path = home.work().join("settings.json");
    let check = |code: &str, exit: i32| {
        let words = ["hooks", "install", "claude-code", "--write", "--config", "settings.json"];
        let failed = home.stead(&words).with(exit);
        assert!(failed.err.contains(code), "{}", failed.err);
    };
    let long =
        format!("{{\"a\": \"{}\"}}", "x".repeat(usize::try_from(HOOKS_FILE_BYTES_MAX).unwrap()));
    for (text, code) in [
        (long.as_str(), "hooks_unusable"),
        ("{", "hooks_malformed"),
        ("// mine\n{}", "hooks_malformed"),
    ] {
        write(&path, text);
        check(code, 1);
        assert_eq!(read(&path), text);
    }
    fs::write(&path, b"\xff").unwrap();
    check("hooks_unusable", 1);
    fs::remove_file(&path).unwrap();
    symlink("nowhere", &path).unwrap();
    check("hooks_unusable", 1);
    // One that is kept elsewhere is changed there.
    write(&home.work().join("nowhere"), "{}");
    home.stead(&["hooks", "install", "claude-code", "--write", "--config", "settings.json"])
        .with(0);
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert!(read(&home.work().join("nowhere")).contains("SessionStart"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    check("hooks_unusable", 1);
}
