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
/// Stopped by Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// Returns the exit code that a failure's code stands for.
pub(crate) fn code_of(code: &str) -> u8 {
    match code {
        "usage" | "ambiguous" | "invalid_field" | "unknown_field" | "config_invalid" => USAGE,
        "not_found"
        | "job_not_found"
        | "session_not_found"
        | "workspace_not_found"
        | "no_live_run"
        | "unknown_block" => NOT_FOUND,
        "person_required" | "approval_required" | "denied" | "locked" | "unauthorized"
        | "foreign_host" | "foreign_origin" | "keys_need_socket" => REFUSED,
        "daemon_unreachable" | "daemon_start_failed" | "protocol_mismatch" | "foreign_process" => {
            UNREACHABLE
        }
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
    // A message may quote what a model, a file or an argument said.
    let message = clean(&failure.message);
    let mut text = format!("stead: {message}\n");
    if failure.code != "failed" {
        text = format!("stead: {message} ({})\n", failure.code);
    }
    if failure.effect == Effect::Indeterminate && failure.code != "failed" {
        text.push_str("  note: nobody can tell whether something changed\n");
    }
    if let Some(hint) = &failure.hint {
        for line in clean(hint).lines() {
            text.push_str(&format!("  hint: {line}\n"));
        }
    }
    crate::print::err(&text);
    ExitCode::from(code_of(&failure.code))
}
