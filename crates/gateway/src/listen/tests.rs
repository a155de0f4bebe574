//! The doors over real sockets: slow, rude, many and foreign clients, and the drain.

#![expect(clippy::disallowed_methods, reason = "makes files and processes to test against")]

use std::{
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, future::pending, stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::watch,
};

use super::*;
use crate::{
    mount::{Handler, Reply},
    sse::Events,
    testing::{House, Plan, echo, exchange, read_answer, request},
};

mod people;

fn bounded(change: impl FnOnce(&mut Bounds)) -> Plan {
    let mut plan = Plan::default();
    change(&mut plan.bounds);
    plan
}

/// What other tests shrink to be met in a moment is what the table says where nobody shrinks it.
#[test]
fn the_usual_bounds_are_those_of_the_table() {
    let Bounds { connections, refused, head_read, stall, linger } = Bounds::default();
    for (time, row) in [
        (head_read, limits::HEAD_READ_MS_MAX),
        (stall, limits::STREAM_STALL_MS_MAX),
        (linger, limits::LINGER_MS_MAX),
    ] {
        assert_eq!(time, Duration::from_millis(row));
    }
    assert_eq!(connections, limits::CONNECTIONS_MAX);
    assert_eq!(refused, limits::CONNECTIONS_REFUSED_MAX);
}

#[tokio::test]
async fn a_slow_head_is_cut() {
    let house = House::open(bounded(|b| b.head_read = Duration::from_millis(50))).await;
    for begun in ["", "G", "GET /daemon/status HTTP/1.1\r\nhost: local"] {
        let mut stream = house.tcp().await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        // The connection ends, whatever the client thinks of it.
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.ok();
        assert!(rest.is_empty(), "{begun:?}");
    }
}

#[tokio::test]
async fn garbage_and_oversized_heads_get_a_problem() {
    let house = House::open(Plan::default()).await;
    let line = "GET /daemon/status HTTP/1.1\r\nhost: localhost\r\n";
    let many = "x: y\r\n".repeat(limits::HEADERS_MAX + 1);
    let large = format!("x: {}\r\n", "y".repeat(limits::HEAD_BYTES_MAX));
    let target = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000));
    let cases: &[(&[u8], u16, &str)] = &[
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "malformed_request"),
        (b"nonsense\r\n\r\n", 400, "malformed_request"),
        (b"{\"op\":\"ping\"}\n\r\n\r\n", 400, "malformed_request"),
        (b"GET / HTTP/9.9\r\n\r\n", 400, "malformed_request"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "malformed_request"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", 400, "malformed_request"),
        (b"GET /a b HTTP/1.1\r\n\r\n", 400, "malformed_request"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400, "malformed_request"),
        (b"GET / HTTP/1.1\r\nhost: a\0b\r\n\r\n", 400, "malformed_request"),
        (
            b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            400,
            "malformed_request",
        ),
        (b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400, "malformed_request"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 400, "malformed_request"),
        (&[line, &many, "\r\n"].concat().into_bytes(), 431, "headers_too_large"),
        (&[line, &large, "\r\n"].concat().into_bytes(), 431, "headers_too_large"),
        (target.as_bytes(), 431, "headers_too_large"),
    ];
    for (bytes, status, code) in cases {
        let said = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let mut tcp = house.tcp().await;
        let answer = exchange(&mut tcp, bytes).await.unwrap_or_else(|| panic!("{said:?}"));
        assert_eq!((answer.status, answer.code().as_str()), (*status, *code), "{said:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("connection"), Some("close"));
        assert_eq!(tcp.read(&mut [0]).await.unwrap_or(0), 0, "{said:?}");
    }
    let status = request("GET /daemon/status", "", "");
    assert_eq!(exchange(&mut house.tcp().await, status.as_bytes()).await.unwrap().status, 200);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let house = House::open(Plan::default()).await;
    let mut text = String::new();
    for number in 0..50 {
        text += &request(&format!("GET /sessions/{number}"), "", "");
        text += &request("POST /agent/abort", "", &" ".repeat(number + 1));
    }
    text += "nonsense\r\n\r\n";
    let mut stream = house.tcp().await;
    let (mut reading, mut writing) = stream.split();
    let write = async { writing.write_all(text.as_bytes()).await.unwrap() };
    let read = async {
        for number in 0..50 {
            let answer = read_answer(&mut reading).await.unwrap();
            assert_eq!(answer.json()["parameter"], number.to_string());
            let answer = read_answer(&mut reading).await.unwrap();
            assert_eq!(answer.json()["bytes"], number + 1);
        }
        read_answer(&mut reading).await.unwrap().status
    };
    assert_eq!(tokio::join!(write, read).1, 400);
}

