//! Somebody else where the daemon should be: each kind has an error of its own, and none is taken for a
//! daemon.

#![expect(clippy::disallowed_methods, reason = "writes the registration of a home")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::JoinHandle,
};

use api::{
    daemon::{Registration, Welcome},
    routes::PROTOCOL,
};
use vocab::limits::CLIENT_RECONNECTS_MAX;

use crate::rig::{Home, home};

/// A server that answers each connection with some bytes, or with none.
struct Stranger {
    path: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl Stranger {
    /// Gives every request the same answer.
    fn answering(path: PathBuf, answer: Option<String>) -> Self {
        Self::choosing(path, move |_| answer.clone())
    }

    /// Chooses an answer by the head of the request.
    fn choosing(path: PathBuf, choose: impl Fn(&str) -> Option<String> + Send + 'static) -> Self {
        let listener = UnixListener::bind(&path).unwrap();
        let thread = std::thread::spawn(move || {
            let mut held = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let head = read_request(&stream).unwrap_or_default();
                if head.starts_with("END") {
                    return;
                }
                match choose(&head) {
                    Some(answer) => drop(stream.write_all(answer.as_bytes())),
                    // It stays silent and never hangs up.
                    None => held.push(stream),
                }
            }
        });
        Self { path, thread: Some(thread) }
    }
}

/// Reads a request to the end of its body, so that closing afterwards is not a reset.
fn read_request(stream: &UnixStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap_or(0);
        }
        head.push_str(&line);
        if line.trim().is_empty() || line.starts_with("END") {
            break;
        }
    }
    reader.take(length).read_to_end(&mut Vec::new()).ok()?;
    Some(head)
}

