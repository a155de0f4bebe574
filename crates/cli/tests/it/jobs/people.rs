//! Who a process of a job is to the daemon: a person's or an agent's, also after the daemon has gone and
//! come again. Real processes ask.

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::*;
use crate::home::read;

/// The name of the test that is no test.
const ASKER: &str = "jobs::people::asker";

/// Not a test by itself: a process that asks the daemon what it may, and writes the answers where it was
/// told to.
#[test]
#[ignore = "runs as a process of other tests"]
fn asker() {
    let told = |name: &str| std::env::var(name).unwrap();
    let mut stream = UnixStream::connect(told("ASK_SOCKET")).unwrap();
    stream.write_all(told("ASK_LINES").as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    // Renamed into place, so that whoever waits for the file finds all of it.
    let path = told("ASK_ANSWERS");
    fs::write(format!("{path}.new"), said).unwrap();
    fs::rename(format!("{path}.new"), path).unwrap();
}

/// What processes were taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Person,
    Agent,
}

/// A home with a job of a person's that nobody else may touch, and what asks about it.
struct Scene {
    home: Home,
    other: String,
}

impl Scene {
    fn new() -> Self {
        let home = Home::new();
        let other = bg(&home, "sleep 1000");
        Self { home, other }
    }

    /// Returns a line of a shell that asks, and the file with the answers.
    fn asking(&self, name: &str) -> (String, PathBuf) {
        let answers = self.home.path(name);
        let lines = [
            json!({"id": "touch", "op": "pin", "args": {"id": self.other}}),
            json!({"id": "answer", "op": "answer", "args": {
                "session_id": "nobody", "block_id": "b", "approved": true}}),
            json!({"id": "keys", "op": "secret_rm", "args": {"provider_id": "none"}}),
        ];
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        (self.saying(&format!("'{lines}'"), &answers), answers)
    }

    /// Returns a line of a shell that says lines, which are a word of that shell. It needs no terminal.
    fn saying(&self, lines: &str, answers: &Path) -> String {
        let program = std::env::current_exe().unwrap();
        format!(
            "ASK_SOCKET='{}' ASK_LINES={lines} ASK_ANSWERS='{}' '{}' --ignored --exact {ASKER} >/dev/null",
            self.home.path("run/daemon.sock").display(),
            answers.display(),
            program.display(),
        )
    }

    /// Starts a command in the background, as a person does.
    fn start(&self, command: &[&str]) -> String {
        let args = [&["bg", "--json", "--"], command].concat();
        let told = self.home.stead(&args).with(0).out;
        let row: Value = serde_json::from_str(&told).unwrap();
        row["id"].as_str().unwrap().to_owned()
    }

    /// Writes a script with a name of its own, and returns its path.
    fn script(&self, name: &str, text: &str) -> String {
        let path = self.home.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Kills the daemon; the next command starts another.
    fn restart(&self) {
        let old = daemon(&self.home);
        kill(&old);
        self.home.stead(&["ls"]).with(0);
        assert_ne!(daemon(&self.home), old);
    }
}

/// Waits for the answers, and tells whose they are.
#[track_caller]
fn taken(answers: &Path) -> Taken {
    while !answers.exists() {
        std::thread::yield_now();
    }
    let said = read(answers);
    let mut codes: Vec<(String, String)> = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|told| {
            let text = |value: &Value| value.as_str().unwrap_or("ok").to_owned();
            (text(&told["id"]), text(&told["error"]["code"]))
        })
        .collect();
    codes.sort();
    let codes: Vec<&str> = codes.iter().map(|(_, code)| code.as_str()).collect();
    match codes[..] {
        ["session_not_found", "ok", "ok"] => Taken::Person,
        ["person_required", "person_required", "person_required"] => Taken::Agent,
        _ => panic!("{said}"),
    }
}