#[tokio::test]
async fn idle_connections_over_the_limit_are_told_so() {
    let wanted = 1_000;
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: files.maximum, ..files };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).ok();
    let house = House::open(bounded(|b| {
        b.connections = 16;
        b.refused = 8;
    }))
    .await;
    let mut idle = Vec::new();
    let status = request("GET /daemon/status", "", "");
    for _ in 0..16 {
        let mut stream = house.tcp().await;
        assert_eq!(exchange(&mut stream, status.as_bytes()).await.unwrap().status, 200);
        idle.push(stream);
    }
    let mut surplus = Vec::new();
    for _ in 16..wanted {
        surplus.push(house.tcp().await);
    }
    // Each is told, also beyond those who are read to their end.
    for stream in &mut surplus {
        let answer = read_answer(stream).await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (503, "too_many_connections"));
        assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0);
    }
    // The crowd at one door locks neither those inside nor the other door.
    for stream in &mut idle {
        assert_eq!(exchange(stream, status.as_bytes()).await.unwrap().status, 200);
    }
    assert_eq!(exchange(&mut house.unix().await, status.as_bytes()).await.unwrap().status, 200);
    drop((idle, surplus));
    while exchange(&mut house.tcp().await, status.as_bytes()).await.is_none_or(|a| a.status != 200)
    {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn who_asks_on_a_full_socket_is_told_so() {
    let house = House::open(bounded(|b| {
        b.connections = 4;
        b.refused = 2;
    }))
    .await;
    let status = request("GET /daemon/status", "", "");
    let mut idle = Vec::new();
    for _ in 0..4 {
        let mut stream = house.unix().await;
        assert_eq!(exchange(&mut stream, status.as_bytes()).await.unwrap().status, 200);
        idle.push(stream);
    }
    let mut surplus = Vec::new();
    for _ in 0..100 {
        surplus.push(house.unix().await);
        let mut stream = house.unix().await;
        let answer = exchange(&mut stream, status.as_bytes()).await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (503, "too_many_connections"));
    }
}

type Frames = Pin<Box<dyn Stream<Item = Result<Bytes, crate::sse::Cut>> + Send>>;

