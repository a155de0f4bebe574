//! What the daemon tells: facts as they come, and what is read when one of them says so.
//!
//! A connection that breaks is opened again, with a wait that doubles up to its bound.

use std::time::Duration;

use api::{
    client::{Client, ClientError, Target},
    job::{JobRow, Screen},
    routes::{self, Endpoint},
    session::SessionDetail,
    sse::{Decoder, Event},
};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc::{Sender, error::SendError};
use vocab::{
    limits::{CLIENT_SILENCE_MS_MAX, VIEW_RETRY_MS_MAX},
    outcome::{Effect, Failure},
};

use super::Wanted;
use crate::msg::{Fact, Link, Loaded, Msg};

/// The first wait before a connection is tried again.
const RETRY_MS: u64 = 250;

/// Tells every fact, for as long as somebody listens.
pub(super) async fn facts(client: &Client, sender: &Sender<Msg>) {
    let mut n_failures = 0;
    loop {
        let opened = within(client.events::<()>(Endpoint::Events, Target::default(), None, None));
        let why = match opened.await {
            Err(failure) => failure.message,
            Ok(response) => {
                n_failures = 0;
                if hear(Stream::new(response.into_body()), sender).await.is_err() {
                    return;
                }
                "the daemon has ended, or its connection broke".to_owned()
            }
        };
        if sender.send(Msg::Link(Link::Lost { why })).await.is_err() {
            return;
        }
        tokio::time::sleep(pause(n_failures)).await;
        n_failures += 1;
    }
}

/// Tells the facts of one connection until it ends; fails when nobody listens any more.
async fn hear(mut stream: Stream, sender: &Sender<Msg>) -> Result<(), SendError<Msg>> {
    sender.send(Msg::Link(Link::Live)).await?;
    while let Some(events) = stream.next().await {
        for fact in events.iter().filter_map(fact_of) {
            sender.send(Msg::Fact(fact)).await?;
        }
    }
    Ok(())
}

/// Returns how long to wait after so many failures in a row.
pub(super) fn pause(n_failures: u32) -> Duration {
    let doubled = RETRY_MS.saturating_mul(1 << n_failures.min(16));
    Duration::from_millis(doubled.min(VIEW_RETRY_MS_MAX))
}

/// Tells what the live run of a session says, until it is over.
pub(super) async fn run(client: &Client, session: &str, sender: &Sender<Msg>) {
    let id = session.to_owned();
    let target = Target::of(session);
    let opened = within(client.events::<()>(Endpoint::AgentStream, target, None, None)).await;
    // 204: nothing is live any more.
    if let Ok(response) = opened
        && response.status().as_u16() != 204
    {
        let mut stream = Stream::new(response.into_body());
        while let Some(events) = stream.next().await {
            let chunks: Vec<Value> =
                events.iter().filter_map(|event| serde_json::from_str(&event.data).ok()).collect();
            if !chunks.is_empty()
                && sender.send(Msg::Chunks { id: id.clone(), chunks }).await.is_err()
            {
                return;
            }
        }
    }
    sender.send(Msg::StreamEnded { id }).await.ok();
}

/// Reads the rows.
pub(super) async fn rows(client: &Client, wanted: &Wanted) -> Result<Vec<JobRow>, Failure> {
    let mut query = format!("all={}", wanted.all);
    if let Some(cwd) = &wanted.cwd {
        query.push_str(&format!("&cwd={}", routes::encode(cwd)));
    }
    get(client, Endpoint::JobList, Target { parameter: "", query: &query }).await
}

/// Reads the screen of a job.
pub(super) async fn screen(client: &Client, job: &str) -> Result<String, Failure> {
    let screen: Screen = get(client, Endpoint::JobScreen, Target::of(job)).await?;
    Ok(screen.text)
}

/// Reads a session with its messages. What is asked is read first: what comes later is in the messages, and
/// a fact tells of it.
pub(super) async fn session(client: &Client, id: &str) -> Result<Loaded, Failure> {
    let detail: SessionDetail = get(client, Endpoint::SessionShow, Target::of(id)).await?;
    let messages = get(client, Endpoint::SessionMessages, Target::of(id)).await?;
    Ok(Loaded { detail, messages })
}

async fn get<A: DeserializeOwned>(
    client: &Client,
    endpoint: Endpoint,
    target: Target<'_>,
) -> Result<A, Failure> {
    within(client.json::<(), A>(endpoint, target, None)).await
}

/// Waits for an answer, and not for ever: what listens may be held still.
async fn within<A>(asked: impl Future<Output = Result<A, ClientError>>) -> Result<A, Failure> {
    let limit = Duration::from_millis(CLIENT_SILENCE_MS_MAX);
    match tokio::time::timeout(limit, asked).await {
        Ok(answer) => answer.map_err(Failure::from),
        Err(_) => {
            let why = "the daemon does not answer";
            Err(Failure::new("daemon_unreachable", Effect::Indeterminate, why))
        }
    }
}

/// A stream of events.
struct Stream {
    body: Incoming,
    decoder: Decoder,
}

impl Stream {
    fn new(body: Incoming) -> Self {
        Self { body, decoder: Decoder::default() }
    }

    /// Waits for the next events; none when it is over, broke, or is silent for too long.
    async fn next(&mut self) -> Option<Vec<Event>> {
        let limit = Duration::from_millis(CLIENT_SILENCE_MS_MAX);
        loop {
            let frame = tokio::time::timeout(limit, self.body.frame()).await.ok()??.ok()?;
            let Ok(data) = frame.into_data() else { continue };
            let mut events = Vec::new();
            self.decoder.feed(&data, &mut events).ok()?;
            return Some(events);
        }
    }
}

/// Understands a fact; none where an event is none.
fn fact_of(event: &Event) -> Option<Fact> {
    if event.name != "stead-fact" {
        return None;
    }
    let value: Value = serde_json::from_str(&event.data).ok()?;
    let text = |place: &str| value.pointer(place).and_then(Value::as_str).map(str::to_owned);
    let about = text("/session").or_else(|| text("/body/job")).unwrap_or_default();
    Some(Fact { kind: text("/body/kind")?, about })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_tried_again_with_a_bounded_wait() {
        let told: Vec<u128> = [0, 1, 2, 3, 4, 5, u32::MAX].map(|n| pause(n).as_millis()).into();
        assert_eq!(told[..4], [250, 500, 1_000, 2_000]);
        assert!(told[5..].iter().all(|ms| *ms == u128::from(VIEW_RETRY_MS_MAX)));
    }

    #[test]
    fn facts_are_told_with_what_they_are_about() {
        let check = |name: &str, data: &str, expected: Option<(&str, &str)>| {
            let event = Event { name: name.into(), data: data.into(), id: None };
            let fact = fact_of(&event);
            let told = fact.as_ref().map(|fact| (fact.kind.as_str(), fact.about.as_str()));
            assert_eq!(told, expected, "{data}");
        };
        check(
            "stead-fact",
            r#"{"session":"ses_1","body":{"kind":"run_started"}}"#,
            Some(("run_started", "ses_1")),
        );
        check(
            "stead-fact",
            r#"{"body":{"kind":"job_ended","job":"01"}}"#,
            Some(("job_ended", "01")),
        );
        check("stead-gap", "{}", None);
        check("stead-fact", "no json", None);
    }
}
