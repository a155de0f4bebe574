//! Copies a file or directory from one workspace to another: the same way whether either is here or elsewhere.
//!
//! What was copied is checked by whoever receives it, before it has its name. A copy that broke off goes on where both
//! sides agree on what is there; nothing is told to a terminal here.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::COPY_ATTEMPTS_MAX,
    outcome::{Effect, Failure},
};

use crate::{
    primitive::{Answer, Kind, Prefix, Request, Shape, Upload, Wanted, Written},
    source::Workspace,
};

/// One end of a copy.
#[derive(Clone)]
pub struct End {
    /// The workspace.
    pub workspace: Arc<dyn Workspace>,
    /// The path as written.
    pub path: String,
}

impl std::fmt::Debug for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("End").field("path", &self.path).finish_non_exhaustive()
    }
}

/// How to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Whether a directory may be copied, with all in it.
    pub recursive: bool,
    /// Whether an existing file may be replaced. Directories are never replaced.
    pub overwrite: bool,
}

/// How far a copy has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are there, those of an earlier attempt included.
    pub n_bytes: u64,
    /// Bytes of the whole.
    pub size: u64,
    /// The attempt, from 1.
    pub attempt: u32,
}

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// What it is.
    pub shape: Shape,
    /// What was written.
    pub written: Written,
    /// How many bytes were there from an earlier attempt, the last time.
    pub resumed_from: u64,
}

/// Copies. `tell` hears how far it has come, often; it must not wait.
///
/// # Errors
/// When either end refuses, or the copy broke off too often. Nothing is there then but what the target keeps for a while
/// under another name.
pub async fn copy(
    (from, to): (&End, &End),
    options: Options,
    cancel: &CancellationToken,
    tell: Arc<dyn Fn(Progress) + Send + Sync>,
) -> Answer<Copied> {
    let shape = shape_of(from, options, cancel).await?;
    let mut attempt = 1;
    loop {
        let one = Attempt { ends: (from, to), options, shape, cancel, tell: &tell, attempt };
        match one.run().await {
            Err(failure) if attempt < COPY_ATTEMPTS_MAX && is_worth_another(&failure) => {
                attempt += 1
            }
            // The attempt before may have been done though nobody heard of it.
            Err(failure) if attempt > 1 && failure.code == "already_exists" => {
                return one.is_done().await.ok_or(failure);
            }
            ended => return ended,
        }
        if cancel.is_cancelled() {
            return Err(Failure::not_started("aborted", "the copy was stopped"));
        }
    }
}

/// Tells whether a line broke, and nothing else.
fn is_worth_another(failure: &Failure) -> bool {
    let is_line = matches!(failure.code.as_str(), "connection_lost" | "source_lost");
    is_line && failure.effect != Effect::Completed
}

async fn shape_of(from: &End, options: Options, cancel: &CancellationToken) -> Answer<Shape> {
    // An address of an output names a file, and no directory has one.
    if from.path.contains("://") {
        return Ok(Shape::File);
    }
    let stat = from.workspace.stat(at(from, cancel)).await?;
    match stat.kind {
        Kind::Dir if options.recursive => Ok(Shape::Tree),
        Kind::Dir => {
            let why = format!("{}: is a directory", from.path);
            Err(Failure::not_started("is_a_directory", why).with_hint("-r copies directories"))
        }
        Kind::File | Kind::Link | Kind::Other => Ok(Shape::File),
    }
}

fn at(end: &End, cancel: &CancellationToken) -> Request {
    let (path, expected) = (end.path.clone(), end.workspace.id());
    Request { path, expected, cancel: cancel.child_token() }
}

struct Attempt<'a> {
    ends: (&'a End, &'a End),
    options: Options,
    shape: Shape,
    cancel: &'a CancellationToken,
    tell: &'a Arc<dyn Fn(Progress) + Send + Sync>,
    attempt: u32,
}

impl Attempt<'_> {
    /// Tells what was copied where the target is what the source is.
    async fn is_done(&self) -> Option<Copied> {
        let (from, to) = self.ends;
        let wanted = || Wanted { shape: self.shape, after: None };
        let source = from.workspace.download(at(from, self.cancel), wanted()).await.ok()?;
        let target = to.workspace.download(at(to, self.cancel), wanted()).await.ok()?;
        let is_same = (source.size, &source.sha256) == (target.size, &target.sha256);
        let written = Written { size: target.size, sha256: target.sha256, created: true };
        is_same.then_some(Copied { shape: self.shape, written, resumed_from: 0 })
    }

    async fn run(&self) -> Answer<Copied> {
        let (from, to) = self.ends;
        let wanted = |after| Wanted { shape: self.shape, after };
        let request = at(from, self.cancel);
        let first_cancel = request.cancel.clone();
        let mut download = from.workspace.download(request, wanted(None)).await?;
        let mut promise = Upload {
            shape: self.shape,
            size: download.size,
            sha256: download.sha256.clone(),
            overwrite: self.options.overwrite,
            keep: true,
            from: 0,
        };
        let held = to.workspace.held(at(to, self.cancel), promise.clone()).await;
        // A target that keeps nothing is sent all of it.
        let held = held.unwrap_or(Prefix { size: 0, sha256: String::new() });
        if held.size > 0 {
            first_cancel.cancel();
            drop(download);
            download =
                from.workspace.download(at(from, self.cancel), wanted(Some(held.clone()))).await?;
            let is_same = (download.size, &download.sha256) == (promise.size, &promise.sha256);
            if is_same && download.from == held.size {
                promise.from = held.size;
            } else if download.from > 0 {
                return Err(lost_track());
            }
            (promise.size, promise.sha256) = (download.size, download.sha256.clone());
        }
        let (size, attempt, tell) = (promise.size, self.attempt, Arc::clone(self.tell));
        let n_bytes = AtomicU64::new(promise.from);
        tell(Progress { n_bytes: promise.from, size, attempt });
        let bytes = download.bytes.map(move |piece| match piece {
            Ok(piece) => {
                let len = piece.len() as u64;
                let n_bytes = n_bytes.fetch_add(len, Ordering::Relaxed) + len;
                tell(Progress { n_bytes, size, attempt });
                Ok(piece)
            }
            Err(failure) => Err(source_lost(failure)),
        });
        let resumed_from = promise.from;
        let upload = to.workspace.upload(at(to, self.cancel), promise, bytes.boxed());
        let written = upload.await?;
        Ok(Copied { shape: self.shape, written, resumed_from })
    }
}

fn lost_track() -> Failure {
    Failure::not_started("path_changed", "the source changed between two attempts")
        .with_hint("copy it again")
}

/// Tells the target that its source's line broke, which is no reason to forget what has come.
fn source_lost(failure: Failure) -> Failure {
    if failure.code == "connection_lost" {
        Failure { code: "source_lost".into(), effect: Effect::NotStarted, ..failure }
    } else {
        failure
    }
}

#[cfg(test)]
mod tests;
