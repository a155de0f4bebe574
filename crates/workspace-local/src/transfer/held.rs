//! Uploads that broke off: kept for a while under names that nobody sees, to be gone on with.
//!
//! Bounded in number and age; those that are kept too long, or when the workspace is closed, leave no trace.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use vocab::{
    limits::{HELD_UPLOAD_MS, HELD_UPLOADS_MAX},
    outcome::Failure,
    path::WorkspacePath,
};
use workspace::primitive::{Answer, HeldUpload, Request, Shape, Upload};

use super::{Step, arriving::Come};
use crate::{primitive, site::Site, stop::Stop};

/// What makes two uploads the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    path: WorkspacePath,
    shape: Shape,
    size: u64,
    sha256: String,
    overwrite: bool,
}

impl Key {
    fn of(path: &WorkspacePath, promise: &Upload) -> Self {
        let Upload { shape, size, sha256, overwrite, keep: _, from: _ } = promise.clone();
        Self { path: path.clone(), shape, size, sha256, overwrite }
    }
}

struct Kept {
    key: Key,
    come: Come,
    until: Instant,
}

/// All that is kept, the oldest first.
#[derive(Default)]
pub(crate) struct Held(Mutex<VecDeque<Kept>>);

impl Held {
    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was kept of an upload that goes on.
    pub(super) fn take(&self, path: &WorkspacePath, promise: &Upload) -> Result<Come, Failure> {
        let key = Key::of(path, promise);
        let mut kept = self.kept();
        let found = kept
            .iter()
            .position(|one| one.key == key && one.come.prefix().size == promise.from)
            .and_then(|idx| kept.remove(idx));
        found.map(|one| one.come).ok_or_else(|| {
            let message = "of that upload nothing is kept any more";
            Failure::not_started("not_held", message).with_hint("send it from its beginning")
        })
    }

    /// Forgets all of it.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.kept());
        drop(all);
    }

    fn forget_the_old(&self, now: Instant) {
        let old: Vec<Kept> = {
            let mut kept = self.kept();
            let (young, old) = kept.drain(..).partition(|one| now < one.until);
            *kept = young;
            Vec::from(old)
        };
        drop(old);
    }
}

/// Tells whether a failure says that whoever sends is gone, and nothing else.
pub(super) fn is_lost(failure: &Failure) -> bool {
    matches!(failure.code.as_str(), "connection_lost" | "source_lost")
}

/// Keeps what has come. The oldest one makes room.
pub(super) fn keep(site: &Arc<Site>, promise: &Upload, come: Come) {
    let until = Instant::now() + Duration::from_millis(HELD_UPLOAD_MS);
    let key = Key::of(&come.path, promise);
    let gone: Vec<Kept> = {
        let mut kept = site.held.kept();
        // Of one upload what came last is kept.
        let (others, same) = kept.drain(..).partition(|one| one.key != key);
        *kept = others;
        let mut gone = Vec::from(same);
        if kept.len() == HELD_UPLOADS_MAX {
            gone.extend(kept.pop_front());
        }
        kept.push_back(Kept { key, come, until });
        gone
    };
    let files = site.files.clone();
    // A directory takes a while to be removed.
    files.submit(Box::new(move || drop(gone))).ok();
    let site = Arc::downgrade(site);
    tokio::spawn(async move {
        tokio::time::sleep_until(until).await;
        if let Some(site) = site.upgrade() {
            let files = site.files.clone();
            // A directory takes a while to be removed. When the pool is closed, so is the workspace.
            files.submit(Box::new(move || site.held.forget_the_old(until))).ok();
        }
    });
}

/// Tells what is kept of the last upload to a path.
pub(crate) fn held(
    site: &Arc<Site>,
    at: Request,
    shape: Shape,
) -> BoxFuture<'static, Answer<Option<HeldUpload>>> {
    if let Err(failure) = primitive::check_id(site, &at) {
        return Box::pin(std::future::ready(Err(failure)));
    }
    let stop = Stop::new(at.cancel.clone(), &site.clock, None);
    let step = Step::new(site, &stop);
    let site = Arc::clone(site);
    step.run(move || {
        stop.start()?;
        let path = site.root.parse(&at.path)?;
        if let Err(error) = site.root.locate(&path) {
            // Where nothing can be sent to, nothing is kept; a way out is refused as everywhere.
            let is_inside =
                ["not_found", "not_a_directory", "is_a_directory", "not_a_regular_file"];
            return if is_inside.contains(&error.code()) { Ok(None) } else { Err(error.into()) };
        }
        let kept = site.held.kept();
        let is_meant = |one: &&Kept| one.key.shape == shape && one.key.path == path;
        Ok(kept.iter().rev().find(is_meant).map(|one| HeldUpload {
            size: one.key.size,
            sha256: one.key.sha256.clone(),
            overwrite: one.key.overwrite,
            prefix: one.come.prefix(),
        }))
    })
}