/// Each asks when it is typed to, before the daemon is killed and after; also from a process that has left
/// its terminal and its parents.
#[test]
fn a_shell_in_a_job_is_a_persons_and_what_an_agent_starts_is_not() {
    let scene = Scene::new();
    let asks = |name: &str| {
        let (first, before) = scene.asking(&format!("{name}.1"));
        let (left, meanwhile) = scene.asking(&format!("{name}.2"));
        let (last, after) = scene.asking(&format!("{name}.3"));
        // A shell between, as agents have one, and one that leaves at once.
        let script =
            format!("read x; ({first}; :); ( ({left}) & ) ; read x; ({last}; :); sleep 1000");
        (script, [before, meanwhile, after])
    };
    let (shell, by_person) = asks("shell");
    let shell = scene.start(&["sh", "-c", &shell]);
    let (agent, by_agent) = asks("agent");
    let agent = scene.start(&[&scene.script("claude", &agent)]);
    let ask = |which: usize| {
        assert_eq!(taken(&by_person[which]), Taken::Person, "{which}");
        assert_eq!(taken(&by_agent[which]), Taken::Agent, "{which}");
    };
    for job in [&shell, &agent] {
        scene.home.stead(&["send", job, "go"]).with(0);
    }
    ask(0);
    ask(1);
    scene.restart();
    for job in [&shell, &agent] {
        scene.home.stead(&["send", job, "go"]).with(0);
    }
    ask(2);
    // A person may touch both.
    scene.home.stead(&["stop", &shell, &agent]).with(0);
}

#[test]
fn a_job_that_an_agent_has_asked_for_is_an_agents_and_agents_may_end_it() {
    let scene = Scene::new();
    let (inner, answers) = scene.asking("inner");
    let (early, stopped) = (scene.home.path("early"), scene.home.path("stopped"));
    let wish = json!({"command": ["sh", "-c", format!("{inner}; sleep 1000")], "cwd": "/", "name": "inner",
        "env": {"PATH": std::env::var("PATH").unwrap()}});
    let lines = format!("{}\n", json!({"id": 1, "op": "dispatch", "args": wish}));
    fs::write(scene.home.path("lines"), lines).unwrap();
    let lines = format!("\"$(cat '{}')\"", scene.home.path("lines").display());
    let first = scene.saying(&lines, &early);
    let stop = r#"'{"id":2,"op":"stop","args":{"id":"inner"}}'"#;
    let script = format!("{first}; read x; {}; sleep 1000", scene.saying(stop, &stopped));
    let agent = scene.start(&[&scene.script("codex", &script)]);
    assert_eq!(taken(&answers), Taken::Agent);
    scene.home.stead(&["send", &agent, "go"]).with(0);
    while !stopped.exists() {
        std::thread::yield_now();
    }
    let told: Value = serde_json::from_str(read(&stopped).trim()).unwrap();
    assert_eq!(told["result"]["state"], "stopped", "{told}");
}

/// A person's agent is not for other agents to type into.
#[test]
fn an_agent_touches_no_agent_that_a_person_has_started() {
    let scene = Scene::new();
    let idle = scene.start(&[&scene.script("aider", "sleep 1000")]);
    let scene = Scene { other: idle, ..scene };
    let (line, answers) = scene.asking("answers");
    scene.start(&[&scene.script("gemini", &format!("{line}; sleep 1000"))]);
    assert_eq!(taken(&answers), Taken::Agent);
    let (line, answers) = scene.asking("person");
    scene.start(&["sh", "-c", &format!("{line}; sleep 1000")]);
    assert_eq!(taken(&answers), Taken::Person);
}

/// What a job has left behind is known by the job's token, and without any environment by nothing: then it
/// is an agent as long as it descends from the daemon.
#[test]
fn what_a_job_has_left_behind_is_known_by_its_environment() {
    let scene = Scene::new();
    let check = |kind: &str, expected: [Taken; 2]| {
        let (marked, first) = scene.asking(&format!("{kind}.marked"));
        let (bare, second) = scene.asking(&format!("{kind}.bare"));
        // They ask once their program and its host have gone, and their terminal with them.
        let gone = scene.home.path(&format!("{kind}.gone"));
        let wait = format!("while ! test -e {}; do sleep 0.01; done", gone.display());
        let bare = scene.script(&format!("{kind}.script"), &format!("{wait}; {bare}"));
        let path = std::env::var("PATH").unwrap();
        let script = format!(
            "trap '' HUP; ( setsid sh -c '{wait}; . \"$0\"' '{}' & ); ( env -i PATH='{path}' setsid '{bare}' & )",
            scene.script(&format!("{kind}.line"), &marked),
        );
        let job = scene.start(&[&scene.script(kind, &script)]);
        scene.home.stead(&["wait", &job, "--timeout", "60"]).with(0);
        let host =
            note(&scene.home, &job)["hostPid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        while host.and_then(ProcId::of).is_some() {
            std::thread::yield_now();
        }
        fs::write(gone, "").unwrap();
        assert_eq!([taken(&first), taken(&second)], expected, "{kind}");
    };
    check("shell", [Taken::Person, Taken::Agent]);
    check("opencode", [Taken::Agent, Taken::Agent]);
}
