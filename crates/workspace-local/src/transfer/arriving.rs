//! Uploads: what comes is written beside its place, checked, and published whole or not at all.

use std::{io::Write, sync::Arc, time::Duration};

use bytes::Bytes;
use confine::{Pending, PublishOptions, Replace, lane::Guard};
use futures_util::{StreamExt, future::BoxFuture, stream::BoxStream};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{TRANSFER_IDLE_MS, TRANSFER_MS_MAX},
    outcome::{Effect, Failure},
    path::WorkspacePath,
};
use workspace::{
    primitive::{Answer, Prefix, Request, Shape, Upload, Written},
    tree,
};

use super::{Step, check_promise, held, mismatch, tree_in::TreeIn};
use crate::{
    lanes::{self, Parents},
    primitive,
    site::Site,
    stop::Stop,
};

/// Where the bytes go.
pub(super) enum Taking {
    File(Box<Pending>),
    Tree(Box<TreeIn>),
}

/// What has come of an upload. Dropping it leaves no trace of it.
pub(crate) struct Come {
    pub(super) taking: Taking,
    pub(super) path: WorkspacePath,
    /// Over all bytes as they came.
    hasher: Sha256,
    size: u64,
}

impl Come {
    pub(super) fn prefix(&self) -> Prefix {
        Prefix { size: self.size, sha256: tree::hex(&self.hasher.clone().finalize()) }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.hasher.update(piece);
        self.size += piece.len() as u64;
        match &mut self.taking {
            Taking::File(pending) => {
                pending.write_all(piece).map_err(|error| pending.error(error).into())
            }
            Taking::Tree(tree) => tree.feed(piece),
        }
    }
}

/// An upload between two pieces.
struct Arriving {
    come: Come,
    guard: Guard,
}

pub(crate) fn upload(
    site: &Arc<Site>,
    at: Request,
    promise: Upload,
    bytes: BoxStream<'static, Answer<Bytes>>,
) -> BoxFuture<'static, Answer<Written>> {
    let checked = primitive::check_id(site, &at).and_then(|()| check_promise(&promise));
    if let Err(failure) = checked {
        return Box::pin(std::future::ready(Err(failure)));
    }
    let site = Arc::clone(site);
    let turn = site.turns.take();
    let stop = Stop::new(at.cancel.clone(), &site.clock, None);
    let begin = {
        let (site, stop, promise) = (Arc::clone(&site), stop.clone(), promise.clone());
        move || {
            if promise.shape == Shape::Tree {
                check_vacant(&site, &at.path)?;
            }
            let registered = lanes::register(&site, &at.path, Parents::Must, (turn, &stop))?;
            let entered = registered.enter(&site, &stop)?;
            let (place, path, guard) = (entered.place, entered.path, entered.guard);
            let come = if promise.from > 0 {
                site.held.take(&path, &promise)?
            } else {
                let replace = if promise.overwrite { Replace::Any } else { Replace::Never };
                let options = PublishOptions { replace, ..PublishOptions::default() };
                let taking = match promise.shape {
                    Shape::File => Taking::File(Box::new(place.writer(options)?)),
                    Shape::Tree => {
                        let (size, sha256) = (promise.size, promise.sha256.clone());
                        Taking::Tree(Box::new(TreeIn::begin(site.root.stage(&path)?, size, sha256)))
                    }
                };
                Come { taking, path, hasher: Sha256::new(), size: 0 }
            };
            Ok(Arriving { come, guard })
        }
    };
    let files = site.files.clone();
    let begun = Site::on(&files, stop.clone(), begin);
    Box::pin(async move {
        let arriving = begun.await?;
        let arrived = receive(&site, arriving, (&promise, &stop), bytes).await?;
        let step = Step::new(&site, &stop);
        let site = Arc::clone(&site);
        step.run(move || publish(&site, arrived, &promise)).await
    })
}

/// Says of a place for a directory what the lane of a file would say otherwise.
fn check_vacant(site: &Site, text: &str) -> Result<(), Failure> {
    let path = site.root.parse(text)?;
    let is_there = match site.root.stat(&path) {
        Ok(_) => true,
        // A link whose target is missing is there as well.
        Err(error) if error.code() == "not_found" => site.root.lstat(&path).is_ok(),
        Err(error) => return Err(error.into()),
    };
    if is_there {
        let message = format!("{path}: already exists");
        return Err(Failure::not_started("already_exists", message)
            .with_hint("choose another name; directories are not merged"));
    }
    Ok(())
}

