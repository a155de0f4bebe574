//! Exit codes and the one place where a failure is printed.

use std::process::ExitCode;

use vocab::outcome::{Effect, Failure};

use crate::print::clean::clean;

/// Ended as asked.
pub(crate) const OK: u8 = 0;
/// Failed.
pub(crate) const FAILED: u8 = 1;
/// The words of the command are off, or mean several things.
pub(crate) const USAGE: u8 = 2;
/// There is no such thing.
pub(crate) const NOT_FOUND: u8 = 3;
/// A rule or a person refused.
pub(crate) const REFUSED: u8 = 4;
/// No daemon answers.
pub(crate) const UNREACHABLE: u8 = 5;
/// What was waited for has not come in time: `wait` alone, as timeout(1) has it.
pub(crate) const TIMED_OUT: u8 = 124;
/// Stopped by Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// Returns the exit code that a failure's code stands for.
pub(crate) fn code_of(code: &str) -> u8 {
    match code {
        "usage" | "ambiguous" | "invalid_field" | "unknown_field" | "config_invalid"
        | "is_a_session" | "token_invalid" | "address_invalid" | "lsp_config" => USAGE,
        "not_found"
        | "job_not_found"
        | "not_recorded"
        | "session_not_found"
        | "workspace_not_found"
        | "no_live_run"
        | "unknown_block"
        | "program_missing"
        | "file_unusable"
        | "shell_missing"
        | "cwd_missing" => NOT_FOUND,
        "person_required" | "approval_required" | "denied" | "forbidden" | "locked"
        | "job_refused" | "unauthorized" | "foreign_host" | "foreign_origin"
        | "keys_need_socket" | "root_refused" | "token_required" | "tls_required" => REFUSED,
        "daemon_unreachable"
        | "daemon_start_failed"
        | "daemon_checking"
        | "protocol_mismatch"
        | "foreign_process"
        | "socket_in_use" => UNREACHABLE,
        "wait_timed_out" => TIMED_OUT,
        "interrupted" => INTERRUPTED,
        _ => FAILED,
    }
}

/// Prints a failure for a person and returns its exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let failure = error
        .downcast_ref::<Failure>()
        .cloned()
        .unwrap_or_else(|| Failure::new("failed", Effect::Indeterminate, format!("{error:#}")));
    crate::print::err(&words(&failure));
    ExitCode::from(code_of(&failure.code))
}

fn words(failure: &Failure) -> String {
    // A message may quote what a model, a file or an argument said, and a script names its own codes.
    let message = clean(&failure.message);
    let mut text = format!("stead: {message}\n");
    if failure.code != "failed" {
        text = format!("stead: {message} ({})\n", clean(&failure.code));
    }
    if failure.effect == Effect::Indeterminate && failure.code != "failed" {
        text.push_str("  note: nobody can tell whether something changed\n");
    }
    if let Some(hint) = &failure.hint {
        for line in clean(hint).lines() {
            text.push_str(&format!("  hint: {line}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_foreign_in_a_failure_reaches_the_terminal_raw() {
        let raw = "\u{1b}]0;x\u{7}\u{1b}[2Jword\u{9b}31m";
        let failure = Failure::new(raw, Effect::Indeterminate, raw).with_hint(raw);
        let told = words(&failure);
        assert_eq!(told.matches("word").count(), 3, "{told:?}");
        assert!(told.chars().all(|c| c == '\n' || !c.is_control()), "{told:?}");
    }

    #[test]
    fn where_no_daemon_answers_the_code_says_so() {
        for code in [
            "daemon_unreachable",
            "daemon_start_failed",
            "daemon_checking",
            "protocol_mismatch",
            "foreign_process",
            "socket_in_use",
        ] {
            assert_eq!(code_of(code), UNREACHABLE, "{code}");
        }
        assert_eq!(code_of("daemon_still_draining"), FAILED);
    }
}
