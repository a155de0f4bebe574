//! How a connection begins and ends: its first message, and what is left to do after the last.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use vocab::limits::{
    REMOTE_CHARGE_BYTES_MIN, REMOTE_END_MS, REMOTE_PIECE_BYTES_MAX, REMOTE_SILENCE_MS,
    REMOTE_TEXT_BYTES_MAX, REMOTE_WINDOW_BYTES, WRITE_BYTES_MAX,
};

use super::{Present, Session, Shared};
use crate::{
    connection::greeting::Agreed,
    frame::CloseStatus,
    protocol::{
        Welcome,
        hello::{Flavor, GrantsOf, LimitsOf, Place, ResumeRight},
    },
    transport::{Said, Transport},
};

impl Session {
    /// Says what is still to be said, as far as the other side listens.
    pub(super) async fn say_the_rest(&mut self, mut transport: Transport) {
        while let Some(action) = self.connection.next_action() {
            self.act(action);
        }
        let status = self.close.unwrap_or(CloseStatus::Normal);
        let line = &mut self.line;
        let said = async {
            while let Some(frame) = line.take() {
                transport.outgoing.feed(Said::Frame(frame)).await?;
            }
            transport.outgoing.send(Said::Close(status)).await?;
            transport.outgoing.close().await
        };
        // The line is dropped either way.
        drop(tokio::time::timeout(Duration::from_millis(REMOTE_END_MS), said).await);
    }

    /// Waits for the work that was told to end, so that its places are given back when they are free.
    pub(super) async fn wind_up(&mut self) {
        while let Some(action) = self.connection.next_action() {
            self.act(action);
        }
        let lost = self.running.lost;
        self.running.hands.values_mut().for_each(|hand| hand.end(lost));
        self.running.leaving.clear();
        let works = &mut self.running.works;
        let ended = async { while works.next().await.is_some() {} };
        drop(tokio::time::timeout(Duration::from_millis(REMOTE_END_MS), ended).await);
    }
}

pub(super) fn welcome(
    shared: &Shared,
    present: &Present,
    (agreed, connection, resume): (&Agreed, String, Option<ResumeRight>),
) -> Welcome {
    let places = shared.options.connection;
    Welcome {
        protocol: agreed.version(),
        capabilities: agreed.capabilities().iter().map(|&name| name.to_owned()).collect(),
        connection,
        resume,
        workspace: Place {
            id: present.workspace.id(),
            root: present.workspace.root(),
            flavor: Flavor::Posix,
        },
        grants: GrantsOf { exec: present.served.exec },
        limits: LimitsOf {
            text_bytes: REMOTE_TEXT_BYTES_MAX as u64,
            piece_bytes: REMOTE_PIECE_BYTES_MAX as u64,
            window_bytes: REMOTE_WINDOW_BYTES,
            charge_bytes_min: REMOTE_CHARGE_BYTES_MIN,
            write_bytes: WRITE_BYTES_MAX as u64,
            calls: places.calls,
            uploads: places.transfers,
            downloads: places.transfers,
            silence_ms: REMOTE_SILENCE_MS,
        },
        server: shared.options.program.clone(),
        catalog: present.served.catalog.as_ref().clone(),
    }
}
