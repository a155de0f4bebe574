//! Running a prompt, reading its stream, stopping it, answering what it waits for.
//!
//! `POST /agent/run` begins with one frame of ours, `event: stead-session`; everything after it, and the
//! whole of `GET /agent/stream/{session}`, is the AI SDK's UI message stream.

use std::collections::BTreeMap;

use api::{
    agent::{AbortRequest, AnswerDone, AnswerRequest, Done, RunRequest, SessionFrame},
    history::History,
    secret::Key,
    stream::{STREAM_HEADER, frames, parse_event_id, progress_frame},
};
use bytes::Bytes;
use daemon::caller::{Caller, Carrier};
use futures_util::stream;
use sessions::{
    live::{Content, Next, Reader},
    models::{Keys, Wanted},
    start::{Start, Started},
};
use vocab::{
    ids::{BlockId, RunId, SessionId},
    live::Position,
    message::{Answer, Part},
};

use crate::{
    decode::{self, Text},
    mount::{Ask, Reply},
    refuse::Refused,
    routes::{Services, content, session_of},
    sse::{Cut, Events},
};

/// `POST /agent/run`
pub(super) async fn run(services: &Services, ask: Ask) -> Result<Reply, Refused> {
    let (caller, body) = (&ask.caller, ask.body);
    let ((request, parts), _body) = decode::apart(body, run_of).await?;
    let session = match &request.session_id {
        Some(text) => Some(session_of(services, caller, text).await?),
        None => None,
    };
    let start = start_of(caller, (session, parts), request)?;
    let started = services.sessions.start(caller, start).await?;
    let frame = SessionFrame {
        session_id: started.session.to_string(),
        run_id: started.run.to_string(),
        message_id: started.message.to_string(),
    };
    let first = serde_json::to_string(&frame).unwrap_or_default();
    let first = format!("event: stead-session\ndata: {first}\n\n");
    let reader = from_the_start(services, caller, &started).await?;
    Ok(reply(&started.session, reader, Some(first.into())))
}

/// `GET /agent/stream/{session}`
pub(super) async fn stream(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let session = session_of(services, &ask.caller, &ask.parameter).await?;
    let reader = services.sessions.stream(&ask.caller, &session, position(ask)).await?;
    Ok(reply(&session, reader, None))
}

/// `POST /agent/abort`
pub(super) async fn abort(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let request: AbortRequest = ask.json()?;
    decode::texts([("session_id", Text::Name, Some(request.session_id.as_str()))])?;
    let session = session_of(services, &ask.caller, &request.session_id).await?;
    services.sessions.abort(&ask.caller, &session).await?;
    Reply::json(&Done { ok: true })
}

/// `POST /agent/answer`
pub(super) async fn answer(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let request: AnswerRequest = ask.json()?;
    decode::texts([
        ("session_id", Text::Name, Some(request.session_id.as_str())),
        ("block_id", Text::Name, Some(request.block_id.as_str())),
        ("reason", Text::Reason, request.reason.as_deref()),
    ])?;
    let session = session_of(services, &ask.caller, &request.session_id).await?;
    let block: BlockId = request
        .block_id
        .parse()
        .map_err(|_bad| Refused::new("unknown_block", "no run waits for that").at("block_id"))?;
    let keys = keys_of(&ask.caller, request.keys)?;
    let answer = Answer { approved: request.approved, reason: request.reason };
    let done = services.sessions.answer(&ask.caller, &session, &block, (answer, keys)).await?;
    Reply::json(&AnswerDone { ok: true, resumed: done.resumed, run_id: done.run.to_string() })
}

/// Returns where a reader stands; nowhere when it does not say so, or not in our words.
pub(super) fn position(ask: &Ask) -> Option<(RunId, Position)> {
    ask.header("last-event-id").and_then(parse_event_id)
}

/// Reads a run that was just started. It may be over already, also long ago: a repeated request with
/// the same key gets the same run.
pub(super) async fn from_the_start(
    services: &Services,
    caller: &Caller,
    started: &Started,
) -> Result<Reader, Refused> {
    let at = Some((started.run.clone(), Position::default()));
    Ok(services.sessions.stream(caller, &started.session, at).await?)
}

