//! Copies a file or directory from one workspace to another: the same way whether either is here or elsewhere.
//!
//! What was copied is checked by whoever receives it, before it has its name. A copy that broke off goes on where both
//! sides agree on what is there; nothing is told to a terminal here.

use std::{
    any::Any,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, future::BoxFuture};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{COPY_ATTEMPTS_MAX, COPY_PAUSE_MS},
    outcome::{Effect, Failure},
};

mod head;

use self::head::Head;
pub use self::head::LeftOut;
use crate::{
    primitive::{Answer, HeldUpload, Kind, Request, Shape, Upload, Wanted, Written},
    source::Workspace,
};

/// A workspace that was opened for a copy, and what keeps it open.
pub struct Opened {
    /// The workspace.
    pub workspace: Arc<dyn Workspace>,
    /// Whatever must live as long as it is used.
    pub keep: Box<dyn Any + Send + Sync>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").finish_non_exhaustive()
    }
}

/// Opens a workspace; once more where its line was lost.
pub type Open = Arc<dyn Fn() -> BoxFuture<'static, Answer<Opened>> + Send + Sync>;

/// One end of a copy.
#[derive(Clone)]
pub struct End {
    /// Opens its workspace.
    pub open: Open,
    /// The path as written.
    pub path: String,
}

impl std::fmt::Debug for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("End").field("path", &self.path).finish_non_exhaustive()
    }
}

impl End {
    /// Builds one in a workspace that is open.
    #[must_use]
    pub fn within(workspace: Arc<dyn Workspace>, path: &str) -> Self {
        let open: Open = Arc::new(move || {
            let workspace = Arc::clone(&workspace);
            Box::pin(std::future::ready(Ok(Opened { workspace, keep: Box::new(()) })))
        });
        Self { open, path: path.to_owned() }
    }

    async fn opened(&self) -> Answer<Place> {
        let opened = (self.open)().await?;
        Ok(Place { opened, path: self.path.clone() })
    }
}

/// An end that is open.
struct Place {
    opened: Opened,
    path: String,
}

impl Place {
    fn workspace(&self) -> &Arc<dyn Workspace> {
        &self.opened.workspace
    }

    fn at(&self, cancel: &CancellationToken) -> Request {
        let (path, expected) = (self.path.clone(), self.workspace().id());
        Request { path, expected, cancel: cancel.child_token() }
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
    /// Where it went.
    pub path: String,
    /// What was written.
    pub written: Written,
    /// How many bytes were there from an earlier attempt, the last time.
    pub resumed_from: u64,
    /// What of a directory did not travel: links, pipes, devices. None is known of a copy that another one began.
    pub left_out: LeftOut,
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
    let (mut attempt, mut landed) = (1, None);
    let left_out = Arc::new(Mutex::new(Head::default()));
    loop {
        let one = Attempt { options, cancel, tell: &tell, attempt, left_out: &left_out };
        let failure = match one.run(from, to, &mut landed).await {
            Ok(copied) => return Ok(copied),
            Err(failure) => failure,
        };
        if attempt == COPY_ATTEMPTS_MAX || !is_worth_another(&failure) {
            return Err(failure);
        }
        // A line comes back or it does not; asking at once only finds it gone.
        let pause = Duration::from_millis(COPY_PAUSE_MS << (attempt - 1));
        tokio::select! {
            () = cancel.cancelled() => {
                return Err(Failure::not_started("aborted", "the copy was stopped"));
            }
            () = tokio::time::sleep(pause) => attempt += 1,
        }
    }
}

/// Tells whether a line broke or fell silent, and nothing else.
fn is_worth_another(failure: &Failure) -> bool {
    let is_line = matches!(
        failure.code.as_str(),
        "connection_lost" | "source_lost" | "unreachable" | "timeout"
    );
    is_line && failure.effect != Effect::Completed
}

async fn shape_of(from: &Place, options: Options, cancel: &CancellationToken) -> Answer<Shape> {
    // An address of an output names a file, and no directory has one.
    if from.path.contains("://") {
        return Ok(Shape::File);
    }
    let stat = from.workspace().stat(from.at(cancel)).await?;
    match stat.kind {
        Kind::Dir if options.recursive => Ok(Shape::Tree),
        Kind::Dir => {
            let why = format!("{}: is a directory", from.path);
            Err(Failure::not_started("is_a_directory", why).with_hint("-r copies directories"))
        }
        Kind::File | Kind::Link | Kind::Other => Ok(Shape::File),
    }
}

/// Says where it goes: into a directory that is there, under the source's own name.
async fn land(from: &Place, to: &mut Place, cancel: &CancellationToken) -> Answer<()> {
    let is_dir = match to.workspace().stat(to.at(cancel)).await {
        Ok(stat) => stat.kind == Kind::Dir,
        Err(failure) if failure.code == "not_found" => false,
        Err(failure) => return Err(failure),
    };
    if !is_dir && to.path.ends_with('/') {
        return Err(Failure::not_started("not_found", format!("{}: no such directory", to.path)));
    }
    if !is_dir {
        return Ok(());
    }
    let name = from.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if matches!(name, "" | "." | "..") {
        let why = format!("{}: is a directory, and the source has no name in it", to.path);
        return Err(Failure::not_started("is_a_directory", why).with_hint("name the target"));
    }
    to.path = match to.path.trim_end_matches('/') {
        "" | "." => name.to_owned(),
        dir => format!("{dir}/{name}"),
    };
    Ok(())
}

struct Attempt<'a> {
    options: Options,
    cancel: &'a CancellationToken,
    tell: &'a Arc<dyn Fn(Progress) + Send + Sync>,
    attempt: u32,
    left_out: &'a Arc<Mutex<Head>>,
}