impl Drop for Stranger {
    fn drop(&mut self) {
        if let Ok(mut stream) = UnixStream::connect(&self.path) {
            stream.write_all(b"END\n").ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Makes a home whose registration names `socket`, as if a daemon had been there.
fn misled(socket: &Path) -> Home {
    let home = home();
    assert!(home.serve().unwrap().terminate().0.success());
    register(&home, socket);
    home
}

fn register(home: &Home, socket: &Path) {
    let registration = Registration {
        id: "art_00000000000070008000000000000000".into(),
        version: "0.0.1".into(),
        url: "http://127.0.0.1:9".into(),
        socket: socket.display().to_string(),
        pid: std::process::id(),
        protocol: PROTOCOL,
    };
    let text = serde_json::to_string(&registration).unwrap();
    testkit::home::private(&home.state().join("daemon.json"), &text);
}

fn json_answer(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn welcome(protocol: u32) -> String {
    let welcome = Welcome {
        protocol,
        version: "7.7.7".into(),
        id: "art_00000000000070008000000000000000".into(),
        supports: vec![],
        notices: vec![],
    };
    json_answer(&serde_json::to_string(&welcome).unwrap())
}

fn refused(home: &Home, code: &str, words: &str) {
    for args in [
        &["sessions", "list"][..],
        &["daemon", "start"],
        &["daemon", "status"],
        &["daemon", "stop"],
    ] {
        let end = home.run(args);
        let said = String::from_utf8_lossy(&end.stderr).into_owned();
        assert_eq!(end.status.code(), Some(5), "{args:?}: {said}");
        assert!(said.contains(code) && said.contains(words), "{args:?}: {said}");
        assert!(said.contains("hint: "), "{args:?} says no way out: {said}");
    }
}

#[test]
fn a_foreign_server_is_named_and_left_alone() {
    let html = "HTTP/1.1 200 OK\r\ncontent-length: 13\r\nconnection: close\r\n\r\n<html></html>"
        .to_owned();
    let missing =
        "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno".to_owned();
    for answer in [html, missing, json_answer("{}")] {
        let dir = tempfile::tempdir().unwrap();
        let stranger = Stranger::answering(dir.path().join("other.sock"), Some(answer));
        let home = misled(&stranger.path);
        refused(&home, "foreign_process", "no stead daemon");
        // The way out that the hint names.
        fs::remove_file(home.state().join("daemon.json")).unwrap();
        assert!(home.run(&["daemon", "start"]).status.success());
    }
}

#[test]
fn what_speaks_no_http_there_is_no_daemon_and_a_new_one_starts() {
    for answer in ["", "hello, what do you want?\r\n", "SSH-2.0-OpenSSH_9.9\r\n"] {
        let dir = tempfile::tempdir().unwrap();
        let stranger = Stranger::answering(dir.path().join("other.sock"), Some(answer.into()));
        let home = misled(&stranger.path);
        let end = home.run(&["sessions", "list", "--json"]);
        assert!(end.status.success(), "{answer:?}: {end:?}");
    }
}

#[test]
fn what_never_answers_is_given_up_on() {
    let dir = tempfile::tempdir().unwrap();
    let stranger = Stranger::answering(dir.path().join("other.sock"), None);
    let home = misled(&stranger.path);
    let end = home.run(&["sessions", "list"]);
    let said = String::from_utf8_lossy(&end.stderr);
    assert_eq!(end.status.code(), Some(5), "{said}");
    assert!(said.contains("daemon_unreachable") && said.contains("does not answer"), "{said}");
    assert!(said.contains("hint: end the process"), "{said}");
}

#[test]
fn the_daemon_of_another_home_is_not_taken_for_our_own() {
    let (ours, other) = (home(), home());
    let _daemon = other.serve().unwrap();
    assert!(ours.serve().unwrap().terminate().0.success());
    register(&ours, &other.runtime().join("daemon.sock"));
    refused(&ours, "foreign_process", "another process answers");
}

#[test]
fn a_daemon_of_another_protocol_is_told_apart_in_both_directions() {
    for (protocol, way_out) in
        [(PROTOCOL + 1, "use the newer program"), (0, "stop the older daemon")]
    {
        let answer = welcome(protocol);
        let dir = tempfile::tempdir().unwrap();
        let stranger = Stranger::answering(dir.path().join("other.sock"), Some(answer));
        let home = misled(&stranger.path);
        refused(&home, "protocol_mismatch", way_out);
        refused(&home, "protocol_mismatch", "7.7.7");
    }
}

#[test]
fn a_conversation_whose_answer_breaks_off_is_not_shown() {
    let detail = serde_json::json!({
        "id": "ses_00000000000070008000000000000000", "title": "a title", "workspace": "w", "cwd": "/w",
        "mode": "auto", "state": "idle", "messages": 2, "usage": {}, "created_at": "", "updated_at": "",
        "run": null,
    });
    let message = r#"{"id":"msg_1","role":"user","parts":[],"metadata":{}}"#;
    let begun = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x}\r\n[{message}\r\n",
        message.len() + 1
    );
    let dir = tempfile::tempdir().unwrap();
    let stranger = Stranger::choosing(dir.path().join("other.sock"), move |head| {
        Some(match head.split(' ').nth(1).unwrap_or_default() {
            "/handshake" => welcome(PROTOCOL),
            path if path.ends_with("/messages") => begun.clone(),
            _ => json_answer(&detail.to_string()),
        })
    });
    let home = misled(&stranger.path);
    for args in [&["sessions", "show", "a title"][..], &["sessions", "show", "a title", "--json"]] {
        let end = home.run(args);
        let said = String::from_utf8_lossy(&end.stderr).into_owned();
        assert_eq!((end.status.code(), end.stdout.len()), (Some(1), 0), "{said}");
        assert!(said.contains("broke off before its end (connection_broken)"), "{said}");
        assert!(!said.contains("nobody can tell"), "nothing could have changed: {said}");
    }
}

/// A daemon that tells of a job: what its stream of events says before it breaks, and how the job is once it
/// was looked at so often. Returns how often the stream was asked for.
fn telling(events: &str, n_looks: usize) -> (tempfile::TempDir, Stranger, Home, Arc<AtomicUsize>) {
    let row = |state: &str| {
        serde_json::json!({
            "id": "0123abcd", "kind": "job", "name": "n", "cwd": "/", "command": ["sh"], "state": state,
            "status": null, "state_source": "process", "waiting_for": null, "pid": 1, "pinned": false,
            "started_at": "2023-11-14T22:13:20.000Z", "ended_at": null, "session": null,
            "session_file": null, "worktree": null, "env_names": [],
            "exit": null,
        })
        .to_string()
    };
    let stream = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}"
    );
    let dir = tempfile::tempdir().unwrap();
    let n_streams = Arc::new(AtomicUsize::new(0));
    let (asked, looked) = (Arc::clone(&n_streams), AtomicUsize::new(0));
    let stranger = Stranger::choosing(dir.path().join("other.sock"), move |head| {
        Some(match head.split(' ').nth(1).unwrap_or_default() {
            "/handshake" => welcome(PROTOCOL),
            "/events" => {
                asked.fetch_add(1, Relaxed);
                stream.clone()
            }
            _ if looked.fetch_add(1, Relaxed) < n_looks => json_answer(&row("working")),
            _ => json_answer(&row("done")),
        })
    });
    let home = misled(&stranger.path);
    (dir, stranger, home, n_streams)
}

#[test]
fn who_waits_looks_again_though_nothing_was_told() {
    let (_dir, _stranger, home, n_streams) = telling("retry: 1000\nid: c.1\n\n:\n\n", 1);
    let end = home.run(&["wait", "0123abcd", "--timeout", "60"]);
    assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
    assert_eq!(n_streams.load(Relaxed), 1);
}

#[test]
fn who_waits_gives_up_a_stream_that_breaks_each_time() {
    let (_dir, _stranger, home, n_streams) = telling("retry: 1000\nid: c.1\n\n", usize::MAX);
    let end = home.run(&["wait", "0123abcd", "--timeout", "60"]);
    let said = String::from_utf8_lossy(&end.stderr).into_owned();
    assert_eq!(end.status.code(), Some(1), "{said}");
    assert!(said.contains("connection_broken"), "{said}");
    assert_eq!(n_streams.load(Relaxed), usize::try_from(CLIENT_RECONNECTS_MAX).unwrap() + 1);
}

#[test]
fn who_stops_what_does_not_end_in_time_is_told_so() {
    let (_dir, _stranger, home, _n_streams) = telling("", usize::MAX);
    let end = home.run(&["stop", "0123abcd"]);
    let said = String::from_utf8_lossy(&end.stderr).into_owned();
    assert_eq!(end.status.code(), Some(1), "{said}");
    assert!(said.starts_with("working · 0123abcd"), "{said}");
    assert!(said.contains("has not yet (still_ending)"), "{said}");
}
