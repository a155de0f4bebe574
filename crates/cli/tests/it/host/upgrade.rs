//! A host that becomes another build while its program runs, and one whose socket was removed.

#![expect(clippy::disallowed_methods, reason = "another build of the program is made of this one")]

use std::{
    io::Write as _,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use pty::record::{Reader, What};
use rustix::process::{Pid, Signal, kill_process};
use vocab::limits::{HOST_ANSWER_MS_MAX, HOST_PROBE_MS_MAX};

use super::*;

/// Makes another build: the same program with some bytes at its end, which nobody reads.
fn another_build(home: &Home, name: &str) -> PathBuf {
    let path = home.path(name);
    std::fs::copy(home.command(&[]).get_program(), &path).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(name.as_bytes()).unwrap();
    path
}

/// Lets the host become a build, and checks that it did, within the same process.
#[track_caller]
fn upgrade(host: &Host, client: &mut Client, path: &Path) {
    client.send(Kind::Control, &json!({"op": "upgrade", "path": path}));
    assert_eq!(client.wait(Kind::Reply, "}"), r#"{"ok":true}"#);
    let exe = std::fs::read_link(format!("/proc/{}/exe", host.child.id())).unwrap();
    assert_eq!(exe, path);
}

#[test]
fn every_byte_arrives_once_while_a_host_becomes_another_build() {
    const N_LINES: usize = 200_000;
    let home = Home::new();
    let script = format!(
        "trap 'echo SIGNAL' HUP INT TERM USR1 USR2 CONT WINCH; stty -echo; read x; i=0; \
         while [ $i -lt {N_LINES} ]; do echo line-$i; i=$((i+1)); done; read y; echo got:$y; exit 5"
    );
    let mut host = ready(&home, &script);
    let builds = ["one", "two", "three"].map(|name| another_build(&home, name));
    let (mut tail, mut control) = (Client::of(&host, "tail"), Client::of(&host, "control"));
    tail.wait(Kind::State, "}");
    let before = control.status();
    control.send(Kind::Control, &json!({"op": "send", "text": "\n"}));
    control.wait(Kind::Reply, "}");
    let (mut seen, mut n_amid) = (String::new(), 0);
    for (n, build) in builds.iter().cycle().take(6).enumerate() {
        seen += &tail.wait(Kind::Data, &format!("line-{}", n * 100));
        n_amid += usize::from(!seen.contains(&format!("line-{}\r", N_LINES - 1)));
        upgrade(&host, &mut control, build);
    }
    assert_ne!(n_amid, 0, "the program was too fast");
    seen += &tail.wait(Kind::Data, &format!("line-{}\r\n", N_LINES - 1));
    let lines: String = (0..N_LINES).map(|n| format!("line-{n}\r\n")).collect();
    assert!(seen == lines, "{} bytes instead of {}", seen.len(), lines.len());
    let after = control.status();
    for same in ["workerPid", "hostPid", "alive", "attached", "cols", "rows", "recording"] {
        assert_eq!(before[same], after[same], "{same}");
    }
    // It is still the program's parent, and hears how it ends.
    control.send(Kind::Control, &json!({"op": "send", "text": "abc\n"}));
    tail.wait(Kind::Data, "got:abc\r\n");
    tail.wait(Kind::Exit, "\"code\":5");
    assert_eq!(host.child.wait().unwrap().code(), Some(0));
    assert_eq!(host.files.read_exit().unwrap().unwrap().code, Some(5));
    assert!(!host.files.socket().exists());
    let mut reader = Reader::open(&host.files).unwrap().unwrap();
    let (mut recorded, mut n_marks) = (String::new(), 0);
    while let Some(event) = reader.read().unwrap() {
        match event.what {
            What::Output(bytes) => recorded += &String::from_utf8(bytes).unwrap(),
            What::Marker(text) => {
                assert!(text.contains("went on"), "{text}");
                n_marks += 1;
            }
            What::Gap { .. } => panic!("something was not recorded"),
            What::Keyframe(_) | What::Size { .. } | What::Exit(_) => {}
        }
    }
    assert!(recorded == lines + "got:abc\r\n", "{} bytes", recorded.len());
    assert_eq!(n_marks, 6);
}

#[test]
fn the_screen_and_its_modes_are_the_same_after_it() {
    let home = Home::new();
    let draw = "seq 300; printf '\\033]2;title\\007\\033[?1049h\\033[?2004h\\033[?1000h\\033[>1u\\033[3;5H\
                \\033[1;31mmenu\\033[2 q'; read x";
    let host = ready(&home, draw);
    let mut control = Client::of(&host, "control");
    let snapshot = |host: &Host| {
        let mut view = Client::of(host, "view");
        let told: Value = serde_json::from_str(&view.wait(Kind::Resync, "}")).unwrap();
        let n_bytes = usize::try_from(told["bytes"].as_u64().unwrap()).unwrap();
        let mut seen = String::new();
        while seen.len() < n_bytes {
            seen += &view.wait(Kind::Data, "");
        }
        seen
    };
    while !control_text(&mut control).contains("menu") {}
    let before = snapshot(&host);
    assert!(before.contains("299") && before.contains("menu") && before.contains("title"));
    upgrade(&host, &mut control, &another_build(&home, "other"));
    assert_eq!(snapshot(&host), before);
}

fn control_text(control: &mut Client) -> String {
    control.send(Kind::Control, &json!({"op": "snapshot"}));
    control.wait(Kind::Reply, "}")
}

#[test]
fn clients_stay_and_what_they_were_saying_is_heard() {
    let home = Home::new();
    let mut host = ready(&home, "stty -echo; echo on; read x; read y; echo got:$x:$y");
    let mut client = Client::of(&host, "attach");
    client.wait(Kind::Data, "on");
    // An upgrade, and behind it in one piece a word and half of the next frame.
    let path = another_build(&home, "other");
    let asked =
        frame::encode(Kind::Control, json!({"op": "upgrade", "path": path}).to_string().as_bytes());
    let (word, next) = (frame::encode(Kind::Data, b"one\r"), frame::encode(Kind::Data, b"two\r"));
    let (half, rest) = next.split_at(7);
    client.0.write_all(&[&asked[..], &word, half].concat()).unwrap();
    client.wait(Kind::Reply, r#"{"ok":true}"#);
    client.0.write_all(rest).unwrap();
    client.wait(Kind::Data, "got:one:two");
    client.wait(Kind::Exit, "\"code\":0");
    assert_eq!(host.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_program_that_is_no_host_is_not_become() {
    // Whoever asks still hears that it was refused.
    const { assert!(HOST_PROBE_MS_MAX < HOST_ANSWER_MS_MAX) };
    let home = Home::new();
    let mut host = ready(&home, "read x; echo got:$x");
    let mut control = Client::of(&host, "control");
    home.write("script", "#!/bin/sh\necho resumes 1\n");
    let script = home.work().join("script");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    // One says nothing of the kind, one talks without an end, one is read by another program.
    for path in [Path::new("/usr/bin/env"), Path::new("/usr/bin/yes"), &script] {
        control.send(Kind::Control, &json!({"op": "upgrade", "path": path}));
        let reply = control.wait(Kind::Reply, "}");
        assert!(reply.contains("upgrade_refused"), "{}: {reply}", path.display());
    }
    control.send(Kind::Control, &json!({"op": "send", "text": "abc\n"}));
    control.wait(Kind::Exit, "\"code\":0");
    assert_eq!(host.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_socket_that_was_removed_comes_back_when_it_is_asked_for() {
    let home = Home::new();
    let mut host = ready(&home, "echo on; read x");
    let mut before = Client::of(&host, "attach");
    before.wait(Kind::Data, "on");
    let mut found = |host: &Host| {
        // Nothing tells when a signal was heard but what it does.
        while UnixStream::connect(host.files.socket()).is_err() {
            before.status();
        }
        Client::of(host, "view").wait(Kind::Data, "on");
    };
    std::fs::remove_dir_all(home.path("run")).unwrap();
    kill_process(Pid::from_child(&host.child), Signal::USR1).unwrap();
    found(&host);
    // Another build looks by itself.
    std::fs::remove_dir_all(home.path("run")).unwrap();
    upgrade(&host, &mut before, &another_build(&home, "other"));
    let mut after = Client::of(&host, "view");
    after.wait(Kind::Data, "on");
    before.0.write_all(&frame::encode(Kind::Data, b"\r")).unwrap();
    after.wait(Kind::Exit, "\"code\":0");
    assert_eq!(host.child.wait().unwrap().code(), Some(0));
    assert!(!host.files.socket().exists());
}