/// Answers with a run's stream.
pub(super) fn reply(session: &SessionId, reader: Reader, first: Option<Bytes>) -> Reply {
    let headers = vec![
        (STREAM_HEADER.0, STREAM_HEADER.1.to_owned()),
        ("x-stead-session", session.to_string()),
        ("x-stead-run", reader.run().to_string()),
    ];
    let run = reader.run().clone();
    let source = stream::unfold(Some(reader), move |reader| {
        let run = run.clone();
        async move {
            let mut reader = reader?;
            match reader.next().await {
                Next::Frame(frame) => {
                    Some((Ok(frame.encoded(|content| encode(&run, content))), Some(reader)))
                }
                Next::Over => None,
                Next::Behind => Some((Err(Cut), None)),
            }
        }
    });
    let events = Events::new(source);
    let events = if let Some(first) = first { events.after(first) } else { events };
    Reply::Events(Box::new(events), headers)
}

fn encode(run: &RunId, content: &Content) -> Bytes {
    match content {
        Content::Piece(piece) => frames(run, piece).into(),
        Content::Progress { call, text, replaces } => {
            progress_frame(&call.0, text, *replaces).into()
        }
    }
}

/// Reads the body of a run: all of it but the messages, and what the last of these says.
fn run_of(body: &[u8]) -> Result<(RunRequest<()>, Vec<Part>), Refused> {
    let read: RunRequest<History<'_>> = decode::json(body)?;
    let parts = content::of_run(&read.messages)?;
    decode::texts([
        ("session_id", Text::Name, read.session_id.as_deref()),
        ("model_id", Text::Name, read.model_id.as_deref()),
        ("provider_id", Text::Name, read.provider_id.as_deref()),
        ("workspace_id", Text::Name, read.workspace_id.as_deref()),
        ("cwd", Text::Path, read.cwd.as_deref()),
        ("idempotency_key", Text::Key, read.idempotency_key.as_deref()),
    ])?;
    let request = RunRequest {
        messages: (),
        session_id: read.session_id,
        model_id: read.model_id,
        provider_id: read.provider_id,
        workspace_id: read.workspace_id,
        cwd: read.cwd,
        mode: read.mode,
        interactive: read.interactive,
        idempotency_key: read.idempotency_key,
        keys: read.keys,
    };
    Ok((request, parts))
}

fn start_of(
    caller: &Caller,
    (session, parts): (Option<SessionId>, Vec<Part>),
    request: RunRequest<()>,
) -> Result<Start, Refused> {
    Ok(Start {
        session,
        alias: None,
        parts,
        wanted: Wanted {
            provider: request.provider_id,
            model: request.model_id,
            ..Wanted::default()
        },
        workspace: request.workspace_id,
        cwd: request.cwd,
        mode: request.mode,
        interactive: request.interactive.unwrap_or(false),
        idempotency_key: request.idempotency_key,
        keys: keys_of(caller, request.keys)?,
    })
}

/// Takes keys over the Unix socket alone: on TCP they would pass whoever listens on a forwarded port.
/// They are what could be stored; which name is wrong is not repeated, as it may be a key.
fn keys_of(caller: &Caller, keys: BTreeMap<String, Key>) -> Result<Keys, Refused> {
    if keys.is_empty() {
        return Ok(Keys::default());
    }
    if caller.carrier() != Carrier::Socket {
        let refused = Refused::new("keys_need_socket", "keys are taken over the Unix socket only");
        return Err(refused.at("keys").with_hint("store the key with: stead secrets set PROVIDER"));
    }
    let check = |(name, key): (String, Key)| {
        let key = key.into_secret();
        ::daemon::secrets::check(&name, &key)
            .map_err(|failure| Refused::from(failure).at("keys"))?;
        Ok((name, key))
    };
    keys.into_iter().map(check).collect()
}
