//! Messages over bytes come whole or not at all.

use futures_util::SinkExt;

use super::*;

fn encoded(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Messages come whole, wherever the stream is cut.
#[tokio::test]
async fn messages_come_whole_from_any_pieces() {
    let mut bytes = encoded(TEXT, b"{}");
    bytes.extend(encoded(BINARY, &[7; 300]));
    bytes.extend(encoded(TEXT, b""));
    let expected = [
        Frame::Text(Bytes::from_static(b"{}")),
        Frame::Binary(Bytes::from(vec![7; 300])),
        Frame::Text(Bytes::new()),
    ];
    for cut in 0..bytes.len() {
        let mut buffer = BytesMut::new();
        let mut found = Vec::new();
        for part in [&bytes[..cut], &bytes[cut..]] {
            buffer.extend_from_slice(part);
            while let Ok(frame) = decode(&mut buffer).unwrap() {
                found.push(frame);
            }
        }
        assert_eq!(found, expected, "cut at {cut}");
    }
    let (client, server) = tokio::io::duplex(7);
    let (reader, writer) = tokio::io::split(client);
    let mut sending = transport(reader, writer);
    let (reader, writer) = tokio::io::split(server);
    let mut receiving = transport(reader, writer);
    let sent = async {
        for frame in expected.clone() {
            sending.outgoing.send(Said::Frame(frame)).await.unwrap();
        }
        sending.outgoing.close().await.unwrap();
    };
    let heard = async {
        let mut heard = Vec::new();
        while let Some(frame) = receiving.incoming.next().await {
            heard.push(frame.unwrap());
        }
        heard
    };
    assert_eq!(tokio::join!(sent, heard).1, expected);
}

#[tokio::test]
async fn a_stream_that_is_none_of_ours_is_refused_before_it_is_held() {
    let status = |bytes: &[u8]| {
        decode(&mut BytesMut::from(bytes)).map_err(|violation| violation.status).map(|_| ())
    };
    assert_eq!(status(b"GET / HTTP/1.1"), Err(CloseStatus::ProtocolError));
    let long = u32::try_from(REMOTE_TEXT_BYTES_MAX + 1).unwrap().to_be_bytes();
    assert_eq!(status(&[&[TEXT], &long[..]].concat()), Err(CloseStatus::TooBig));
    let long = u32::try_from(REMOTE_PIECE_BYTES_MAX + PIECE_HEAD_BYTES + 1).unwrap().to_be_bytes();
    assert_eq!(status(&[&[BINARY], &long[..]].concat()), Err(CloseStatus::TooBig));
    let cut = encoded(TEXT, b"{}");
    let mut receiving = transport(std::io::Cursor::new(cut[..4].to_vec()), tokio::io::sink());
    let lost = receiving.incoming.next().await.unwrap();
    assert!(matches!(lost, Err(Broken::Lost(_))));
    assert!(receiving.incoming.next().await.is_none());
}
