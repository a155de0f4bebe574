//! Copies between workspaces: `POST /workspaces/copy`.
//!
//! The daemon reads and writes both ends, this machine's files as well: they are a workspace like any other. The stream
//! is the copy's life: whoever leaves it stops it, and nothing of it stays under its name.

use std::{path::PathBuf, sync::Arc, time::Duration};

use api::{
    problem::Problem,
    workspace::{
        COPY_DONE, COPY_FAILED, COPY_PROGRESS, CopyDone, CopyEnd, CopyProgress, CopyRequest,
    },
};
use bytes::Bytes;
use daemon::workspaces::Lease;
use futures_util::stream;
use serde::Serialize;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::DropGuard;
use vocab::{limits::COPY_PROGRESS_MS, outcome::Failure};
use workspace::{
    copy::{self, Copied, End, Open, Opened, Options, Progress},
    primitive::Shape,
};

use crate::{
    decode::{self, Text},
    mount::{Ask, Reply},
    refuse::Refused,
    routes::Services,
    sse::{Cut, Events},
};

/// A copy at work, until nobody listens any more.
struct Copying {
    progress: watch::Receiver<Option<Progress>>,
    ended: oneshot::Receiver<Result<Copied, Failure>>,
    #[expect(dead_code, reason = "stops the copy when it goes")]
    stop: DropGuard,
}

/// `POST /workspaces/copy`
pub(super) async fn copy(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let CopyRequest { from, to, recursive, overwrite } = ask.json()?;
    let kind = |end: &CopyEnd| match end.workspace {
        Some(_) => Text::Within,
        None => Text::Path,
    };
    decode::texts([
        ("from.workspace", Text::Name, from.workspace.as_deref()),
        ("to.workspace", Text::Name, to.workspace.as_deref()),
        ("from.path", kind(&from), Some(from.path.as_str())),
        ("to.path", kind(&to), Some(to.path.as_str())),
    ])?;
    let (from, to) = (end(services, from)?, end(services, to)?);
    let options = Options { recursive, overwrite };
    let (told, progress) = watch::channel(None);
    let (over, ended) = oneshot::channel();
    // A copy that the daemon's end finds at work is stopped like one that nobody listens to.
    let cancel = ask.closing.child_token();
    let stop = cancel.clone().drop_guard();
    tokio::spawn(async move {
        let tell = Arc::new(move |one: Progress| {
            told.send_replace(Some(one));
        });
        let copied = copy::copy((&from, &to), options, &cancel, tell).await;
        // Nobody may be listening any more.
        over.send(copied).ok();
    });
    let copying = Some(Copying { progress, ended, stop });
    let events = Events::new(stream::unfold(copying, next));
    Ok(Reply::Events(Box::new(events), Vec::new()))
}

/// Says how one end is opened. A path of this machine is a name in its directory, which is the workspace.
fn end(services: &Services, end: CopyEnd) -> Result<End, Refused> {
    let daemon = Arc::clone(&services.daemon);
    let CopyEnd { workspace, path } = end;
    let Some(name) = workspace else {
        let whole = PathBuf::from(&path);
        let parts = (whole.parent(), whole.file_name().and_then(|name| name.to_str()));
        let (Some(parent), Some(name), true) = (parts.0, parts.1, whole.is_absolute()) else {
            let text = "a path of this machine is whole and ends in a name";
            return Err(Refused::new("invalid_field", text).at("path"));
        };
        let (parent, path) = (parent.to_path_buf(), name.to_owned());
        let open: Open = Arc::new(move || {
            let (daemon, parent) = (Arc::clone(&daemon), parent.clone());
            Box::pin(async move { daemon.workspaces.at(&parent).await.map(opened) })
        });
        return Ok(End { open, path });
    };
    let path = if path.is_empty() { ".".to_owned() } else { path };
    let open: Open = Arc::new(move || {
        let (daemon, name) = (Arc::clone(&daemon), name.clone());
        Box::pin(async move { daemon.workspaces.named(&name).await.map(opened) })
    });
    Ok(End { open, path })
}

fn opened(lease: Lease) -> Opened {
    Opened { workspace: lease.workspace(), keep: Box::new(lease) }
}

async fn next(copying: Option<Copying>) -> Option<(Result<Bytes, Cut>, Option<Copying>)> {
    let mut copying = copying?;
    tokio::select! {
        biased;
        ended = &mut copying.ended => {
            let frame = match ended {
                Ok(Ok(copied)) => frame(COPY_DONE, &done(copied)),
                Ok(Err(failure)) => frame(COPY_FAILED, &Problem::from(failure)),
                // It cannot be said how it ended; a stream that is cut says so.
                Err(_) => return Some((Err(Cut), None)),
            };
            Some((Ok(frame), None))
        }
        changed = copying.progress.changed() => {
            let now = *copying.progress.borrow_and_update();
            if changed.is_err() {
                // The end is about to be told.
                return Some((Ok(Bytes::from_static(b":\n\n")), Some(copying)));
            }
            let Progress { n_bytes, size, attempt } = now?;
            let frame = frame(COPY_PROGRESS, &CopyProgress { bytes: n_bytes, size, attempt });
            // Faster is of no use to anybody.
            let pause = Duration::from_millis(COPY_PROGRESS_MS);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = wait_for_end(&mut copying.progress) => {}
            }
            Some((Ok(frame), Some(copying)))
        }
    }
}

/// Waits until nothing more will be told.
async fn wait_for_end(progress: &mut watch::Receiver<Option<Progress>>) {
    while progress.changed().await.is_ok() {}
}

fn done(copied: Copied) -> CopyDone {
    let Copied { shape, path, written, resumed_from, left_out } = copied;
    CopyDone {
        path,
        directory: shape == Shape::Tree,
        size: written.size,
        sha256: written.sha256,
        created: written.created,
        resumed_from,
        left_out: left_out.count,
        left_out_first: left_out.named,
    }
}

fn frame(name: &str, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n").into()
}
