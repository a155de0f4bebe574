//! Messages on a line: a header that says how long the message is, then the message.
//!
//! What a message means is not known here. A line that broke the rules once is of no more use, since nobody
//! can tell where its next message begins.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use vocab::limits::{LSP_HEADER_BYTES_MAX, LSP_MESSAGE_BYTES_MAX};

/// What is wrong with what came in; completes "it sent".
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// The header does not end.
    #[error("a header of more than {LSP_HEADER_BYTES_MAX} bytes")]
    HeaderTooLong,
    /// A line of the header is none.
    #[error("a header that cannot be read: {0:?}")]
    HeaderMalformed(String),
    /// The message is longer than is taken.
    #[error("a message of {0} bytes, more than {LSP_MESSAGE_BYTES_MAX}")]
    TooLarge(u64),
    /// The message is no text.
    #[error("a message that is not UTF-8")]
    NotUtf8,
    /// The message is no JSON, or nested too deep.
    #[error("a message that is not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    /// The line ended inside a message.
    #[error("half a message")]
    Truncated,
    /// The line cannot be read.
    #[error("nothing that could be read: {0}")]
    Io(#[from] io::Error),
}

/// Reads the next message; none at the end of the line.
pub(crate) async fn read(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> Result<Option<Value>, FrameError> {
    let Some(length) = header(reader).await? else { return Ok(None) };
    if length > LSP_MESSAGE_BYTES_MAX as u64 {
        return Err(FrameError::TooLarge(length));
    }
    // What a header claims is not set aside before it came.
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body).await?;
    if body.len() as u64 != length {
        return Err(FrameError::Truncated);
    }
    let text = str::from_utf8(&body).ok().ok_or(FrameError::NotUtf8)?;
    serde_json::from_str(text).map(Some).map_err(FrameError::NotJson)
}

/// Reads a header up to its empty line and returns the length that it states.
async fn header(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<u64>, FrameError> {
    let (mut left, mut length) = (LSP_HEADER_BYTES_MAX, None);
    loop {
        let mut line = Vec::new();
        (&mut *reader).take(left as u64).read_until(b'\n', &mut line).await?;
        if line.is_empty() && left == LSP_HEADER_BYTES_MAX {
            return Ok(None);
        }
        left -= line.len();
        if line.last() != Some(&b'\n') {
            return Err(if left == 0 { FrameError::HeaderTooLong } else { FrameError::Truncated });
        }
        let shown = || String::from_utf8_lossy(&line).trim_end().to_owned();
        let malformed = || FrameError::HeaderMalformed(shown());
        let text = str::from_utf8(&line).ok().ok_or_else(malformed)?.trim_end();
        if text.is_empty() {
            let Some(length) = length else { return Err(malformed()) };
            return Ok(Some(length));
        }
        let (name, value) = text.split_once(':').ok_or_else(malformed)?;
        if name.eq_ignore_ascii_case("content-length") {
            let value = value.trim();
            let digits = value.bytes().all(|byte| byte.is_ascii_digit());
            let stated = value.parse().ok().filter(|_| digits && length.is_none());
            length = Some(stated.ok_or_else(malformed)?);
        } else if name.eq_ignore_ascii_case("content-type") {
            let value = value.to_ascii_lowercase();
            let other = value
                .split_once("charset=")
                .is_some_and(|(_, set)| !matches!(set.trim().trim_matches('"'), "utf-8" | "utf8"));
            if other {
                return Err(malformed());
            }
        }
    }
}

/// Writes a message with its header.
pub(crate) fn encode(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

#[cfg(test)]
mod tests;
