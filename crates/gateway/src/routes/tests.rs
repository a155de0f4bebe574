//! The rows over real sockets with real sessions: a scripted model, a real directory, real tools.

use api::{
    agent::{AbortRequest, AnswerDone, AnswerRequest, Done, RunMessage, RunRequest},
    client::{Address, Client, ClientError, Target},
    daemon::{Hello, Status, StopRequest, Welcome},
    problem::Problem,
    routes::{Answers, Method, PROTOCOL, TABLE},
    secret::{HasSecret, SecretName, SetSecret},
    session::{CreateSession, SessionDetail, SessionPage, SessionRow},
};
use http_body_util::BodyExt;
use hyper::{Response, body::Incoming};
use serde_json::{Value, json};
use stdx::secret::Secret;
use vocab::message::Role;

use super::*;

mod approvals;
mod bounds;
mod chats;
mod control;
mod facts;
mod jobs;
mod messages;
mod plain;
mod stage;

use stage::Stage;

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
struct Told {
    id: Option<String>,
    event: Option<String>,
    data: String,
}

impl Told {
    fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or(Value::Null)
    }

    fn kind(&self) -> String {
        self.json()["type"].as_str().unwrap_or_default().to_owned()
    }
}

/// Reads a stream until `until` says that it is enough, or its end.
async fn read_until(
    response: &mut Response<Incoming>,
    mut until: impl FnMut(&Told) -> bool,
) -> Vec<Told> {
    let mut text = String::new();
    let mut all = Vec::new();
    while let Some(frame) = response.frame().await {
        let data = frame.unwrap().into_data().unwrap();
        text.push_str(std::str::from_utf8(&data).unwrap());
        while let Some((block, rest)) = text.split_once("\n\n") {
            let mut told = Told::default();
            for line in block.lines() {
                match line.split_once(": ") {
                    Some(("id", value)) => told.id = Some(value.to_owned()),
                    Some(("event", value)) => told.event = Some(value.to_owned()),
                    Some(("data", value)) => told.data.push_str(value),
                    _ => {}
                }
            }
            text = rest.to_owned();
            let enough = until(&told);
            all.push(told);
            if enough {
                return all;
            }
        }
    }
    all
}

async fn read_all(mut response: Response<Incoming>) -> Vec<Told> {
    read_until(&mut response, |_| false).await
}

/// Joins the words of all text deltas.
fn words(events: &[Told]) -> String {
    let deltas = events.iter().filter(|told| told.kind() == "text-delta");
    deltas.map(|told| told.json()["delta"].as_str().unwrap_or_default().to_owned()).collect()
}

fn problem<T: std::fmt::Debug>(result: Result<T, ClientError>) -> Problem {
    match result {
        Err(ClientError::Problem(problem)) => *problem,
        other => panic!("{other:?}"),
    }
}

fn user(text: &str) -> RunMessage {
    RunMessage { id: None, role: Role::User, content: Some(text.into()), parts: None }
}

fn prompt(text: &str) -> RunRequest {
    RunRequest { messages: vec![user(text)], interactive: Some(true), ..RunRequest::default() }
}
