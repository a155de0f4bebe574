//! The AI SDK's default requests, so that `useChat` works as it is: no frame of ours, and the chat's id
//! names a session.
//!
//! A request whose last message is the assistant's carries a person's answers to approvals: the SDK
//! sends it once all of them are given. The answers are stored, and the stream goes on where the
//! client's message stands. Regenerating is not offered.

use daemon::caller::Caller;
use sessions::{
    live::{Content, Next},
    models::Keys,
    start::Start,
};
use vocab::{
    ids::{BlockId, RunId, SessionId},
    live::{Chunk, Position, Told},
    message::{Answer, RunState},
};

use crate::{
    decode,
    mount::{Ask, Reply},
    refuse::Refused,
    routes::{
        Services, agent,
        content::{self, Last},
    },
};

/// `POST /chat`
pub(super) async fn run(services: &Services, ask: Ask) -> Result<Reply, Refused> {
    let (caller, body) = (&ask.caller, ask.body);
    let (chat, _body) = decode::apart(body, content::of_chat).await?;
    let session = find(services, caller, &chat.id).await?;
    match (chat.last, session) {
        (Last::Answers(answers), Some(session)) => {
            approve(services, caller, &session, answers).await
        }
        (Last::Says(parts), session) => {
            let alias = session.is_none().then_some(chat.id);
            let start = Start { session, alias, parts, interactive: true, ..Start::default() };
            let started = services.sessions.start(caller, start).await?;
            let reader = agent::from_the_start(services, caller, &started).await?;
            Ok(agent::reply(&started.session, reader, None))
        }
        (Last::Answers(_), None) => {
            Err(Refused::new("invalid_field", "the last message must be a user's").at("messages"))
        }
    }
}

/// `GET /chat/{chat}/stream`
pub(super) async fn stream(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let Some(session) = find(services, &ask.caller, &ask.parameter).await? else {
        return Ok(Reply::Nothing);
    };
    let (_, run) = services.sessions.show(&ask.caller, &session).await?;
    let live = run.is_some_and(|run| match run.state {
        RunState::Running => true,
        // Its answers are stored, and it is about to say that it goes on.
        RunState::Parked { blocks } => blocks.iter().all(|block| block.answer.is_some()),
        RunState::Ended(_) => false,
    });
    if !live {
        return Ok(Reply::Nothing);
    }
    match services.sessions.stream(&ask.caller, &session, agent::position(ask)).await {
        Ok(reader) => Ok(agent::reply(&session, reader, None)),
        // It ended between the two looks.
        Err(failure) if failure.code == "no_live_run" => Ok(Reply::Nothing),
        Err(failure) => Err(failure.into()),
    }
}

/// Finds the session of a chat. A chat may also be named by the session's own id.
async fn find(
    services: &Services,
    caller: &Caller,
    chat: &str,
) -> Result<Option<SessionId>, Refused> {
    let max = vocab::limits::PATH_PARAMETER_BYTES_MAX;
    if chat.is_empty() || chat.len() > max {
        let text = format!("a chat's id has 1 to {max} bytes");
        return Err(Refused::new("invalid_field", text).at("id"));
    }
    match chat.parse() {
        Ok(session) => Ok(Some(session)),
        Err(_) => Ok(services.sessions.of_chat(caller, chat).await?),
    }
}

/// Stores the answers that a message carries, and streams how the run goes on.
async fn approve(
    services: &Services,
    caller: &Caller,
    session: &SessionId,
    answers: Vec<(BlockId, Answer)>,
) -> Result<Reply, Refused> {
    let before = standing(services, caller, session).await?;
    let (mut given, mut late) = (0, None);
    for (block, answer) in answers {
        let answer = (answer, Keys::default());
        match services.sessions.answer(caller, session, &block, answer).await {
            Ok(_) => given += 1,
            // The SDK repeats what was answered before.
            Err(failure) if failure.code == "already_answered" => {}
            // It repeats that, too, and other answers beside it may be in time.
            Err(failure) if failure.code == "answer_late" => late = Some(failure),
            Err(failure) => return Err(failure.into()),
        }
    }
    if given == 0 {
        if let Some(failure) = late {
            return Err(failure.into());
        }
        let text = "the assistant's message answers nothing that a run waits for";
        return Err(Refused::new("invalid_field", text).at("messages").about(session.as_str()));
    }
    let reader = services.sessions.stream(caller, session, before).await?;
    Ok(agent::reply(session, reader, None))
}

/// Returns where a client stands that has read a parked run to its end, the finish not counted: the run
/// takes it back when it goes on. From the start when the run is not parked.
async fn standing(
    services: &Services,
    caller: &Caller,
    session: &SessionId,
) -> Result<Option<(RunId, Position)>, Refused> {
    let (_, run) = services.sessions.show(caller, session).await?;
    let Some(run) = run else { return Ok(None) };
    if !matches!(run.state, RunState::Parked { .. }) {
        return Ok(Some((run.id, Position::default())));
    }
    let start = Some((run.id.clone(), Position::default()));
    let mut reader = services.sessions.stream(caller, session, start).await?;
    let mut at = Position::default();
    while let Next::Frame(frame) = reader.next().await {
        match &frame.content {
            Content::Piece(piece) => match &piece.told {
                Told::Chunk(Chunk::Finish { .. }) => break,
                Told::Chunk(_) | Told::Delta { .. } => at = piece.after,
            },
            Content::Progress { .. } => {}
        }
    }
    Ok(Some((run.id, at)))
}