/// Answers `/events` with what `make` makes; everything else is echoed. Every stream holds a receiver of
/// the channel, so that the sender sees the last of them go.
fn streaming(alive: Arc<watch::Sender<()>>, make: fn() -> Frames) -> Handler {
    let rest = echo();
    Arc::new(move |endpoint, ask| {
        if endpoint != api::routes::Endpoint::Events {
            return rest(endpoint, ask);
        }
        let here = alive.subscribe();
        let frames = make().inspect(move |_| drop(here.has_changed()));
        Box::pin(async move { Ok(Reply::Events(Box::new(Events::new(frames)), Vec::new())) })
    })
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_and_slows_nobody() {
    let alive = Arc::new(watch::Sender::new(()));
    let mut plan = bounded(|b| b.stall = Duration::from_millis(100));
    plan.handler = streaming(alive.clone(), || {
        let frame = Bytes::from(format!("data: {}\n\n", "x".repeat(16 * 1024)));
        stream::repeat_with(move || Ok(frame.clone())).boxed()
    });
    let house = House::open(plan).await;
    let text = request("GET /events", "", "");
    let (mut deaf, mut other, mut keen) =
        (house.tcp().await, house.unix().await, house.tcp().await);
    deaf.write_all(text.as_bytes()).await.unwrap();
    other.write_all(text.as_bytes()).await.unwrap();
    keen.write_all(text.as_bytes()).await.unwrap();
    // One byte each proves that their streams began.
    deaf.read_exact(&mut [0]).await.unwrap();
    other.read_exact(&mut [0]).await.unwrap();
    // Somebody who reads gets as much as they like.
    let mut buffer = vec![0; 1 << 20];
    let mut left: usize = 64 << 20;
    while left > 0 {
        let bytes = keen.read(&mut buffer).await.unwrap();
        assert!(bytes > 0);
        left = left.saturating_sub(bytes);
    }
    drop(keen);
    // The other streams end too, although their clients are still there.
    alive.closed().await;
    drop((deaf, other));
}

/// Counts what the source of a stream gave while nobody read: no more than the backlog, and what the
/// kernel and the last frames hold besides.
#[tokio::test]
async fn a_source_waits_for_a_client_that_does_not_read() {
    const FRAME_BYTES: usize = 4 * 1024;
    static GIVEN: AtomicUsize = AtomicUsize::new(0);
    let alive = Arc::new(watch::Sender::new(()));
    let mut plan = bounded(|b| b.stall = Duration::from_millis(300));
    plan.handler = streaming(alive.clone(), || {
        let frame = Bytes::from("x".repeat(FRAME_BYTES));
        let count = move || {
            GIVEN.fetch_add(FRAME_BYTES, Ordering::Relaxed);
            Ok(frame.clone())
        };
        stream::repeat_with(count).boxed()
    });
    let house = House::open(plan).await;
    let mut deaf = house.unix().await;
    let held_by_kernel = rustix::net::sockopt::socket_send_buffer_size(&deaf).unwrap();
    deaf.write_all(request("GET /events", "", "").as_bytes()).await.unwrap();
    deaf.read_exact(&mut [0]).await.unwrap();
    alive.closed().await;
    let given = GIVEN.load(Ordering::Relaxed);
    let most = 2 * limits::STREAM_BACKLOG_BYTES_MAX + held_by_kernel;
    assert!(given <= most, "{given} bytes were taken from the source, of at most {most}");
}

#[tokio::test]
async fn a_refused_client_is_read_only_so_far() {
    let house = House::open(bounded(|b| b.linger = Duration::from_secs(3_600))).await;
    let head = format!(
        "POST /agent/abort HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        crate::testing::CREDENTIAL,
        usize::MAX / 4,
    );
    for over_tcp in [true, false] {
        let mut stream: Box<dyn Connection> = match over_tcp {
            true => Box::new(house.tcp().await),
            false => Box::new(house.unix().await),
        };
        stream.write_all(head.as_bytes()).await.unwrap();
        let (chunk, mut sent) = (vec![b' '; 1 << 20], 0);
        while let Ok(bytes) = stream.write(&chunk).await {
            sent += bytes;
        }
        // What the kernel holds on the way comes on top.
        let most = limits::LINGER_BYTES_MAX + (16 << 20);
        assert!((limits::LINGER_BYTES_MAX..most).contains(&sent), "{sent}");
    }
}

trait Connection: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send {}
impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send> Connection for T {}

#[tokio::test]
async fn a_drain_lets_work_end_and_cuts_the_rest() {
    let handler = streaming(Arc::default(), || {
        let hello = stream::iter([Ok(Bytes::from_static(b"data: hello\n\n"))]);
        hello.chain(stream::once(pending())).boxed()
    });
    let plan = Plan { handler, ..Plan::default() };
    let house = House::open(plan).await;
    let status = request("GET /daemon/status", "", "");
    let mut idle = house.unix().await;
    assert_eq!(exchange(&mut idle, status.as_bytes()).await.unwrap().status, 200);
    let mut streaming = house.tcp().await;
    streaming.write_all(request("GET /events", "", "").as_bytes()).await.unwrap();
    assert_eq!(read_answer(&mut streaming).await.unwrap().status, 200);
    let socket = house.socket().to_owned();
    let address = house.server.address();
    let House { server, dir: _dir } = house;
    assert_eq!(server.drain(Duration::from_millis(50)).await, 1);
    assert_eq!(idle.read(&mut [0]).await.unwrap_or(0), 0);
    let mut rest = Vec::new();
    streaming.read_to_end(&mut rest).await.ok();
    assert!(!rest.ends_with(b"0\r\n\r\n"), "a cut stream must not look complete");
    assert!(!socket.exists());
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_drain_ends_when_the_last_client_left() {
    let house = House::open(Plan::default()).await;
    let status = request("GET /daemon/status", "", "");
    let mut idle = house.tcp().await;
    assert_eq!(exchange(&mut idle, status.as_bytes()).await.unwrap().status, 200);
    let House { server, dir: _dir } = house;
    assert_eq!(server.drain(Duration::from_secs(3_600)).await, 0);
}

#[tokio::test]
async fn the_socket_is_private_and_a_leftover_is_replaced() {
    let house = House::open(Plan::default()).await;
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(house.socket()), 0o600);
    assert_eq!(mode(house.socket().parent().unwrap()), 0o700);
    // A successor takes the name over; the predecessor's drain leaves it alone.
    let successor = bind_socket(house.socket()).unwrap();
    let socket = house.socket().to_owned();
    let House { server, dir } = house;
    server.drain(Duration::from_secs(3_600)).await;
    assert!(socket.exists());
    drop(successor);
    let file = dir.path().join("run/file");
    fs::write(&file, "precious").unwrap();
    assert_eq!(bind_socket(&file).unwrap_err().code(), "socket_path_taken");
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    let long = dir.path().join("x".repeat(SOCKET_PATH_BYTES_MAX));
    assert_eq!(bind_socket(&long).unwrap_err().code(), "socket_path_too_long");
    let open = dir.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(bind_socket(&open.join("s")).unwrap_err().code(), "socket_unavailable");
}

#[tokio::test]
async fn a_taken_port_is_an_error() {
    let house = House::open(Plan::default()).await;
    let port = house.server.address().port();
    let doors = Doors { socket: house.dir.path().join("run/other"), port };
    let perimeter =
        crate::perimeter::Perimeter::new(&stdx::secret::Secret::new("x".into()), vec![]);
    let front = Arc::new(Front::new(perimeter, echo()));
    let error = Server::open(doors, front, Bounds::default(), Shutdown::new()).await.unwrap_err();
    assert_eq!(error.code(), "port_unavailable");
}
