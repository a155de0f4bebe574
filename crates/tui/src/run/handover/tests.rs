//! The program that shows a job: what it says, and that it holds nobody up.

#![expect(clippy::disallowed_methods, reason = "starts programs that fail or do not end")]

use super::*;
use rustix::process::{getpid, kill_process};
use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

#[test]
fn what_could_not_be_shown_says_why() {
    let check = |line: &str, expected: Result<(), &str>| {
        let mut program = Command::new("sh");
        program.args(["-c", line]).stdin(Stdio::null()).stderr(Stdio::piped());
        let told = ended(program.spawn().unwrap());
        assert_eq!(told, expected.map_err(str::to_owned), "{line}");
    };
    check("echo detached >&2", Ok(()));
    check("echo 'stead: it has ended' >&2; echo more >&2; exit 1", Err("it has ended"));
    check("exit 3", Err("the job could not be shown: exit status: 3"));
    let long = "x".repeat(usize::try_from(VIEW_ERROR_BYTES_MAX).unwrap());
    check(&format!("printf {long} >&2; exit 1"), Err(&long));
}

#[tokio::test]
async fn what_shows_a_job_and_neither_stops_nor_ends_is_killed() {
    let mut signals = Signals::new().unwrap();
    let mut program = Command::new("sh");
    program.args(["-c", "trap '' TSTP TERM; echo ready; exec sleep 1000"]);
    let mut child = program.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut shown = Shown::new(child).unwrap();
    let signal = |signal| kill_process(getpid(), signal).unwrap();
    signal(Signal::TSTP);
    assert_eq!(shown.turn(&mut signals).await, None);
    assert!(shown.stopping.is_some());
    // It is held up, and this process still hears what it is told.
    signal(Signal::HUP);
    let asked = Instant::now();
    assert_eq!(shown.turn(&mut signals).await, None);
    let Ending::Asked(killed_at) = shown.ending else { panic!("{:?}", shown.ending) };
    assert!(asked + Duration::from_millis(VIEW_SHOWN_END_MS_MAX) <= killed_at);
    let result = loop {
        if let Some(result) = shown.turn(&mut signals).await {
            break result;
        }
    };
    assert_eq!(shown.ending, Ending::Killed);
    assert!(result.unwrap_err().contains("signal: 9"));
}
