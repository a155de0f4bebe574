//! Whether a call may run, is asked about first, or is refused: decided from how far the tool can reach,
//! never from its name, and never from what its arguments look like.

use vocab::{
    message::{Mode, Run},
    outcome::Failure,
    tool::Reach,
};

/// What becomes of a call before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// It runs.
    Allow,
    /// A person is asked first.
    Ask,
    /// It would be asked about, and nobody is there.
    Refuse(Failure),
}

/// Decides about a call to a tool of that reach.
#[must_use]
pub fn approve(run: &Run, tool: &str, reach: Reach) -> Approval {
    let asks = match run.mode {
        Mode::Auto => false,
        Mode::AcceptEdits => reach >= Reach::Runs,
        Mode::Ask => reach >= Reach::Writes,
    };
    match (asks, run.interactive) {
        (false, _) => Approval::Allow,
        (true, true) => Approval::Ask,
        (true, false) => Approval::Refuse(refusal(run.mode, tool, reach)),
    }
}

fn refusal(mode: Mode, tool: &str, reach: Reach) -> Failure {
    let does = match reach {
        Reach::Reads => "reads",
        Reach::Writes => "changes files",
        Reach::Runs => "runs programs",
    };
    Failure::not_started(
        "approval_required",
        format!(
            "{tool} {does}, which a person must allow in mode {mode}, and nobody is there to ask"
        ),
    )
    .with_hint("do what you can with the other tools, then say what you would have done with it")
}
