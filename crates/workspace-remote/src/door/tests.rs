//! Who is let in, at the door itself: real sockets, and requests written by hand.

use std::{
    io::{Read as _, Write as _},
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::Duration,
};

use rustls::ServerConfig;
use stdx::secret::Secret;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixListener},
    sync::watch,
    time::Instant,
};
use tokio_util::sync::{CancellationToken, DropGuard};
use vocab::limits::{
    REMOTE_HANDSHAKE_MS, REMOTE_HEAD_BYTES_MAX, REMOTE_KNOCKS_MAX, REMOTE_SOCKETS_MAX,
    REMOTE_TOKEN_BYTES_MAX, REMOTE_TOKEN_BYTES_MIN,
};

use super::{
    listen::{self, Listener},
    *,
};
use crate::server::{Server, ServerOptions};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const GOOD: &str = "GET /stead/workspace HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n\
    Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    Sec-WebSocket-Protocol: other, stead.workspace.v1\r\nAuthorization: Bearer 0123456789abcdef0123456789abcdef\r\n\r\n";

struct Open(
    SocketAddr,
    Server,
    #[expect(dead_code, reason = "closes the door at the end")] DropGuard,
);

fn server() -> Server {
    let workspace = std::sync::Arc::new(workspace::fake::Fake::default());
    Server::new(workspace, ServerOptions::new("test", "1"))
}

async fn open_with(token: Option<&str>, tls: Option<Arc<ServerConfig>>) -> Open {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = server();
    let token = token.map(|text| Token::new(&Secret::new(text.into())).unwrap());
    let door = Door::new(token, vec!["https://page.example".parse().unwrap()]);
    let closing = CancellationToken::new();
    let tls = tls.map(|config| watch::Sender::new(config).subscribe());
    let listener = Listener::Tcp(listener, tls);
    tokio::spawn(listen::serve(listener, door, server.clone(), closing.clone()));
    Open(address, server, closing.drop_guard())
}

async fn open(token: Option<&str>) -> Open {
    open_with(token, None).await
}

async fn open_tls() -> Open {
    open_with(None, Some(crate::tests::Trust::of("localhost").server)).await
}

/// Says something and returns the head of the answer.
async fn ask(address: SocketAddr, request: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    // It may be closed before all of it is said.
    socket.write_all(request).await.ok();
    let mut heard = Vec::new();
    while !heard.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut buffer = [0; 1024];
        match socket.read(&mut buffer).await {
            Ok(n_read @ 1..) => heard.extend_from_slice(&buffer[..n_read]),
            Ok(0) | Err(_) => break,
        }
    }
    String::from_utf8(heard).unwrap()
}

