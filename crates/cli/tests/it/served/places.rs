//! Workspaces with names: added, asked to work, attached, removed; and sessions that do not notice where they are.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};
use vocab::limits::SSH_WORDS_BYTES_MAX;

use super::{Served, TOKEN};
use crate::home::Home;

fn call(tool: &str, input: Value) -> Value {
    json!({"blocks": [{"type": "call", "tool": tool, "input": input}]})
}

/// All seven tools, with what goes wrong with them.
pub(super) fn story() -> Value {
    json!({"turns": [
        call("write", json!({"path": "d/a.txt", "content": "one\ntwo\nthree\n"})),
        call("read", json!({"path": "d/a.txt", "offset": 2})),
        call("edit", json!({"path": "d/a.txt", "edits": [{"oldText": "two", "newText": "2"}]})),
        call("edit", json!({"path": "d/a.txt", "edits": [{"oldText": "missing", "newText": ""}]})),
        call("ls", json!({"path": "."})),
        call("find", json!({"pattern": "**/*.txt"})),
        call("grep", json!({"pattern": "one|2", "path": "."})),
        call("read", json!({"path": "../outside"})),
        call("read", json!({"path": "/etc/passwd"})),
        call("bash", json!({"command": "cat d/a.txt; echo oops >&2; exit 3"})),
        call("bash", json!({"command": "seq 1 20000"})),
        call("bash", json!({"command": "kill -9 $$"})),
        call("bash", json!({"command": "sleep 1000", "timeout": 1})),
        {"blocks": [{"type": "text", "text": "done"}]},
    ]})
}

/// Makes a project that says something about itself, and something that does not count.
fn say(root: &Path) {
    for (path, content) in [
        ("AGENTS.md", "Say please."),
        (".agents/skills/ship/SKILL.md", "---\ndescription: Ships it.\n---\nShip.\n"),
        (".agents/skills/broken/SKILL.md", "no head"),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Runs the story, and returns what was told of it and what is stored.
pub(super) fn work_in(home: &Home, place: &[&str]) -> Vec<Value> {
    let mut args = vec!["run", "--mode", "auto", "--json"];
    args.extend(place);
    args.push("go");
    let mut lines = home.stead(&args).with(0).lines();
    let session = lines[0]["session_id"].as_str().unwrap().to_owned();
    // How a text is cut on its way is the clock's business.
    lines.retain(|line| {
        line["transient"] != true && !line["type"].as_str().unwrap().ends_with("-delta")
    });
    let shown = home.stead(&["sessions", "show", "--json", &session]).with(0);
    let mut shown: Value = serde_json::from_str(&shown.out).unwrap();
    lines.append(shown["messages"].as_array_mut().unwrap());
    lines
}

/// Replaces ids, times and what follows from them by the order of their first use.
pub(super) fn leveled(lines: &[Value], root: &str) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.to_string());
        text.push('\n');
    }
    let text = text.replace(root, "ROOT");
    let mut names: Vec<String> = Vec::new();
    let mut out = String::new();
    // An id is a word of a kind and 32 digits; a full output's address has two of 16 and more.
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    for word in text.split_inclusive(|c: char| !is_part(c)) {
        let core = word.trim_end_matches(|c: char| !is_part(c));
        let digits = core.rsplit('_').next().unwrap_or(core);
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if digits.len() >= 16 && is_hex(digits) {
            let known = names.iter().position(|name| name == core);
            let at = known.unwrap_or_else(|| {
                names.push(core.to_owned());
                names.len() - 1
            });
            out.push_str(&format!("<{at}>"));
            out.push_str(&word[core.len()..]);
        } else {
            out.push_str(word);
        }
    }
    out
}

/// Takes out what a clock says.
pub(super) fn timeless(mut lines: Vec<Value>) -> Vec<Value> {
    fn clean(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for name in [
                    "at",
                    "createdAt",
                    "created_at",
                    "updated_at",
                    "started_at",
                    "duration_ms",
                    "elapsed_ms",
                ] {
                    map.remove(name);
                }
                map.values_mut().for_each(clean);
            }
            Value::Array(items) => items.iter_mut().for_each(clean),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    lines.iter_mut().for_each(clean);
    lines
}

