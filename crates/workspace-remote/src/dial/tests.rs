//! Addresses as people write them, and servers that answer wrongly.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

#[test]
fn addresses_are_read_and_shown_without_credentials() {
    let check = |text: &str, expected: Result<&str, AddressError>| {
        let told = text.parse::<Address>().map(|address| address.to_string());
        assert_eq!(told.as_deref().map_err(|error| *error), expected, "{text}");
    };
    check("wss://h", Ok("wss://h:443/stead/workspace"));
    check("WSS://H:8787/", Ok("wss://h:8787/stead/workspace"));
    check("ws://127.0.0.1:8787/stead/workspace", Ok("ws://127.0.0.1:8787/stead/workspace"));
    check("ws://localhost:1", Ok("ws://localhost:1/stead/workspace"));
    check("ws://[::1]:1", Ok("ws://[::1]:1/stead/workspace"));
    check("unix:/run/s", Ok("unix:/run/s"));
    for text in [
        "",
        "h",
        "https://h",
        "wss:h",
        "wss://",
        "wss://:1",
        "wss://h:x",
        "wss://h:0",
        "wss://h:70000",
        "wss://[::1",
        "wss://[x]",
        "unix:s",
        "wss://h h",
        "wss://h\\x",
    ] {
        check(text, Err(AddressError::Form));
    }
    for text in [
        "ws://10.0.0.1",
        "ws://h:8787",
        "ws://localhost.evil.example",
        "ws://127.0.0.1.evil.example",
        "ws://0.0.0.0",
        "ws://2130706433",
        "ws://[::]",
        "ws://[::ffff:127.0.0.1]",
    ] {
        check(text, Err(AddressError::Exposed));
    }
    for text in ["wss://user@h", "wss://user:secret@h/stead/workspace", "ws://@localhost"] {
        check(text, Err(AddressError::UserInfo));
    }
    for text in ["wss://h?token=secret", "wss://h/stead/workspace?", "wss://h#x", "wss://user@h?x"]
    {
        check(text, Err(AddressError::Query));
    }
    for text in ["wss://h/other", "wss://h/stead/workspace/", "wss://h//stead/workspace"] {
        check(text, Err(AddressError::Path));
    }
    assert!(!AddressError::Query.to_string().contains("secret"));
}

#[tokio::test]
async fn a_server_that_answers_wrongly_is_not_talked_to() {
    let good = "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: ACCEPT\r\nSec-WebSocket-Protocol: stead.workspace.v1\r\n\r\n";
    let check = async |answer: String, expected: &str| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut heard = String::new();
            while !heard.contains("\r\n\r\n") {
                let mut buffer = [0; 1024];
                let n_read = socket.read(&mut buffer).await.unwrap();
                heard.push_str(std::str::from_utf8(&buffer[..n_read]).unwrap());
            }
            let key = heard.lines().find_map(|line| line.strip_prefix("sec-websocket-key: "));
            let accept = crate::door::accept_of(key.unwrap());
            let answer = answer.replace("ACCEPT", accept.to_str().unwrap());
            socket.write_all(answer.as_bytes()).await.unwrap();
            (socket, heard)
        };
        let token = Some(Secret::new("secret".into()));
        let address = format!("ws://{address}").parse().unwrap();
        let connector = Dial { address, token, tls: None }.connector();
        let (opened, (_socket, heard)) = tokio::join!(connector(), serving);
        assert!(heard.starts_with("GET /stead/workspace HTTP/1.1\r\n"), "{heard}");
        assert!(heard.contains("authorization: Bearer secret\r\n"), "{heard}");
        let told = match opened {
            Ok(_) => "opened".to_owned(),
            Err(error) => format!("{}: {error}", error.code()),
        };
        assert!(told.contains(expected) && !told.contains("secret"), "{answer}: {told}");
    };
    check(good.to_owned(), "opened").await;
    for (from, to) in [
        ("ACCEPT", "AAAA"),
        ("Sec-WebSocket-Accept: ACCEPT\r\n", ""),
        ("ACCEPT\r\n", "ACCEPT\r\nSec-WebSocket-Accept: AAAA\r\n"),
        ("workspace.v1", "workspace.v2"),
        ("Sec-WebSocket-Protocol: stead.workspace.v1\r\n", ""),
        ("v1\r\n", "v1\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"),
        ("Upgrade: websocket", "Upgrade: other"),
    ] {
        check(good.replacen(from, to, 1), "protocol_error").await;
    }
    let status = |line: &str| format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n");
    check(status("401 x"), "token_refused: the workspace refuses the connection: the token").await;
    check(status("404 x"), "not_a_runtime").await;
    check(status("302 x\r\nLocation: http://127.0.0.1:1/"), "not_a_runtime").await;
    check(status("200 OK"), "not_a_runtime").await;
    check("garbage\r\n\r\n".to_owned(), "unreachable").await;
    check(format!("HTTP/1.1 101 x\r\nX: {}\r\n\r\n", "x".repeat(100_000)), "unreachable").await;
}