#[tokio::test]
async fn what_is_no_handshake_is_refused() {
    let open = open(Some(TOKEN)).await;
    let check = async |from: &str, to: &str, expected: &str| {
        assert!(GOOD.contains(from), "{from}");
        let heard = ask(open.0, GOOD.replacen(from, to, 1).as_bytes()).await;
        let status = heard.get(9..12).unwrap_or("");
        assert_eq!(status, expected, "{from:?} -> {to:?}: {heard}");
        assert!(
            !heard.contains(TOKEN) && expected == "101" || heard.contains("connection: close"),
            "{heard}"
        );
    };
    check("Host", "Host", "101").await;
    for path in [
        "/",
        "/stead",
        "/stead/workspace/",
        "//stead/workspace",
        "/Stead/workspace",
        "/stead%2Fworkspace",
        "http://x/stead/workspace",
        "http://u:p@x/stead/workspace",
    ] {
        check("/stead/workspace", path, "404").await;
    }
    check("/stead/workspace", &format!("/stead/workspace?token={TOKEN}"), "400").await;
    check("/stead/workspace", "/stead/workspace?", "400").await;
    for method in ["POST", "HEAD", "OPTIONS"] {
        check("GET", method, "405").await;
    }
    check("HTTP/1.1", "HTTP/1.0", "400").await;
    check("Host: x\r\n", "", "400").await;
    check("Host: x", "Host: u@x", "400").await;
    check("Host: x", "Host: x\r\nHost: y", "400").await;
    check("Upgrade: WebSocket\r\n", "", "426").await;
    check("Upgrade: WebSocket", "Upgrade: h2c", "426").await;
    check("keep-alive, Upgrade", "keep-alive", "426").await;
    check("Version: 13", "Version: 12", "426").await;
    check("Version: 13", "Version: 13\r\nSec-WebSocket-Version: 13", "426").await;
    check("Sec-WebSocket-Version: 13\r\n", "", "426").await;
    check("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ=", "400").await;
    check("dGhlIHNhbXBsZSBub25jZQ==", "!", "400").await;
    check("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "", "400").await;
    check("stead.workspace.v1", "stead.workspace.v2", "400").await;
    check("stead.workspace.v1", "Stead.Workspace.V1", "400").await;
    check("Sec-WebSocket-Protocol: other, stead.workspace.v1\r\n", "", "400").await;
    check("Host: x", &format!("Host: x\r\nX: {}", "x".repeat(REMOTE_HEAD_BYTES_MAX)), "431").await;
}

#[tokio::test]
async fn only_the_token_opens_the_door() {
    let open = open(Some(TOKEN)).await;
    let check = async |header: &str, expected: &str| {
        let request = GOOD.replace(&format!("Authorization: Bearer {TOKEN}\r\n"), header);
        let heard = ask(open.0, request.as_bytes()).await;
        assert_eq!(heard.get(9..12), Some(expected), "{header}: {heard}");
    };
    let longer = format!("{TOKEN}0");
    check(&format!("authorization: bearer {TOKEN}\r\n"), "101").await;
    check("", "401").await;
    for (scheme, token) in [
        ("Bearer", &TOKEN[..31]),
        ("Bearer", &longer),
        ("Bearer", ""),
        ("Basic", TOKEN),
        ("Bearer", &TOKEN.to_uppercase()),
        ("Bearer ", TOKEN),
        ("", TOKEN),
    ] {
        check(&format!("Authorization: {scheme} {token}\r\n"), "401").await;
    }
    check(&format!("Authorization: Bearer {TOKEN}\r\nAuthorization: Bearer {TOKEN}\r\n"), "401")
        .await;
    check(&format!("Sec-WebSocket-Protocol: {TOKEN}\r\nCookie: token={TOKEN}\r\n"), "401").await;
}

#[tokio::test]
async fn pages_come_in_only_from_where_they_may() {
    for token in [Some(TOKEN), None] {
        let open = open(token).await;
        let check = async |origin: &str, expected: &str| {
            let request = GOOD.replacen("Host: x", &format!("Host: x\r\n{origin}"), 1);
            let heard = ask(open.0, request.as_bytes()).await;
            assert_eq!(heard.get(9..12), Some(expected), "{origin}: {heard}");
        };
        check("Origin: https://page.example", "101").await;
        for origin in [
            "null",
            "*",
            "",
            "https://page.example:443",
            "https://page.example/",
            "http://page.example",
            "https://PAGE.example",
            "https://evil.page.example",
        ] {
            check(&format!("Origin: {origin}"), "403").await;
        }
        check("Origin: https://page.example\r\nOrigin: https://page.example", "403").await;
    }
}

#[tokio::test]
async fn strangers_at_the_door_are_bounded() {
    assert_eq!(
        REMOTE_SOCKETS_MAX,
        2 * 128 + REMOTE_KNOCKS_MAX,
        "two for each connection, and a crowd"
    );
    let open = open(None).await;
    let mut silent = Vec::new();
    for _ in 0..REMOTE_KNOCKS_MAX {
        let mut socket = TcpStream::connect(open.0).await.unwrap();
        socket.write_all(b"GET /").await.unwrap();
        silent.push(socket);
    }
    // One more is let go without a word, and so is everybody until one of the others goes.
    assert_eq!(ask(open.0, GOOD.as_bytes()).await, "");
    silent.pop();
    while ask(open.0, GOOD.as_bytes()).await.get(9..12) != Some("101") {
        tokio::task::yield_now().await;
    }
    assert_eq!(open.1.status().connections, 0);
}

/// Waits until the other side closes, while saying one byte a second, and tells how long that took.
async fn dragged_out(address: SocketAddr, said: &[u8]) -> Duration {
    let start = Instant::now();
    let (mut reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
    let saying = async {
        for byte in said {
            if writer.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    };
    let mut heard = Vec::new();
    tokio::select! {
        () = saying => {}
        _ = reader.read_to_end(&mut heard) => {}
    }
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_takes_too_long_is_let_go() {
    let (plain, tls) = (open(None).await, open_tls().await);
    let limit = Duration::from_millis(REMOTE_HANDSHAKE_MS);
    let slow = GOOD.as_bytes().get(..60).unwrap();
    for (what, open, said) in [
        ("silence", &plain, &b""[..]),
        ("a request, byte by byte", &plain, slow),
        ("silence before TLS", &tls, b""),
        ("the beginning of TLS", &tls, b"\x16\x03\x01"),
    ] {
        let took = dragged_out(open.0, said).await;
        let late = Duration::from_secs(1);
        assert!(limit <= took && took <= limit + late, "{what}: {took:?}");
    }
}

/// Shakes hands as another user, which this thread becomes for good.
fn ask_as(uid: Option<u32>, path: &Path) -> String {
    if let Some(uid) = uid.map(rustix::process::Uid::from_raw) {
        rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
    }
    let mut socket = std::os::unix::net::UnixStream::connect(path).unwrap();
    socket.write_all(GOOD.as_bytes()).ok();
    let mut heard = [0; 12];
    let n_read = socket.read(&mut heard).unwrap_or(0);
    String::from_utf8_lossy(&heard[..n_read]).into_owned()
}

#[tokio::test]
async fn another_user_does_not_come_as_far_as_the_door() {
    if !rustix::process::geteuid().is_root() {
        // Only root can be another user for a while.
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let server = server();
    let socket = UnixListener::bind(&path).unwrap();
    for path in [dir.path(), &path] {
        rustix::fs::chmod(path, rustix::fs::Mode::from_raw_mode(0o777)).unwrap();
    }
    let closing = CancellationToken::new();
    let door = Door::new(None, Vec::new());
    tokio::spawn(listen::serve(Listener::Unix(socket), door, server, closing.clone()));
    let check = async |uid: Option<u32>, expected: &str| {
        let path = path.clone();
        // The kernel notes who the thread is that connects, so the thread is somebody else.
        let thread = std::thread::spawn(move || ask_as(uid, &path));
        let asking = tokio::task::spawn_blocking(|| thread.join().unwrap());
        assert_eq!(asking.await.unwrap(), expected, "{uid:?}");
    };
    check(Some(65_534), "").await;
    check(None, "HTTP/1.1 101").await;
    closing.cancel();
}

#[test]
fn a_token_is_long_enough_and_sayable() {
    let check = |text: &str, expected: Result<(), TokenError>| {
        assert_eq!(Token::new(&Secret::new(text.to_owned())).map(drop), expected, "{text:?}");
    };
    check(&"x".repeat(REMOTE_TOKEN_BYTES_MIN - 1), Err(TokenError::Length));
    check(&"x".repeat(REMOTE_TOKEN_BYTES_MIN), Ok(()));
    check(&"x".repeat(REMOTE_TOKEN_BYTES_MAX), Ok(()));
    check(&"x".repeat(REMOTE_TOKEN_BYTES_MAX + 1), Err(TokenError::Length));
    check(&"é".repeat(REMOTE_TOKEN_BYTES_MIN / 2), Ok(()));
    check(&" ".repeat(40), Err(TokenError::Blank));
    check(&format!("{}\n", "x".repeat(40)), Err(TokenError::Unsayable));
    assert_eq!(format!("{:?}", Token::new(&Secret::new("x".repeat(40)))), "Ok(Token(…))");
}

#[test]
fn origins_are_written_as_browsers_send_them() {
    for good in ["https://a.b", "http://localhost:3000", "https://[::1]:8443", "http://127.0.0.1"] {
        assert_eq!(good.parse::<Origin>().unwrap().as_str(), good);
    }
    for bad in [
        "",
        "*",
        "null",
        "a.b",
        "https://",
        "https://a.b/",
        "https://A.b",
        "https://a.b:443",
        "http://a.b:80",
        "https://a.b:0",
        "https://a.b:08",
        "https://a.b:",
        "https://u@a.b",
        "ftp://a.b",
        "https://*.b",
        "https://[::1",
        "https://a.b?x",
        "https://[0:0:0:0:0:0:0:1]",
    ] {
        assert!(bad.parse::<Origin>().is_err(), "{bad}");
    }
}

#[test]
fn a_key_is_confirmed_as_the_standard_shows() {
    assert_eq!(accept_of("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}