/// Removes what has come, where files are worked on: of a directory that takes a while.
async fn let_go(site: &Arc<Site>, come: Come) {
    // Whoever cancelled the upload waits for its end all the same.
    let stop = Stop::new(CancellationToken::new(), &site.clock, None);
    let removed = Step::new(site, &stop).run(move || {
        drop(come);
        Ok(())
    });
    // A workspace that is being closed removes it itself.
    removed.await.ok();
}

/// How an upload ended that is not whole.
enum Broke {
    /// For good.
    Over(Failure),
    /// The one who sends is gone, or silent; what has come may be kept.
    Source(Failure, Box<Arriving>),
}

async fn receive(
    site: &Arc<Site>,
    arriving: Arriving,
    (promise, stop): (&Upload, &Stop),
    bytes: BoxStream<'static, Answer<Bytes>>,
) -> Result<Arriving, Failure> {
    match take_all(site, arriving, (promise, stop), bytes).await {
        Ok(arriving) => Ok(arriving),
        Err(Broke::Over(failure)) => Err(failure),
        Err(Broke::Source(failure, arriving)) => {
            let Arriving { come, guard } = *arriving;
            if promise.keep && !stop.token().is_cancelled() {
                drop(guard);
                held::keep(site, promise, come);
            } else {
                let_go(site, come).await;
            }
            Err(failure)
        }
    }
}

async fn take_all(
    site: &Arc<Site>,
    mut arriving: Arriving,
    (promise, stop): (&Upload, &Stop),
    mut bytes: BoxStream<'static, Answer<Bytes>>,
) -> Result<Arriving, Broke> {
    let step = Step::new(site, stop);
    let over = tokio::time::Instant::now() + Duration::from_millis(TRANSFER_MS_MAX);
    loop {
        let idle = tokio::time::sleep(Duration::from_millis(TRANSFER_IDLE_MS));
        let piece = tokio::select! {
            biased;
            () = stop.token().cancelled() => {
                let_go(site, arriving.come).await;
                return Err(Broke::Over(stop.failure(Effect::NotStarted)));
            }
            // Before the pieces: one that comes in drops has the file's lane as long as one that is silent.
            () = tokio::time::sleep_until(over) => {
                let_go(site, arriving.come).await;
                let failure = Failure::not_started("timeout", "the upload took too long");
                return Err(Broke::Over(failure));
            }
            piece = bytes.next() => piece,
            () = idle => {
                let message = "nothing of the upload came for too long";
                let failure = Failure::not_started("timeout", message);
                return Err(Broke::Source(failure, Box::new(arriving)));
            }
        };
        let piece = match piece {
            None => return Ok(arriving),
            Some(Ok(piece)) => piece,
            Some(Err(failure)) if held::is_lost(&failure) => {
                return Err(Broke::Source(failure, Box::new(arriving)));
            }
            Some(Err(failure)) => {
                let_go(site, arriving.come).await;
                return Err(Broke::Over(failure));
            }
        };
        if arriving.come.size.saturating_add(piece.len() as u64) > promise.size {
            let_go(site, arriving.come).await;
            let message = format!("more than the promised {} bytes came", promise.size);
            return Err(Broke::Over(mismatch(message)));
        }
        let taken = step.run(move || {
            arriving.come.take(&piece)?;
            Ok(arriving)
        });
        arriving = taken.await.map_err(Broke::Over)?;
    }
}

fn publish(site: &Site, arrived: Arriving, promise: &Upload) -> Answer<Written> {
    let Arriving { come: Come { taking, path, hasher, size }, guard } = arrived;
    if size != promise.size {
        return Err(mismatch(format!("{size} bytes came instead of {}", promise.size)));
    }
    let created = match taking {
        Taking::File(pending) => {
            let sha256 = tree::hex(&hasher.finalize());
            if sha256 != promise.sha256 {
                let message = format!("what came has the hash {sha256}, not the promised one");
                return Err(mismatch(message));
            }
            let created = pending.commit()?.created;
            drop(guard);
            site.listener.published(&path);
            created
        }
        Taking::Tree(tree) => {
            let files = tree.commit()?;
            drop(guard);
            for below in files {
                // A path that was written can be said.
                if let Ok(file) = path.join(below.as_ref()) {
                    site.listener.published(&file);
                }
            }
            true
        }
    };
    Ok(Written { size, sha256: promise.sha256.clone(), created })
}
