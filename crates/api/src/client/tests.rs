//! A client before daemons that do not answer as they should.

use std::io::ErrorKind;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, UnixListener},
    time::timeout,
};

use super::*;

async fn status(address: Address) -> Result<Value, ClientError> {
    let client = Client::new(address);
    client.json::<(), _>(Endpoint::DaemonStatus, Target::default(), None).await
}

#[tokio::test]
async fn an_answer_that_announces_too_much_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let answer = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{{", CLIENT_ANSWER_BYTES_MAX + 1);
        stream.write_all(head.as_bytes()).await.unwrap();
        // The body never comes; it ends when the client goes.
        stream.read_to_end(&mut Vec::new()).await.ok();
    };
    let (told, ()) = tokio::join!(status(Address::Socket(path)), answer);
    let Err(ClientError::Malformed(text)) = told else { panic!("{told:?}") };
    assert!(text.contains("announces"), "{text}");
}

/// Asks a daemon that answers with these bytes and hangs up.
async fn told(method: Method, answer: &str) -> Result<Value, ClientError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let client = Client { answer_bytes_max: 16, ..Client::new(Address::Socket(path)) };
    let (parameter, body) = (Target::default(), Some(&()));
    let ask = async {
        match method {
            Method::Get => client.json::<(), _>(Endpoint::SessionList, parameter, None).await,
            Method::Post | Method::Delete => {
                client.json(Endpoint::SessionCreate, parameter, body).await
            }
        }
    };
    let daemon = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let answer = format!("HTTP/1.1 200 OK\r\n{answer}");
        stream.write_all(answer.as_bytes()).await.unwrap();
    };
    tokio::join!(ask, daemon).0
}

#[tokio::test]
async fn an_answer_is_whole_and_bounded_with_a_length_and_without() {
    let chunked = |body: &str| format!("transfer-encoding: chunked\r\n\r\n{body}");
    let length = |bytes: usize, body: &str| format!("content-length: {bytes}\r\n\r\n{body}");
    for (answer, expected) in [
        (chunked("3\r\n[1,\r\n3\r\n23]\r\n0\r\n\r\n"), "[1,23]"),
        (length(6, "[1,23]"), "[1,23]"),
        (chunked("10\r\n[12345678901234]\r\n0\r\n\r\n"), "[12345678901234]"),
        (chunked("8\r\n[1234567\r\n9\r\n12345678]\r\n0\r\n\r\n"), "longer than 16 bytes"),
        (length(17, "[123456789012345]"), "announces 17 bytes"),
        (chunked("6\r\n[1,23]\r\n"), "broke off"),
        (chunked("6\r\n[1,"), "broke off"),
        (length(6, "[1,"), "broke off"),
    ] {
        let said = match told(Method::Get, &answer).await {
            Ok(value) => value.to_string(),
            Err(error) => {
                let failure = Failure::from(error);
                let cut = failure.code == "connection_broken";
                assert_eq!(cut, expected == "broke off", "{answer:?}: {failure:?}");
                // A question changes nothing, whatever became of its answer.
                assert!(!cut || failure.effect == Effect::NotStarted, "{failure:?}");
                failure.message
            }
        };
        assert!(said.contains(expected), "{answer:?}: {said}");
    }
    let cut = told(Method::Post, &length(6, "[1,")).await.unwrap_err();
    assert_eq!(Failure::from(cut).effect, Effect::Indeterminate);
}

#[tokio::test(start_paused = true)]
async fn a_door_that_nobody_opens_is_given_up() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let host = listener.local_addr().unwrap().to_string();
    // The kernel accepts a few by itself, then it lets others wait.
    let mut held = Vec::new();
    while let Ok(stream) = timeout(Duration::from_millis(1), TcpStream::connect(&host)).await {
        held.push(stream.unwrap());
    }
    let begun = tokio::time::Instant::now();
    let told = status(Address::Tcp { host, credential: Secret::new("x".into()) }).await;
    let Err(ClientError::Unreachable(error)) = told else { panic!("{told:?}") };
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(begun.elapsed().as_millis() / 10, u128::from(CLIENT_CONNECT_MS_MAX) / 10);
}