#[test]
fn sessions_do_not_notice_where_they_are() {
    let mut story = story();
    story["turns"][0]["expect"] = json!([
        {"in": "system", "contains": "Say please."},
        {"in": "system", "contains": "- ship: Ships it. (.agents/skills/ship/SKILL.md)"},
    ]);
    let home = Home::scripted(&story);
    for name in ["here", "far"] {
        say(&home.path("work").join(name));
    }
    let (here, far) = (home.path("work/here"), home.path("work/far"));
    let served =
        Served::start(&home, &["--root", far.to_str().unwrap(), "--allow-exec", "--allow-mounts"]);
    let added =
        home.command(&["workspace", "add", "far", "--remote", &served.address().to_string()]);
    let mut added = added;
    added.env("STEAD_REMOTE_TOKEN", TOKEN);
    let told = added.output().unwrap();
    assert!(told.status.success(), "{told:?}");
    let local = timeless(work_in(&home, &["-C", here.to_str().unwrap()]));
    let remote = timeless(work_in(&home, &["-w", "far"]));
    let root = |path: &Path| fs::canonicalize(path).unwrap().to_str().unwrap().to_owned();
    let (local, remote) = (leveled(&local, &root(&here)), leveled(&remote, &root(&far)));
    for (one, other) in local.lines().zip(remote.lines()) {
        assert_eq!(one, other);
    }
    assert_eq!(local.lines().count(), remote.lines().count());
    assert!(local.contains("stead-artifact://<"), "{local}");
    assert!(local.contains("not told to the model: .agents/skills/broken/SKILL.md"), "{local}");
    assert_eq!(fs::read_to_string(far.join("d/a.txt")).unwrap(), "one\n2\nthree\n");
}

#[test]
fn a_workspace_has_a_name_a_token_and_a_state() {
    let home = Home::scripted(&story());
    let served = Served::start(&home, &["--allow-exec"]);
    let address = served.address().to_string();
    let check = |args: &[&str], code: i32, expected: &str| {
        let ended = home.stead(args).with(code);
        assert!(ended.err.contains(expected), "{args:?}: {}", ended.err);
        assert!(!ended.err.contains(TOKEN) && !ended.out.contains(TOKEN));
    };
    check(&["workspace", "list"], 0, "stead workspace add");
    check(&["workspace", "add", "far", "--remote", &address], 1, "it wants a token");
    check(&["workspace", "list"], 0, "stead workspace add");
    for (url, expected) in [
        ("wss://u:secret@h", "no user name or password"),
        ("wss://h?token=secret", "no query"),
        ("wss://h/other", "served at /stead/workspace"),
        ("ws://10.0.0.1", "over TLS"),
        ("https://h", "wss://HOST"),
    ] {
        check(&["workspace", "add", "x", "--remote", url], 2, expected);
    }
    check(&["workspace", "add", "x"], 2, "--path");
    check(&["workspace", "add", "a/b", "--path", "."], 2, "letters, digits");
    let set = |token: &str, args: &[&str]| {
        let mut command = home.command(args);
        command.env("STEAD_REMOTE_TOKEN", token);
        let told = command.output().unwrap();
        (told.status.code(), String::from_utf8(told.stderr).unwrap())
    };
    let wrong = "x".repeat(40);
    let (code, told) = set(&wrong, &["workspace", "add", "far", "--remote", &address]);
    assert!(
        code == Some(1)
            && told.contains("the token is not the right one")
            && told.contains("STEAD_REMOTE_TOKEN"),
        "{told}"
    );
    let (code, told) = set(TOKEN, &["workspace", "add", "far", "--remote", &address]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("connected"), "{told}");
    check(&["workspace", "add", "far", "--path", "."], 1, "already");
    check(&["workspace", "add", "near", "--path", "."], 0, "near is");
    let rows = home.stead(&["workspace", "list", "--json"]).with(0);
    let rows: Value = serde_json::from_str(&rows.out).unwrap();
    assert_eq!(rows[0]["name"], "far");
    assert_eq!((&rows[0]["link"], &rows[0]["has_token"]), (&json!("connected"), &json!(true)));
    assert_eq!(
        (&rows[1]["place"]["kind"], &rows[1]["has_token"]),
        (&json!("local"), &json!(false))
    );
    // It outlives the daemon.
    home.stead(&["daemon", "stop"]).with(0);
    let listed = home.stead(&["workspace", "list"]).with(0).out;
    assert!(
        listed.contains("far") && listed.contains("not asked yet") && !listed.contains(TOKEN),
        "{listed}"
    );
    assert!(!work_in(&home, &["-w", "far"]).is_empty());
    assert!(home.stead(&["ls"]).with(0).out.contains("far:"));
    check(&["run", "-w", "gone", "go"], 3, "far, near");
    check(&["workspace", "attach", "far", &address], 1, "has its place for good");
    check(&["workspace", "rm", "far"], 0, "has no name any more");
    check(&["workspace", "rm", "far"], 3, "no workspace is named");
    assert!(!home.path("state/secrets/workspace~far").exists());
}

