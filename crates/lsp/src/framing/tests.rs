//! Whole and broken lines.

use serde_json::json;

use super::*;

async fn all(mut bytes: &[u8]) -> Result<Vec<Value>, String> {
    let mut found = Vec::new();
    loop {
        match read(&mut bytes).await {
            Ok(Some(message)) => found.push(message),
            Ok(None) => return Ok(found),
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[tokio::test]
async fn messages_come_back_as_they_were_sent() {
    let messages = [json!({"a": "ä\r\n\r\n𝄞"}), json!({}), json!([1, null])];
    let line: Vec<u8> = messages.iter().flat_map(encode).collect();
    assert_eq!(all(&line).await.unwrap(), messages);
    let other =
        b"content-length:2\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n{}";
    assert_eq!(all(other).await.unwrap(), [json!({})]);
}

#[tokio::test]
async fn what_breaks_the_line_is_named() {
    let check = async |bytes: Vec<u8>, wanted: &str| {
        let error = all(&bytes).await.unwrap_err();
        assert!(error.contains(wanted), "{error} lacks {wanted}");
    };
    let long = |n: usize| format!("X: {}\r\n", "y".repeat(n - 5));
    let rest = "Content-Length: 2\r\n\r\n";
    let most = long(LSP_HEADER_BYTES_MAX - rest.len()) + rest + "{}";
    assert_eq!(all(most.as_bytes()).await.unwrap().len(), 1);
    let more = long(LSP_HEADER_BYTES_MAX - rest.len() + 1) + rest + "{}";
    check(more.into_bytes(), "a header of more than").await;
    check(vec![b'x'; LSP_HEADER_BYTES_MAX + 1], "a header of more than").await;
    for header in
        ["garbage", "Content-Length: -1", "Content-Length: +1", "Content-Length: 1x", "\u{fffd}"]
    {
        check(format!("{header}\r\n\r\n").into_bytes(), "a header that cannot be read").await;
    }
    check(b"X: y\r\n\r\n".to_vec(), "a header that cannot be read").await;
    check(b"Content-Length: 1\r\nContent-Length: 1\r\n\r\n1".to_vec(), "a header that cannot")
        .await;
    check(b"Content-Type: x; charset=utf-16\r\n".to_vec(), "a header that cannot").await;
    check(b"\xff: 1\r\n".to_vec(), "a header that cannot").await;
    let claim = |n: usize| format!("Content-Length: {n}\r\n\r\n");
    check(claim(LSP_MESSAGE_BYTES_MAX + 1).into_bytes(), "a message of 16777217 bytes").await;
    check(claim(LSP_MESSAGE_BYTES_MAX).into_bytes(), "half a message").await;
    check(b"Content-Len".to_vec(), "half a message").await;
    check([claim(3).into_bytes(), b"\"\xff\"".to_vec()].concat(), "not UTF-8").await;
    check((claim(1) + "{").into_bytes(), "not JSON").await;
    let deep = "[".repeat(200) + &"]".repeat(200);
    check((claim(deep.len()) + &deep).into_bytes(), "recursion").await;
}