impl Attempt<'_> {
    /// `landed` is where it goes, once that was found out: later it may be there.
    async fn run(&self, from: &End, to: &End, landed: &mut Option<String>) -> Answer<Copied> {
        let (from, mut to) = (from.opened().await?, to.opened().await?);
        let shape = shape_of(&from, self.options, self.cancel).await?;
        match landed {
            Some(path) => to.path.clone_from(path),
            None => {
                land(&from, &mut to, self.cancel).await?;
                *landed = Some(to.path.clone());
            }
        }
        let (written, resumed_from) = match self.send(&from, &to, shape).await {
            Err(failure) if self.attempt > 1 && failure.code == "already_exists" => {
                (self.was_done(&from, &to, shape).await.ok_or(failure)?, 0)
            }
            sent => sent?,
        };
        let left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(Copied { shape, path: to.path, written, resumed_from, left_out })
    }

    /// Tells what was written where an attempt before was done though nobody heard of it: the target is what the source
    /// is.
    async fn was_done(&self, from: &Place, to: &Place, shape: Shape) -> Option<Written> {
        let wanted = || Wanted { shape, after: None };
        let source = from.workspace().download(from.at(self.cancel), wanted()).await.ok()?;
        let target = to.workspace().download(to.at(self.cancel), wanted()).await.ok()?;
        let is_same = (source.size, &source.sha256) == (target.size, &target.sha256);
        let written = Written { size: target.size, sha256: target.sha256, created: true };
        is_same.then_some(written)
    }

    async fn send(&self, from: &Place, to: &Place, shape: Shape) -> Answer<(Written, u64)> {
        let ask = |after| from.workspace().download(from.at(self.cancel), Wanted { shape, after });
        let overwrite = self.options.overwrite && shape == Shape::File;
        let held = to.workspace().held(to.at(self.cancel), shape).await?;
        let held = held.filter(|held| held.overwrite == overwrite);
        let mut download = ask(held.as_ref().map(|held| held.prefix.clone())).await?;
        let is_of =
            |held: HeldUpload| (held.size, held.sha256) == (download.size, download.sha256.clone());
        if download.from > 0 && !held.is_some_and(is_of) {
            // It begins the same and is another one by now.
            download = ask(None).await?;
        }
        let promise = Upload {
            shape,
            size: download.size,
            sha256: download.sha256.clone(),
            overwrite,
            keep: true,
            from: download.from,
        };
        let (size, attempt, tell) = (promise.size, self.attempt, Arc::clone(self.tell));
        let n_bytes = AtomicU64::new(promise.from);
        tell(Progress { n_bytes: promise.from, size, attempt });
        let head = (shape == Shape::Tree && promise.from == 0).then(|| {
            *self.left_out.lock().unwrap_or_else(PoisonError::into_inner) = Head::default();
            Arc::clone(self.left_out)
        });
        let bytes = download.bytes.map(move |piece| match piece {
            Ok(piece) => {
                if let Some(head) = &head {
                    head.lock().unwrap_or_else(PoisonError::into_inner).hear(&piece);
                }
                let len = piece.len() as u64;
                let n_bytes = n_bytes.fetch_add(len, Ordering::Relaxed) + len;
                tell(Progress { n_bytes, size, attempt });
                Ok(piece)
            }
            Err(failure) => Err(source_lost(failure)),
        });
        let resumed_from = promise.from;
        let upload = to.workspace().upload(to.at(self.cancel), promise, bytes.boxed());
        Ok((upload.await?, resumed_from))
    }
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
