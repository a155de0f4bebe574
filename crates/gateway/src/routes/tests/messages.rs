//! Conversations that are told page by page.

use store::{Batch, Change};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use vocab::{
    fact::SessionFact,
    ids::{MessageId, SessionId},
    limits::STORE_PAGE_BYTES_MAX,
    message::{Message, Part},
};

use super::*;
use crate::testing::{exchange, request};

/// More than a connection holds for a client that does not read, the kernel's share included.
const LONG: usize = 64;

/// Makes a session of so many messages with texts of so many bytes.
async fn session(stage: &Stage, n_messages: usize, bytes: usize) -> SessionId {
    let made: SessionRow = stage
        .client()
        .json(Endpoint::SessionCreate, Target::default(), Some(&CreateSession::default()))
        .await
        .unwrap();
    let id: SessionId = made.id.parse().unwrap();
    let store = &stage.services.daemon.store;
    let mut batch = Batch::of_session(store.epoch(), id.clone()).fact(SessionFact::SessionTitled);
    for idx in 0..n_messages {
        let text = format!("{idx} {}", "x".repeat(bytes));
        batch = batch.change(Change::AddMessage(Message {
            id: MessageId::generate(),
            role: Role::User,
            run: None,
            parts: vec![Part::Text { text, done: true }],
            created_at: 0,
        }));
    }
    store.append(batch).await.unwrap();
    id
}

/// Compares what is told of a session with what is stored, and returns the sizes of the chunks it came
/// in; none for an answer of stated length.
async fn check(stage: &Stage, session: &SessionId) -> Vec<usize> {
    let mut stream = BufReader::new(stage.house.unix().await);
    let path = Endpoint::SessionMessages.path_with(session.as_str());
    stream.write_all(request(&format!("GET {path}"), "", "").as_bytes()).await.unwrap();
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        stream.read_line(&mut head).await.unwrap();
    }
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("content-type: application/json\r\n"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let (mut body, mut chunks) = (Vec::new(), Vec::new());
    match length {
        Some(length) => body.resize(length.parse().unwrap(), 0),
        None => assert!(head.contains("transfer-encoding: chunked\r\n"), "{head}"),
    }
    stream.read_exact(&mut body).await.unwrap();
    while length.is_none() && chunks.last() != Some(&0) {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let (begin, size) = (body.len(), usize::from_str_radix(line.trim(), 16).unwrap());
        body.resize(begin + size, 0);
        stream.read_exact(&mut body[begin..]).await.unwrap();
        stream.read_exact(&mut [0; 2]).await.unwrap();
        chunks.push(size);
    }
    let stored = stage.services.daemon.store.transcript(session).await.unwrap().messages;
    let told: Value = serde_json::from_slice(&body).unwrap();
    let shown: Vec<_> = stored.iter().map(api::ui::message).collect();
    assert_eq!(told, serde_json::to_value(shown).unwrap());
    // The connection is as good as before.
    let again = request("GET /daemon/status", "", "");
    assert_eq!(exchange(&mut stream, again.as_bytes()).await.unwrap().status, 200);
    chunks
}

#[tokio::test]
async fn a_long_conversation_is_one_array_told_in_pages() {
    let stage = Stage::new().await;
    for n_messages in [0, 1, 100] {
        let short = session(&stage, n_messages, 10).await;
        assert_eq!(check(&stage, &short).await, [0; 0], "{n_messages}");
    }
    let many = session(&stage, 3_000, 10).await;
    let chunks = check(&stage, &many).await;
    assert!(chunks.len() > 5, "{chunks:?}");
    assert!(chunks.iter().all(|bytes| *bytes <= STORE_PAGE_BYTES_MAX), "{chunks:?}");
    // One that is larger than a page is a page, and so is each of its neighbors.
    let large = session(&stage, 3, 2 * STORE_PAGE_BYTES_MAX).await;
    assert_eq!(check(&stage, &large).await.len(), 4);
}

/// Reads the beginning of a long conversation, lets `what` happen, and returns what the client says of
/// the rest.
async fn broken(what: impl AsyncFnOnce(&Stage, &SessionId)) -> (String, Vec<u8>) {
    let stage = Stage::new().await;
    let long = session(&stage, LONG, STORE_PAGE_BYTES_MAX).await;
    let target = Target::of(long.as_str());
    let asked = stage.client().events::<()>(Endpoint::SessionMessages, target, None, None);
    let mut answer = asked.await.unwrap();
    let first = answer.frame().await.unwrap().unwrap().into_data().unwrap();
    let mut told = first.to_vec();
    what(&stage, &long).await;
    loop {
        match answer.frame().await {
            Some(Ok(frame)) => told.extend_from_slice(&frame.into_data().unwrap()),
            Some(Err(error)) => return (error.to_string(), told),
            None => panic!("{} bytes look complete", told.len()),
        }
    }
}

#[tokio::test]
async fn a_conversation_that_goes_away_breaks_its_answer_off() {
    let deleted = broken(async |stage, long| {
        let target = Target::of(long.as_str());
        let done = stage.client().json::<(), Done>(Endpoint::SessionDelete, target, None);
        assert!(done.await.unwrap().ok);
    });
    let closed = broken(async |stage, _| stage.services.daemon.store.close().await.unwrap());
    for (error, told) in [deleted.await, closed.await] {
        assert!(!error.is_empty());
        assert!(serde_json::from_slice::<Value>(&told).is_err());
        assert!(told.len() < LONG * STORE_PAGE_BYTES_MAX, "nothing was left to tell");
    }
}

#[tokio::test]
async fn what_cannot_be_told_at_all_is_a_problem() {
    let stage = Stage::new().await;
    let long = session(&stage, 2, STORE_PAGE_BYTES_MAX).await;
    let ask = async |session: &str| {
        let target = Target::of(session);
        let asked = stage.client().json::<(), Value>(Endpoint::SessionMessages, target, None);
        problem(asked.await).code
    };
    assert_eq!(ask(SessionId::generate().as_str()).await, "session_not_found");
    assert_eq!(ask("nobody").await, "session_not_found");
    stage.services.daemon.store.close().await.unwrap();
    assert_eq!(ask(long.as_str()).await, "store_closed");
}
