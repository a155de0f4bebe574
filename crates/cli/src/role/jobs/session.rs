//! What the commands about jobs do with a session: its transcript in place of a screen, a message or an answer
//! in place of keys.
//!
//! Not here: what the daemon does alike for both, such as a new name.

use std::{io, process::ExitCode};

use api::{
    agent::{AnswerRequest, RunMessage, RunRequest},
    client::{Client, Target},
    job::JobRow,
    routes::Endpoint,
};
use serde_json::Value;
use stdx::clock::Clock;
use vocab::{
    ids::RunId,
    message::{Block, Role, RunState},
    outcome::{Effect, Failure},
};

use super::{called, say};
use crate::{
    args::Logs,
    client, config, env, exit, models,
    print::{self, Look, clean, words},
    role::{
        run::{
            ask,
            follow::{Follower, Told},
            how_to_answer,
            show::Show,
        },
        sessions::{self, resolve},
    },
};

/// Answers what a session waits for, or sends it a message, which begins a run. Nobody follows it here.
pub(super) async fn send(client: &Client, id: &str, text: &str) -> anyhow::Result<ExitCode> {
    let detail = resolve::detail(client, id).await?;
    let short = words::short_id(id);
    let keys = models::environment_keys(&config::load_and_tell(&env::paths()?)?);
    match detail.run.map(|run| run.state) {
        Some(RunState::Parked { blocks }) => {
            let Some(answer) = ask::understand(Some(text)).answer() else {
                let why = format!(
                    "{short} waits for an answer: yes, no, or no with a reason (no REASON)"
                );
                return Err(Failure::not_started("usage", why)
                    .with_hint(format!("stead send {short} yes\n{}", how_to_answer(id)))
                    .into());
            };
            let open: Vec<Block> =
                blocks.into_iter().filter(|block| block.answer.is_none()).collect();
            // One word for several questions would answer some that nobody has read.
            if 1 < open.len() {
                return Err(several(short, &open).into());
            }
            for block in &open {
                let request = AnswerRequest {
                    session_id: id.to_owned(),
                    block_id: block.id.to_string(),
                    approved: answer.approved,
                    reason: answer.reason.clone(),
                    keys: keys.clone(),
                };
                ask::answer(client, &request).await?;
                let word = if answer.approved { "allowed" } else { "refused" };
                say(&format!("{word} · session {short} · {}", clean::clean_line(&block.tool)));
            }
            Ok(ExitCode::from(exit::OK))
        }
        Some(RunState::Running) => {
            let why = format!("a run is at work in {short}, and takes no message before it ends");
            let hint = format!("stead wait {short} waits for that, stead stop {short} ends it");
            Err(Failure::not_started("run_in_flight", why).with_hint(hint).into())
        }
        Some(RunState::Ended(_)) | None => {
            let content = Some(text.to_owned());
            let request = RunRequest {
                messages: vec![RunMessage { id: None, role: Role::User, content, parts: None }],
                session_id: Some(id.to_owned()),
                interactive: Some(true),
                idempotency_key: Some(RunId::generate().to_string()),
                keys,
                ..RunRequest::default()
            };
            let target = Target::default();
            let begun = client.events(Endpoint::AgentRun, target, Some(&request), None).await;
            begun.map_err(Failure::from)?;
            Ok(say(&format!("sent · session {short} · {}", clean::clean_line(&detail.row.title))))
        }
    }
}

/// Says what a session waits for that has several questions, and how each of them is answered.
fn several(short: &str, open: &[Block]) -> Failure {
    let of = |block: &Block| {
        let subject = tui::call::subject(&block.tool, &block.input);
        clean::clean_line(&format!("{}: {subject}", block.tool))
    };
    let mut lines: Vec<String> = open.iter().map(of).collect();
    lines.push(format!("stead run -s {short} asks each of them"));
    lines.push(format!("stead run -s {short} --answer yes|no gives one answer to all"));
    let why = format!("{short} waits for {} answers, and one word answers one", open.len());
    Failure::not_started("usage", why).with_hint(lines.join("\n"))
}

/// Prints a session's transcript, and with `-f` goes on with what its run says until that is over or waits.
pub(crate) fn logs(row: &JobRow, logs: &Logs) -> anyhow::Result<ExitCode> {
    let id = row.id.as_str();
    if logs.replay || logs.export.is_some() {
        let short = words::short_id(id);
        let why = format!("{short} is a session, which has a transcript and no recording");
        return Err(Failure::not_started("is_a_session", why)
            .with_hint(format!("stead logs {short}, or stead logs --json {short}"))
            .into());
    }
    // Whoever meant a job sees that it is none.
    say(&called(row));
    super::super::block_on(async move {
        let client = client::connect(&env::paths()?).await?;
        if !logs.follow {
            return sessions::show(&client, id, logs.json.json).await;
        }
        let detail = resolve::detail(&client, id).await?;
        let messages = sessions::messages(&client, id).await?;
        let mut list = messages.as_array().map_or(&[][..], Vec::as_slice);
        let is_over = |state: &RunState| matches!(state, RunState::Ended(_));
        let is_live = detail.run.as_ref().is_some_and(|run| !is_over(&run.state));
        if is_live && let Some((last, before)) = list.split_last() {
            // What the run has said so far comes again as its stream begins.
            if last.get("role").and_then(Value::as_str) == Some("assistant") {
                list = before;
            }
        }
        let look = Look::of_process();
        print::out(&sessions::page(&detail, list, look));
        if !is_live {
            return Ok(ExitCode::from(exit::OK));
        }
        match follow(&client, id, look).await {
            // Whoever closed the pipe has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => {
                let why = format!("standard output cannot be written: {error}");
                return Err(Failure::new("failed", Effect::NotStarted, why).into());
            }
            Ok(followed) => followed?,
        }
        if resolve::session(&client, id).await?.state == "parked" {
            sessions::waits(id);
        }
        Ok(ExitCode::from(exit::OK))
    })
}

/// Shows the stream of a run. It is only looked at: whoever leaves does not stop it.
async fn follow(client: &Client, id: &str, look: Look) -> io::Result<Result<(), Failure>> {
    let (mut show, clock) = (Show::person(look, false), Clock::system());
    let mut follower = Follower::new(client, Some(id));
    loop {
        match follower.next().await {
            Ok(Told::Done | Told::Gone) => break,
            Ok(told) => show.told(&told, clock.monotonic())?,
            Err(failure) => {
                show.close()?;
                return Ok(Err(failure));
            }
        }
    }
    show.close().map(Ok)
}
