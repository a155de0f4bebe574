//! Frames written by hand on a socket that came through the door: what is none of the protocol ends its connection at
//! once, what is a lost line does not.

use bytes::Bytes;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use vocab::limits::{REMOTE_PIECE_BYTES_MAX, REMOTE_TEXT_BYTES_MAX};

use super::{
    rig,
    sockets::{self, TOKEN},
};
use crate::server::Server;

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;

/// Builds a frame, which may claim to be longer than it is.
fn frame(first: u8, is_masked: bool, len: u64, payload: &[u8]) -> Vec<u8> {
    let mask = if is_masked { 0x80 } else { 0 };
    let mut frame = vec![first];
    match (u8::try_from(len), u16::try_from(len)) {
        (Ok(len), _) if len < 126 => frame.push(mask | len),
        (_, Ok(len)) => {
            frame.push(mask | 126);
            frame.extend(len.to_be_bytes());
        }
        _ => {
            frame.push(mask | 127);
            frame.extend(len.to_be_bytes());
        }
    }
    if is_masked {
        frame.extend([0; 4]);
    }
    frame.extend(payload);
    frame
}

fn whole(first: u8, payload: &[u8]) -> Vec<u8> {
    frame(first, true, payload.len() as u64, payload)
}

/// A socket that has shaken hands and said hello.
async fn greeted(open: &sockets::Open) -> TcpStream {
    let mut socket = TcpStream::connect(open.address).await.unwrap();
    let request = format!(
        "GET /stead/workspace HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: stead.workspace.v1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101"));
    let hello = json!({
        "type": "hello",
        "protocol": {"major": 1, "minor_min": 0, "minor_max": 0},
        "capabilities": {"required": [], "optional": ["resume", "transfer"]},
        "client": {"name": "test", "version": "1"},
    });
    socket.write_all(&whole(TEXT, hello.to_string().as_bytes())).await.unwrap();
    let (first, welcome) = hear(&mut socket).await.unwrap();
    assert_eq!((first, &welcome[..18]), (TEXT, &br#"{"type":"welcome","#[..]));
    socket
}

/// Hears one frame; none at the end.
async fn hear(socket: &mut TcpStream) -> Option<(u8, Bytes)> {
    let first = socket.read_u8().await.ok()?;
    let len = match socket.read_u8().await.ok()? {
        126 => socket.read_u16().await.ok()?.into(),
        127 => usize::try_from(socket.read_u64().await.ok()?).unwrap(),
        len => len.into(),
    };
    let mut payload = vec![0; len];
    socket.read_exact(&mut payload).await.ok()?;
    Some((first, payload.into()))
}

/// Hears until the end: the code of the last message, and that of the frame that closes.
async fn end(mut socket: TcpStream) -> (Option<String>, Option<u16>) {
    let (mut code, mut status) = (None, None);
    while let Some((first, payload)) = hear(&mut socket).await {
        match first {
            TEXT => {
                let told: serde_json::Value = serde_json::from_slice(&payload).unwrap();
                code = told["code"].as_str().map(str::to_owned);
            }
            CLOSE => status = payload.first_chunk().map(|code| u16::from_be_bytes(*code)),
            _ => {}
        }
    }
    (code, status)
}

async fn is_over(server: &Server) {
    while server.status().connections > 0 {
        tokio::task::yield_now().await;
    }
}

fn closing(code: u16) -> Vec<u8> {
    whole(CLOSE, &code.to_be_bytes())
}

#[tokio::test]
async fn what_is_no_frame_of_the_protocol_ends_its_connection_at_once() {
    let too_long = REMOTE_TEXT_BYTES_MAX as u64 + 1;
    let half = vec![b'x'; REMOTE_TEXT_BYTES_MAX / 2 + 1];
    let piece = vec![1; REMOTE_PIECE_BYTES_MAX + 17];
    let halves = [frame(0x01, true, half.len() as u64, &half), whole(0x80, &half)].concat();
    for (what, bytes, status, code) in [
        ("unmasked", frame(TEXT, false, 2, b"{}"), 1002, "protocol_error"),
        ("compressed", whole(0xc1, b"{}"), 1002, "protocol_error"),
        ("an opcode that is none", whole(0x83, b"{}"), 1002, "protocol_error"),
        ("a ping in parts", whole(0x09, b"{}"), 1002, "protocol_error"),
        ("a long ping", whole(PING, &[0; 126]), 1002, "protocol_error"),
        ("a part without a beginning", whole(0x80, b"{}"), 1002, "protocol_error"),
        ("a text that is no UTF-8", whole(TEXT, b"\xff\xfe"), 1007, "invalid_utf8"),
        (
            "a text that says it is too long",
            frame(TEXT, true, too_long, b""),
            1009,
            "message_too_big",
        ),
        ("one of any length", frame(TEXT, true, 1 << 62, b""), 1009, "message_too_big"),
        ("a text that is too long in parts", halves, 1009, "message_too_big"),
        ("a piece that is too long", whole(BINARY, &piece), 1009, "message_too_big"),
        ("a text that is no JSON", whole(TEXT, b"x"), 1002, "protocol_error"),
    ] {
        let server = rig::server(rig::fake());
        let open = sockets::tcp(&server, None).await;
        let mut socket = greeted(&open).await;
        // The other side need not read all of it.
        socket.write_all(&bytes).await.ok();
        assert_eq!(end(socket).await, (Some(code.to_owned()), Some(status)), "{what}");
        is_over(&server).await;
    }
}

#[tokio::test]
async fn whoever_closes_in_order_is_not_waited_for() {
    for (what, bytes, status) in [
        ("well", closing(1000), Some(1000)),
        ("going away", closing(1001), Some(1001)),
        ("without a word", whole(CLOSE, b""), None),
        ("with a number that nobody may say", closing(1005), Some(1002)),
    ] {
        let server = rig::server(rig::fake());
        let open = sockets::tcp(&server, None).await;
        let mut socket = greeted(&open).await;
        socket.write_all(&bytes).await.unwrap();
        assert_eq!(end(socket).await, (None, status), "{what}");
        is_over(&server).await;
    }
}

#[tokio::test]
async fn whoever_is_cut_off_is_waited_for() {
    for (what, bytes) in [
        ("between two messages", Vec::new()),
        ("within one", frame(TEXT, true, 1_000, b"{")),
        ("within a head", vec![TEXT]),
    ] {
        let server = rig::server(rig::fake());
        let open = sockets::tcp(&server, None).await;
        let mut socket = greeted(&open).await;
        socket.write_all(&bytes).await.unwrap();
        socket.shutdown().await.unwrap();
        end(socket).await;
        assert_eq!(server.status().connections, 1, "{what}");
    }
}
