//! `stead report`: says from inside a job how it is.
//!
//! As an agent's hook it maps what the agent tells it, and never disturbs the agent: it says nothing, always
//! succeeds, and outside a job does nothing. Not here: what follows from a report.

mod hook;

use std::{ffi::OsString, path::PathBuf, process::ExitCode, time::Duration};

use pty::{
    ask,
    hello::{Control, Reply, Said, Token},
};
use stdx::clock::Clock;
use vocab::{limits::REPORT_ANSWER_MS_MAX, outcome::Failure};

use crate::{
    args::inside::{Report, SaidArg},
    env,
};

/// The first two words of a report that an agent's hook makes.
pub(crate) const HOOK_WORDS: [&str; 2] = ["report", "--from-hook"];

/// Reports what was asked for.
pub(crate) fn run(report: Report) -> anyhow::Result<ExitCode> {
    let state = match report.state {
        SaidArg::Working => Said::Working,
        SaidArg::Blocked => Said::Blocked,
        SaidArg::Idle => Said::Idle,
        SaidArg::Done => Said::Done,
    };
    let Report { message, seq, source, .. } = report;
    let Some(job) = Inside::of_environment() else {
        return Err(Failure::not_started("not_in_a_job", "this does not run inside a job")
            .with_hint("start the program with: stead bg -- COMMAND")
            .into());
    };
    job.report(state, message, seq, source)?;
    Ok(ExitCode::SUCCESS)
}

/// Reports what an agent tells its hook: the words after [`HOOK_WORDS`] name the agent, and may hold what it
/// tells.
pub(crate) fn from_hook(words: &[OsString]) -> ExitCode {
    let told = hook::read(words);
    if let (Some(job), Some(told)) = (Inside::of_environment(), told) {
        // Hooks that run at the same time are put in the order in which they were started.
        let seq = u64::try_from(Clock::system().now().as_millis()).ok();
        job.report(told.state, told.message, seq, told.source).ok();
    }
    // Some agents take other codes for a wish to stop them.
    ExitCode::SUCCESS
}

/// The job that this process runs in.
struct Inside {
    socket: PathBuf,
    token: Token,
}

impl Inside {
    fn of_environment() -> Option<Self> {
        let (socket, token) = env::job()?;
        Some(Self { socket, token: Token(token) })
    }

    fn report(
        self,
        state: Said,
        message: Option<String>,
        seq: Option<u64>,
        source: String,
    ) -> Result<(), Failure> {
        let Self { socket, token } = self;
        let report = Control::Report { state, message, seq, source: Some(source), token };
        let patience = Duration::from_millis(REPORT_ANSWER_MS_MAX);
        match ask::ask_within(&socket, &report, patience)? {
            Reply::Failed { error } => Err(error),
            Reply::Snapshot { .. }
            | Reply::Status(_)
            | Reply::Explained(_)
            | Reply::Done { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_to_a_host_that_is_silent_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("deaf.sock");
        let _deaf = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let job = Inside { socket, token: Token("x".into()) };
        let failure = job.report(Said::Done, None, None, "x".into()).unwrap_err();
        assert_eq!(failure.code, "host_silent");
        // An agent waits for it.
        const { assert!(REPORT_ANSWER_MS_MAX <= 1_000) };
    }
}
