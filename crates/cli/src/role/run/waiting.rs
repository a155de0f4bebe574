//! Answering, from the command line, what a parked run waits for; then following it.
//!
//! On a terminal every question is asked; a script gives one answer to all of them. What an answer does
//! is the daemon's matter.

use std::process::ExitCode;

use api::session::SessionDetail;
use serde_json::json;
use vocab::{
    message::{Run as SessionRun, RunState},
    outcome::Failure,
};

use super::{
    ask::Said,
    conclude,
    drive::{Driver, OUTPUT_CLOSED},
    follow::Told,
    show::Show,
};
use crate::{
    args::{AnswerArg, Run},
    client, config, env, exit, models,
    print::{self, Look, words},
    role::sessions::resolve,
};

/// Runs the command for a session that is given no prompt.
pub(crate) async fn run(args: &Run) -> anyhow::Result<ExitCode> {
    let given = args.answer.map(|answer| said(answer, args.reason.as_deref())).transpose()?;
    let paths = env::paths()?;
    let keys = models::environment_keys(&config::load_and_tell(&paths)?);
    let look = Look::of_process();
    let client = client::connect(&paths).await?;
    let named = args.session.as_deref().unwrap_or_default();
    let detail = resolve::detail(&client, named).await?;
    let session = detail.row.id.clone();
    let run = parked(&detail)?;
    let terminal = print::stdin_is_terminal() && look.err.terminal && !args.json;
    if given.is_none() && !terminal {
        let why = "the run waits for an answer, and there is no terminal to ask at";
        return Err(Failure::not_started("approval_required", why)
            .with_hint(by_script(&session))
            .into());
    }
    let mut show = if args.json { Show::json() } else { Show::person(look, args.thinking) };
    let first = json!({
        "type": "stead-session", "session_id": session, "run_id": run.id, "message_id": run.message,
    });
    let clock = stdx::clock::Clock::system();
    // Whoever closed the pipe already is found out by the next word.
    show.told(&Told::Session(first), clock.monotonic()).ok();
    let mut driver = Driver::new(&client, show, terminal && given.is_none());
    let ended = match driver.answer(&session, given.as_ref(), &keys).await {
        Err(failure) if failure.code == OUTPUT_CLOSED => return Ok(ExitCode::from(exit::OK)),
        other => other?,
    };
    conclude(driver, ended).await
}

/// Says how a person answers what a session waits for.
pub(crate) fn how_to_answer(session: &str) -> String {
    format!("answer it: stead run -s {}", words::short_id(session))
}

/// Says how a script does.
fn by_script(session: &str) -> String {
    format!("answer it: stead run -s {} --answer yes|no", words::short_id(session))
}

fn said(answer: AnswerArg, reason: Option<&str>) -> Result<Said, Failure> {
    match (answer, reason) {
        (AnswerArg::Yes, None) => Ok(Said::Yes),
        (AnswerArg::Yes, Some(_)) => {
            Err(Failure::not_started("usage", "a reason goes with --answer no"))
        }
        (AnswerArg::No, reason) => Ok(Said::No(reason.map(str::to_owned))),
    }
}

/// Returns the run that waits.
fn parked(detail: &SessionDetail) -> Result<&SessionRun, Failure> {
    let short = words::short_id(&detail.row.id);
    let (why, hint) = match &detail.run {
        Some(run) if matches!(run.state, RunState::Parked { .. }) => return Ok(run),
        Some(run) if matches!(run.state, RunState::Running) => (
            format!("nothing waits for an answer: a run is at work in {short}"),
            format!("look at it: stead sessions show {short}"),
        ),
        _ => (
            format!("there is no prompt, and nothing waits for an answer in {short}"),
            format!("go on: stead run -s {short} \"…\""),
        ),
    };
    Err(Failure::not_started("usage", why).with_hint(hint))
}
