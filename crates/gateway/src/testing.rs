//! A house with both doors open, for tests: real sockets, the real perimeter, and handlers that say
//! what reached them.

use std::{future::pending, path::Path, sync::Arc, time::Duration};

use api::{problem::Problem, routes::Endpoint};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use stdx::secret::Secret;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::{TcpStream, UnixStream},
};

use crate::{
    listen::{Doors, Server, Shutdown, connection::Bounds},
    mount::{Ask, Front, Handler, Reply},
    perimeter::{AllowedPage, Perimeter},
    refuse::Refused,
    sse::Events,
};

/// The credential of the house.
pub(crate) const CREDENTIAL: &str = "correct-horse";

/// `agent:correct-horse` in base64.
pub(crate) const BASIC: &str = "YWdlbnQ6Y29ycmVjdC1ob3JzZQ==";

/// What a test may change.
pub(crate) struct Plan {
    pub(crate) bounds: Bounds,
    pub(crate) body_read: Option<Duration>,
    pub(crate) bodies: Option<usize>,
    pub(crate) handler: Handler,
}

impl Default for Plan {
    fn default() -> Self {
        Self { bounds: Bounds::default(), body_read: None, bodies: None, handler: echo() }
    }
}

/// Open doors in a directory of their own.
pub(crate) struct House {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) server: Server,
}

impl House {
    pub(crate) async fn open(plan: Plan) -> Self {
        let pages = ["http://app.example", "https://site.example/desktop"];
        let pages = pages.iter().map(|page| AllowedPage::parse(page).unwrap()).collect();
        let perimeter = Perimeter::new(&Secret::new(CREDENTIAL.into()), pages);
        let mut front = Front::new(perimeter, plan.handler);
        if let Some(limit) = plan.body_read {
            front = front.with_body_read(limit);
        }
        if let Some(bytes) = plan.bodies {
            front = front.with_bodies(bytes);
        }
        let dir = tempfile::tempdir().unwrap();
        let doors = Doors { socket: dir.path().join("run/s"), port: 0 };
        let server =
            Server::open(doors, Arc::new(front), plan.bounds, Shutdown::new()).await.unwrap();
        Self { dir, server }
    }

    pub(crate) async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.server.address()).await.unwrap()
    }

    pub(crate) async fn unix(&self) -> UnixStream {
        UnixStream::connect(self.server.socket()).await.unwrap()
    }

    pub(crate) fn socket(&self) -> &Path {
        self.server.socket()
    }
}

/// A client of the control protocol.
pub(crate) struct Lines {
    stream: BufReader<UnixStream>,
}

impl Lines {
    pub(crate) async fn of(socket: &Path) -> Self {
        Self { stream: BufReader::new(UnixStream::connect(socket).await.unwrap()) }
    }

    /// Sends bytes as they are.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Sends a request.
    pub(crate) async fn say(&mut self, id: impl Into<Value>, op: &str, args: Value) {
        let line = json!({"id": id.into(), "op": op, "args": args});
        self.send(format!("{line}\n").as_bytes()).await;
    }

    /// Returns the next line; none at the end.
    pub(crate) async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.unwrap_or(0);
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Sends a request and returns the next line.
    pub(crate) async fn ask(&mut self, op: &str, args: Value) -> Value {
        self.say(op, op, args).await;
        self.hear().await.unwrap()
    }

    /// Sends no more.
    pub(crate) async fn hush(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    pub(crate) fn into_stream(self) -> UnixStream {
        self.stream.into_inner()
    }
}

/// Says what reached a handler. One row answers with a stream, one panics.
pub(crate) fn echo() -> Handler {
    Arc::new(|endpoint, ask| {
        Box::pin(async move {
            if endpoint == Endpoint::SecretHas {
                panic!("as the test asked");
            } else if endpoint == Endpoint::Events {
                Ok(Reply::Events(Box::new(silent()), Vec::new()))
            } else {
                told(endpoint, &ask)
            }
        })
    })
}

fn told(endpoint: Endpoint, ask: &Ask) -> Result<Reply, Refused> {
    Reply::json(&json!({
        "endpoint": format!("{endpoint:?}"),
        "caller": format!("{:?}", ask.caller.kind()),
        "carrier": format!("{:?}", ask.caller.carrier()),
        "parameter": ask.parameter,
        "query": ask.query,
        "bytes": ask.body.len(),
    }))
}

fn silent() -> Events {
    let hello = Bytes::from_static(b"data: {\"hello\":1}\n\n");
    Events::new(stream::iter([Ok(hello)]).chain(stream::once(pending())))
}

/// A response, read to the end of the connection or of its announced body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn problem(&self) -> Problem {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the problem's code, or nothing for a success.
    pub(crate) fn code(&self) -> String {
        if self.status < 400 { String::new() } else { self.problem().code }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Reads one response.
pub(crate) async fn read_answer(stream: &mut (impl AsyncRead + Unpin)) -> Option<Answer> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut answer = Answer { status, head, body: Vec::new() };
    let length = answer.header("content-length").map_or(0, |text| text.parse().unwrap());
    answer.body.resize(length, 0);
    stream.read_exact(&mut answer.body).await.ok()?;
    Some(answer)
}

/// Sends bytes and reads one response.
pub(crate) async fn exchange(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    request: &[u8],
) -> Option<Answer> {
    // A refusal may come before everything is sent.
    stream.write_all(request).await.ok();
    read_answer(stream).await
}

/// Writes a request with the credential.
pub(crate) fn request(line: &str, extra: &str, body: &str) -> String {
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    format!(
        "{line} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {CREDENTIAL}\r\n{kind}\
         content-length: {}\r\n{extra}\r\n{body}",
        body.len()
    )
}
