//! What a connection's client is told: whole lines, one after the other, whoever has something to say.
//!
//! A client that does not read is cut by the connection below (`listen::watched`); until then whoever wants
//! to say something waits.

use std::io;

use bytes::Bytes;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::Mutex,
};

use super::request::Id;
use crate::{
    body::Pieces,
    refuse::{Refused, encode},
    sse::Cut,
};

/// The writing side of a connection.
#[derive(Debug)]
pub(super) struct Pen<W>(Mutex<W>);

impl<W: AsyncWrite + Unpin> Pen<W> {
    pub(super) fn new(writer: W) -> Self {
        Self(Mutex::new(writer))
    }

    /// Gives the writer back.
    pub(super) fn into_writer(self) -> W {
        self.0.into_inner()
    }

    /// Says one or more whole lines.
    pub(super) async fn say(&self, lines: &[u8]) -> io::Result<()> {
        let mut writer = self.0.lock().await;
        writer.write_all(lines).await?;
        writer.flush().await
    }

    /// Answers with a result, which is JSON.
    pub(super) async fn answer(&self, id: &Id, result: &Bytes) -> io::Result<()> {
        let mut writer = self.0.lock().await;
        writer.write_all(answering(id).as_bytes()).await?;
        writer.write_all(result).await?;
        writer.write_all(b"}\n").await?;
        writer.flush().await
    }

    /// Answers with a result in pieces. One that breaks off takes the connection with it: nobody must take
    /// it for the whole.
    pub(super) async fn answer_in_pieces(&self, id: &Id, mut pieces: Pieces) -> io::Result<()> {
        let mut writer = self.0.lock().await;
        writer.write_all(answering(id).as_bytes()).await?;
        while let Some(piece) = pieces.next().await {
            writer.write_all(&piece.map_err(|cut: Cut| io::Error::other(cut))?).await?;
        }
        writer.write_all(b"}\n").await?;
        writer.flush().await
    }

    /// Answers with a problem.
    pub(super) async fn refuse(&self, id: &Id, refused: &Refused) -> io::Result<()> {
        let mut line = format!(r#"{{"id":{},"ok":false,"error":"#, id.as_str()).into_bytes();
        line.extend_from_slice(&encode(refused.problem()));
        line.extend_from_slice(b"}\n");
        self.say(&line).await
    }
}

fn answering(id: &Id) -> String {
    format!(r#"{{"id":{},"ok":true,"result":"#, id.as_str())
}
