//! Orders, carried out by the daemon; each says in a few words what came of it.

use api::{
    agent::{AbortRequest, AnswerDone, AnswerRequest, Done, RunMessage, RunRequest},
    client::{Client, ClientError, Target},
    job::{DispatchJob, JobRow, NoWishes, PinJob, Removed, RenameJob, SendText},
    routes::Endpoint,
    session::{CreateSession, SessionRow},
};
use serde::{Serialize, de::DeserializeOwned};
use vocab::{ids::RunId, message::Role, outcome::Failure};

use super::Ground;
use crate::msg::Order;

/// Carries an order out. An empty text needs no telling.
pub(super) async fn carry_out(
    client: &Client,
    ground: &Ground,
    order: Order,
) -> Result<String, Failure> {
    match order {
        Order::Start { command } => start(client, ground, command).await,
        Order::Ask { prompt } => begin(client, ground, prompt).await,
        Order::Say { session, text } => {
            say(client, ground, &session, text).await?;
            Ok(String::new())
        }
        Order::Answer { session, block, answer } => {
            let body = AnswerRequest {
                session_id: session,
                block_id: block.to_string(),
                approved: answer.approved,
                reason: answer.reason,
                keys: ground.keys.clone(),
            };
            let target = Target::default();
            let sent = client.json::<_, AnswerDone>(Endpoint::AgentAnswer, target, Some(&body));
            match sent.await {
                Ok(_) if body.approved => Ok("allowed".to_owned()),
                Ok(_) => Ok("refused".to_owned()),
                Err(ClientError::Problem(problem)) if problem.code == "already_answered" => {
                    Ok("somebody else has answered it already".to_owned())
                }
                Err(error) => Err(error.into()),
            }
        }
        Order::Type { job, text } => {
            let _: Done = post(client, Endpoint::JobSend, &job, &SendText { text }).await?;
            Ok(String::new())
        }
        Order::StopJob(job) => {
            let row: JobRow = post(client, Endpoint::JobStop, &job.id, &NoWishes {}).await?;
            Ok(format!("stopped · {}", row.name))
        }
        Order::StopSession(session) => {
            let body = AbortRequest { session_id: session.id };
            let _: Done = post(client, Endpoint::AgentAbort, "", &body).await?;
            Ok(format!("stopped · {}", session.name))
        }
        Order::RemoveJob(job) => {
            let target = Target::of(&job.id);
            let gone = client.json::<(), Removed>(Endpoint::JobRemove, target, None).await;
            let saved = gone.map_err(Failure::from)?.saved;
            // How it is brought back is a command of another terminal, which one line has room for.
            let told = saved.into_iter().map(|saved| format!(" · saved: {}", saved.command));
            Ok(format!("removed · {}{}", job.name, told.collect::<String>()))
        }
        Order::RemoveSession(session) => {
            let target = Target::of(&session.id);
            let done = client.json::<(), Done>(Endpoint::SessionDelete, target, None).await;
            done.map_err(Failure::from)?;
            Ok(format!("removed · {}", session.name))
        }
        Order::Respawn(job) => {
            let row: JobRow = post(client, Endpoint::JobRespawn, &job.id, &NoWishes {}).await?;
            Ok(format!("started · {}", row.name))
        }
        Order::Rename { job, name } => {
            let row: JobRow = post(client, Endpoint::JobRename, &job, &RenameJob { name }).await?;
            Ok(format!("renamed · {}", row.name))
        }
        Order::Pin { job, pinned } => {
            let row: JobRow = post(client, Endpoint::JobPin, &job.id, &PinJob { pinned }).await?;
            let word = if row.pinned { "pinned" } else { "no longer pinned" };
            Ok(format!("{word} · {}", row.name))
        }
    }
}

async fn post<B: Serialize + Sync, A: DeserializeOwned>(
    client: &Client,
    endpoint: Endpoint,
    parameter: &str,
    body: &B,
) -> Result<A, Failure> {
    client.json(endpoint, Target::of(parameter), Some(body)).await.map_err(Failure::from)
}

async fn start(client: &Client, ground: &Ground, command: Vec<String>) -> Result<String, Failure> {
    let wish = DispatchJob {
        command,
        cwd: ground.cwd.clone().into(),
        env: ground.env.clone(),
        origin: Some("view".to_owned()),
        record: true,
        ..DispatchJob::default()
    };
    let row: JobRow = post(client, Endpoint::JobDispatch, "", &wish).await?;
    Ok(format!("started · {} · {}", row.id, row.name))
}

/// Begins a run of a new session and leaves it to the daemon.
async fn begin(client: &Client, ground: &Ground, prompt: String) -> Result<String, Failure> {
    let wish = CreateSession { cwd: Some(ground.cwd.clone()), ..CreateSession::default() };
    let session: SessionRow = post(client, Endpoint::SessionCreate, "", &wish).await?;
    if let Err(failure) = say(client, ground, &session.id, prompt).await {
        // An empty session would be all that is left of it.
        let target = Target::of(&session.id);
        client.json::<(), Done>(Endpoint::SessionDelete, target, None).await.ok();
        return Err(failure);
    }
    Ok("begun".to_owned())
}

/// Begins a run with a message. Nobody reads its stream here; it goes on without a reader.
async fn say(client: &Client, ground: &Ground, session: &str, text: String) -> Result<(), Failure> {
    let (id, parts) = (None, None);
    let message = RunMessage { id, role: Role::User, content: Some(text), parts };
    let request = RunRequest {
        messages: vec![message],
        session_id: Some(session.to_owned()),
        interactive: Some(true),
        idempotency_key: Some(RunId::generate().to_string()),
        keys: ground.keys.clone(),
        ..RunRequest::default()
    };
    let begun = client.events(Endpoint::AgentRun, Target::default(), Some(&request), None).await;
    begun.map(drop).map_err(Failure::from)
}
