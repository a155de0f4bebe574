//! The edges of the loop: its queue, and the program that shows a job.

#![expect(clippy::disallowed_methods, reason = "starts a program that says why it fails")]

use super::*;
use std::process::{Command as Program, Stdio};

#[test]
fn what_is_told_waits_in_a_bounded_queue() {
    let (sender, _told) = queue();
    assert_eq!(sender.max_capacity(), VIEW_TOLD_MAX);
    for _ in 0..VIEW_TOLD_MAX {
        sender.try_send(Msg::Paste(String::new())).unwrap();
    }
    assert!(sender.try_send(Msg::Paste(String::new())).is_err());
}

#[test]
fn what_could_not_be_shown_says_why() {
    let check = |line: &str, expected: Result<(), &str>| {
        let mut program = Program::new("sh");
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
async fn a_view_without_a_terminal_is_refused() {
    let setup = Setup {
        client: Client::new(api::client::Address::Socket("/nowhere".into())),
        ground: Ground::default(),
        home: None,
        has_colors: false,
        attach: |_| Err(io::ErrorKind::Unsupported.into()),
    };
    if !io::IsTerminal::is_terminal(&io::stdin()) {
        let refused = run(setup, Wanted::default()).await.unwrap_err();
        assert_eq!(refused.code, "not_a_terminal");
    }
}
