//! The frames of WebSocket beside a suite that others wrote: an echo on the very transport that the protocol uses, asked
//! by its fuzzing client, and asking its fuzzing server. The handshake is the suite's own, without a door.

#![expect(clippy::disallowed_methods, reason = "starts the suite and reads what it reports")]

use std::{
    convert::Infallible,
    path::Path,
    process::{Command, Stdio},
};

use futures_util::{SinkExt, StreamExt};
use http_body_util::Empty;
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};

use crate::{
    door::{self, listen::Line},
    frame::Frame,
    transport::{
        Broken, Said, Transport,
        websocket::{self, Side},
    },
};

/// What does not apply: messages beyond our bounds and how fast they are, and compression, which is not spoken.
const LEFT_OUT: [&str; 3] = ["9.*", "12.*", "13.*"];

/// Says everything that is said to it, until the other side closes or breaks a rule.
async fn echo(mut line: Transport) {
    while let Some(heard) = line.incoming.next().await {
        let said = match heard {
            Ok(frame) => Said::Frame(frame),
            Err(Broken::Violation(violation)) => Said::Close(violation.status),
            Err(Broken::Lost(_)) => return,
        };
        let is_last = matches!(said, Said::Close(_));
        if line.outgoing.send(said).await.is_err() || is_last {
            break;
        }
    }
    line.outgoing.close().await.ok();
}

async fn serve(socket: TcpStream) {
    let (sender, upgraded) = tokio::sync::oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let answer = service_fn(|mut request: Request<Incoming>| {
        let key = door::one(request.headers(), &header::SEC_WEBSOCKET_KEY).map(door::accept_of);
        let upgrade = hyper::upgrade::on(&mut request);
        sender.lock().unwrap().take().unwrap().send(upgrade).ok();
        let mut response = Response::new(Empty::<Bytes>::new());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        response.headers_mut().insert(header::UPGRADE, "websocket".parse().unwrap());
        response.headers_mut().insert(header::CONNECTION, "Upgrade".parse().unwrap());
        response.headers_mut().insert(header::SEC_WEBSOCKET_ACCEPT, key.unwrap());
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let line: Line = Box::new(socket);
    let http =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(line), answer);
    if http.with_upgrades().await.is_err() {
        return;
    }
    let Ok(Ok(upgraded)) = async { Ok::<_, Infallible>(upgraded.await.unwrap().await) }.await
    else {
        return;
    };
    let parts = upgraded.downcast::<TokioIo<Line>>().unwrap();
    echo(websocket::transport(parts.io.into_inner(), &parts.read_buf, Side::Server).await).await;
}

async fn call(address: &str, target: &str) -> Transport {
    let line: Line = Box::new(TcpStream::connect(address).await.unwrap());
    let handshake = hyper::client::conn::http1::handshake::<_, Empty<Bytes>>(TokioIo::new(line));
    let (mut sender, http) = handshake.await.unwrap();
    tokio::spawn(http.with_upgrades());
    let request = Request::builder()
        .uri(target)
        .header(header::HOST, address)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ==")
        .body(Empty::new())
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let parts = hyper::upgrade::on(response).await.unwrap().downcast::<TokioIo<Line>>().unwrap();
    websocket::transport(parts.io.into_inner(), &parts.read_buf, Side::Client).await
}

/// Returns the suite's command; none where it is not installed.
fn suite(mode: &str, address: &str, out: &Path) -> Option<Command> {
    let Some(python) = std::env::var_os("STEAD_TEST_PY") else {
        assert!(std::env::var_os("STEAD_TEST_REQUIRE").is_none(), "STEAD_TEST_PY is not set");
        println!("left out: STEAD_TEST_PY is not set");
        return None;
    };
    let mut command = Command::new(python);
    command
        .args(["-c", "from kosoku._cli import main; main()", "-m", mode, "-p", "2", "-o"])
        .arg(out);
    for group in LEFT_OUT {
        command.args(["-x", group]);
    }
    command.arg(address).stdin(Stdio::null());
    Some(command)
}

/// Reads a report; none while it is not whole.
fn report(out: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(out.join("index.json")).ok()?).ok()
}

/// Checks every verdict of a report; returns how many there are.
fn check(index: &Value) -> usize {
    let mut n_cases = 0;
    for cases in index.as_object().unwrap().values() {
        for (case, verdict) in cases.as_object().unwrap() {
            n_cases += 1;
            for (name, good) in [
                ("behavior", &["OK", "NON-STRICT", "INFORMATIONAL"][..]),
                ("behaviorClose", &["OK", "INFORMATIONAL"]),
            ] {
                let found = verdict[name].as_str().unwrap();
                assert!(good.contains(&found), "{case}: {name} is {found}: {verdict}");
            }
        }
    }
    n_cases
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stranger_a_fuzzing_client_finds_no_fault_in_our_frames() {
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let Some(mut suite) = suite("fuzzingclient", &address, dir.path()) else { return };
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket));
        }
    });
    let ended = tokio::task::spawn_blocking(move || suite.output().unwrap()).await.unwrap();
    let n_cases = check(&report(dir.path()).unwrap());
    assert!(n_cases > 200, "{n_cases} cases: {ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stranger_a_fuzzing_server_finds_no_fault_in_our_frames() {
    let dir = tempfile::tempdir().unwrap();
    // The suite wants a port that it can name.
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let Some(mut suite) = suite("fuzzingserver", &address, dir.path()) else { return };
    let mut serving = suite.spawn().unwrap();
    while TcpStream::connect(&address).await.is_err() {
        assert!(serving.try_wait().unwrap().is_none(), "the suite ended");
        tokio::task::yield_now().await;
    }
    let mut counting = call(&address, "/getCaseCount").await;
    let Some(Ok(Frame::Text(count))) = counting.incoming.next().await else { panic!("no count") };
    let count: usize = std::str::from_utf8(&count).unwrap().parse().unwrap();
    for case in 1..=count {
        echo(call(&address, &format!("/runCase?case={case}&agent=stead")).await).await;
    }
    echo(call(&address, "/updateReports?agent=stead").await).await;
    let index = loop {
        if let Some(index) = report(dir.path()) {
            break index;
        }
        tokio::task::yield_now().await;
    };
    serving.kill().unwrap();
    serving.wait().unwrap();
    assert_eq!(check(&index), count);
    assert!(count > 200, "{count}");
}
