//! The workspace protocol: its messages, its framing over bytes, and a whole connection.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use vocab::limits::{REMOTE_PIECE_BYTES_MAX, REMOTE_TEXT_BYTES_MAX};
use workspace::{fake::Fake, source::ToolSource as _};
use workspace_remote::{
    codec::{self, Bounds, PIECE_HEAD_BYTES},
    connection::{
        Action, Connection, Served,
        gate::{Gate, Places, Room},
        greeting::{self, First, Offered},
        work::Ending,
    },
    dial::Address,
    frame::Frame,
    offer,
    protocol::{ClientMessage, ServerMessage},
    transport::stream,
};

/// A text is measured before it is read, and what is read was measured.
pub(crate) fn text(bytes: &[u8]) {
    let bounds = Bounds::usual();
    let Ok(head) = codec::scan(bytes, &bounds) else { return };
    assert!(bytes.len() <= bounds.bytes_max && std::str::from_utf8(bytes).is_ok());
    // Whatever they are, they are read or refused.
    drop(ClientMessage::read(head.kind, bytes));
    drop(ServerMessage::read(head.kind, bytes));
}

/// A piece that is read is written as it was.
pub(crate) fn piece(bytes: &[u8]) {
    let message = Bytes::copy_from_slice(bytes);
    let Ok(piece) = codec::piece(&message) else { return };
    assert!(!piece.bytes.is_empty() && piece.bytes.len() <= REMOTE_PIECE_BYTES_MAX);
    assert_eq!(codec::piece_frame(piece.id, piece.offset, &piece.bytes), Frame::Binary(message));
}

/// Messages are the same wherever the stream is cut, and none is longer than any may be.
pub(crate) fn stream(bytes: &[u8]) {
    let whole = frames(&[bytes]);
    let cut = bytes.first().map_or(0, |first| usize::from(*first)).min(bytes.len());
    let (front, back) = bytes.split_at(cut);
    assert_eq!(whole, frames(&[front, back]), "cut at {cut}");
}

fn frames(parts: &[&[u8]]) -> (Vec<Frame>, bool) {
    let (mut buffer, mut found) = (BytesMut::new(), Vec::new());
    for part in parts {
        buffer.extend_from_slice(part);
        loop {
            match stream::decode(&mut buffer) {
                Ok(Ok(frame)) => {
                    let most = REMOTE_TEXT_BYTES_MAX.max(REMOTE_PIECE_BYTES_MAX + PIECE_HEAD_BYTES);
                    assert!(frame.len() <= most);
                    found.push(frame);
                }
                Ok(Err(needed)) => {
                    assert!(needed > buffer.len(), "it wants what it has");
                    break;
                }
                Err(_violation) => return (found, true),
            }
        }
    }
    (found, false)
}

/// A greeting is agreed on or refused.
pub(crate) fn greeting(bytes: &[u8]) {
    let frame = Frame::Text(Bytes::copy_from_slice(bytes));
    if let Ok(First::Hello(hello)) = greeting::first(&frame)
        && let Ok(agreed) = greeting::agree(&hello, &Offered::default())
    {
        assert!(hello.channel.is_none());
        for capability in agreed.capabilities() {
            assert!(Offered::default().capabilities.contains(capability));
        }
    }
}

/// An address that is read is shown as one that is read the same, and is never called in the clear elsewhere.
pub(crate) fn address(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(address) = text.parse::<Address>() else { return };
    let shown = address.to_string();
    assert_eq!(shown.parse::<Address>().as_ref(), Ok(&address), "{shown}");
    assert!(!shown.contains(['@', '?', '#']) || shown.starts_with("unix:"), "{shown}");
}

/// A connection takes any messages in any order; what runs is known by one id each, and its end gives all places back.
pub(crate) fn connection(bytes: &[u8]) {
    let hello = br#"{"type":"hello","protocol":{"major":1,"minor_min":0,"minor_max":0},"capabilities":{"required":[],"optional":["resume","transfer"]},"client":{"name":"f","version":"1"}}"#;
    let Ok(First::Hello(hello)) = greeting::first(&Frame::Text(Bytes::from_static(hello))) else {
        return;
    };
    let Ok(agreed) = greeting::agree(&hello, &Offered::default()) else { return };
    let catalog = Arc::new(offer::body(&Fake::default().catalog()));
    let (own, runtime) = (Gate::new(Places::of_connection()), Gate::new(Places::of_runtime()));
    let served = Served { catalog, exec: true };
    let mut connection = Connection::new(agreed, served, [own, runtime.clone()]);
    let mut running = Vec::new();
    for (at, part) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let now = Duration::from_millis(at as u64);
        let frame = match part.split_first() {
            // A line that begins so is content; anything else is a text.
            Some((0, rest)) => Frame::Binary(Bytes::copy_from_slice(rest)),
            Some((1, _)) => {
                // What runs longest ends.
                if !running.is_empty() {
                    let id = running.remove(0);
                    let failure = vocab::outcome::Failure::not_started("x", "y");
                    connection.end(id, Ending::Failed(failure), now);
                }
                act(&mut connection, &mut running);
                continue;
            }
            _ => Frame::Text(Bytes::copy_from_slice(part)),
        };
        connection.hear(&frame, now);
        act(&mut connection, &mut running);
    }
    connection.abandon();
    act(&mut connection, &mut running);
    drop(connection);
    for room in [Room::Calls, Room::Uploads, Room::Downloads, Room::Gathered] {
        assert_eq!(runtime.taken(room), 0, "{room:?}");
    }
}

fn act(connection: &mut Connection, running: &mut Vec<u64>) {
    while let Some(action) = connection.next_action() {
        match action {
            Action::Start(id, _) => {
                assert!(!running.contains(&id), "{id} runs twice");
                running.push(id);
            }
            Action::Send(frame) => assert!(frame.len() <= REMOTE_TEXT_BYTES_MAX),
            Action::Feed(..)
            | Action::Finish(_)
            | Action::Credit(_)
            | Action::Cancel(_)
            | Action::Close(_) => {}
        }
    }
}