#[test]
fn a_runtime_is_attached_later_where_it_serves_what_was_expected() {
    let home = Home::scripted(&story());
    let root = fs::canonicalize(home.work()).unwrap().to_str().unwrap().to_owned();
    let check = |args: &[&str], code: i32, expected: &str| {
        let mut command = home.command(args);
        command.env("STEAD_REMOTE_TOKEN", TOKEN);
        let told = command.output().unwrap();
        let err = String::from_utf8(told.stderr).unwrap();
        assert!(told.status.code() == Some(code) && err.contains(expected), "{args:?}: {err}");
    };
    check(&["workspace", "add", "later", "--deferred", "--expect-root", &root], 0, "detached");
    check(&["run", "-w", "later", "go"], 1, "stead workspace attach later URL");
    fs::create_dir(home.path("work/other")).unwrap();
    let other = Served::start(&home, &["--root", "other", "--allow-exec"]);
    check(&["workspace", "attach", "later", &other.address().to_string()], 1, "other");
    check(&["workspace", "list"], 0, "");
    let served = Served::start(&home, &["--allow-exec"]);
    let address = served.address().to_string();
    check(&["workspace", "attach", "later", &address], 0, "connected");
    assert!(!work_in(&home, &["-w", "later"]).is_empty());
    check(&["workspace", "detach", "later"], 0, "detached");
    check(&["run", "-w", "later", "go"], 1, "no runtime is attached");
    check(&["workspace", "attach", "later", &address], 0, "connected");
}

#[test]
fn a_workspace_over_ssh_brings_the_program_along() {
    let home = Home::scripted(&story());
    let bin = home.path("bin");
    fs::create_dir(&bin).unwrap();
    fs::create_dir(home.path("there")).unwrap();
    // An ssh that goes nowhere: the command is the last word, and the home is another one.
    let script = format!(
        "#!/bin/sh\nfor last; do :; done\ncase \" $* \" in *' down '*) echo 'no route to host' >&2; exit 255;; *' loud '*) head -c 1000000 /dev/zero | tr '\\0' x; exit 1;; esac\n\
         echo \"$last\" >>{0}/asked\nHOME={0}/there exec sh -c \"$last\"\n",
        home.path("").display()
    );
    fs::write(bin.join("ssh"), script).unwrap();
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let root = fs::canonicalize(home.work()).unwrap().to_str().unwrap().to_owned();
    let stead = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("PATH", &path);
        let told = command.output().unwrap();
        (told.status.code(), String::from_utf8(told.stderr).unwrap())
    };
    let (code, told) = stead(&["workspace", "add", "lab", "--ssh", "loud", "--root", &root]);
    assert!(code == Some(1) && told.contains("xxx") && told.len() < SSH_WORDS_BYTES_MAX, "{told}");
    let (code, told) = stead(&["workspace", "add", "lab", "--ssh", "down", "--root", &root]);
    assert!(code == Some(1) && told.contains("no route to host"), "{told}");
    let (code, told) =
        stead(&["workspace", "add", "lab", "--ssh", "-oProxyCommand=x", "--root", &root]);
    assert!(code == Some(2), "{told}");
    let (code, told) =
        stead(&["workspace", "add", "lab", "--ssh", "lab", "--root", &root, "--allow-exec"]);
    assert_eq!(code, Some(0), "{told}");
    let asked = fs::read_to_string(home.path("asked")).unwrap();
    assert!(
        asked.contains("uname") && asked.contains("sha256sum") && asked.contains("--stdio"),
        "{asked}"
    );
    let copies = super::names(&home.path("there/.cache/stead/bin"));
    assert_eq!(copies.len(), 1);
    assert_eq!(super::names(&copies[0]), [copies[0].join("stead")]);
    fs::remove_file(home.path("asked")).unwrap();
    home.stead(&["daemon", "stop"]).with(0);
    let (code, told) = stead(&["run", "--mode", "auto", "-w", "lab", "go"]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(fs::read_to_string(home.path("work/d/a.txt")).unwrap(), "one\n2\nthree\n");
    assert!(!fs::read_to_string(home.path("asked")).unwrap().contains("sha256sum"), "it is there");
}
