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
