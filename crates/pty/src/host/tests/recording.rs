//! What a real host records.

#![expect(clippy::disallowed_methods, reason = "a test damages the files that it made")]

use super::*;
use crate::record::{self, Reader, What};

/// Returns the output that was recorded.
fn recorded(job: &Job) -> Vec<u8> {
    let Some(mut reader) = Reader::open(&job.files).unwrap() else { return Vec::new() };
    let mut output = Vec::new();
    while let Some(event) = reader.read().unwrap() {
        if let What::Output(bytes) = event.what {
            output.extend(bytes);
        }
    }
    output
}

#[test]
fn a_host_records_the_programs_own_bytes_and_its_end() {
    let mut job = Job::sh("read x; i=0; while [ $i -lt 3000 ]; do echo line-$i; i=$((i+1)); done");
    let mut typist = job.attach();
    typist.type_in("\r");
    assert_eq!(job.end().code, Some(0));
    let lines: String = (0..3000).map(|n| format!("line-{n}\r\n")).collect();
    let output = String::from_utf8(recorded(&job)).unwrap();
    assert!(output.ends_with(&lines), "{} bytes", output.len());
    let mut reader = Reader::open(&job.files).unwrap().unwrap();
    let last = std::iter::from_fn(|| reader.read().unwrap()).last().unwrap();
    assert!(matches!(last.what, What::Exit(exit) if exit.code == Some(0)));
    assert_eq!(record::recover(&job.files).unwrap(), job.screen());
    let mode = std::os::unix::fs::PermissionsExt::mode;
    let private = |path: &std::path::Path| mode(&path.metadata().unwrap().permissions()) & 0o777;
    let dir = job.files.recording();
    assert_eq!(private(&dir), 0o700);
    assert_eq!(private(&dir.join("00000001.rec")), 0o600);
}

#[test]
fn what_is_typed_and_not_shown_is_not_recorded() {
    let mut job = Job::sh("stty -echo; echo ready; read x; stty echo; echo done");
    let mut client = job.attach();
    client.wait_for("ready");
    client.type_in("correct horse\r");
    client.wait_for("done");
    assert_eq!(job.end().code, Some(0));
    let output = String::from_utf8(recorded(&job)).unwrap();
    assert!(output.contains("ready") && !output.contains("horse"), "{output:?}");
}

#[test]
fn a_recording_can_be_read_while_the_job_runs() {
    let mut job = Job::sh("echo hello; read x");
    job.attach().wait_for("hello");
    let mut control = job.control();
    assert_eq!(control.ask(&json!({"op": "flush"})), json!({"ok": true}));
    assert_eq!(recorded(&job), b"hello\r\n");
    assert_eq!(control.ask(&json!({"op": "status"}))["recording"], json!({"state": "on"}));
    control.ask(&json!({"op": "send", "text": "\r"}));
    job.end();
}

#[test]
fn a_job_that_is_not_to_be_recorded_is_not() {
    let job = Job::from(|record| {
        record.command = ["sh", "-c", "echo secret; read x"].map(str::to_owned).to_vec();
        record.record = false;
    });
    let mut job = job.unwrap();
    job.attach().wait_for("secret");
    let mut control = job.control();
    assert_eq!(control.ask(&json!({"op": "status"}))["recording"], json!({"state": "off"}));
    control.ask(&json!({"op": "send", "text": "\r"}));
    job.end();
    assert!(!job.files.recording().exists());
    assert!(!job.files.screen().exists());
}

#[test]
fn a_recording_that_cannot_be_written_holds_nothing_up() {
    let mut job = Job::sh("read x; echo one; read x; echo two");
    // One that gives no size, so that nothing was to be recorded yet.
    let mut client = job.client(json!({"role": "tail"}));
    client.wait(Kind::State);
    // Where the directory should be stands a file.
    std::fs::write(job.files.recording(), "in the way").unwrap();
    let mut control = job.control();
    control.ask(&json!({"op": "send", "text": "\r"}));
    client.wait_for("one");
    let status = control.ask(&json!({"op": "status"}));
    assert_eq!(status["recording"]["state"], "paused", "{status}");
    assert!(!status["recording"]["why"].as_str().unwrap().is_empty());
    control.ask(&json!({"op": "send", "text": "\r"}));
    client.wait_for("two");
    assert_eq!(job.end().code, Some(0));
}
