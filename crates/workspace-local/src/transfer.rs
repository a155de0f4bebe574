//! Files that come and go in pieces, with their length and hash.
//!
//! No thread waits for the other side: between pieces only the file's lane and an open file are held.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use confine::{Pending, PublishOptions, Replace, lane::Guard};
use futures_util::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use sha2::{Digest, Sha256};
use vocab::{
    limits::{TRANSFER_IDLE_MS, TRANSFER_MS_MAX, TRANSFER_PIECE_BYTES, UPLOAD_BYTES_MAX},
    outcome::{Effect, Failure},
    path::WorkspacePath,
};
use workspace::primitive::{Answer, Download, Request, Upload, Written};

use crate::{
    artifact, hash,
    lanes::{self, Parents},
    primitive,
    site::Site,
    stop::Stop,
    truncate,
};

/// An upload between two pieces. Dropping it leaves no trace of it.
struct Arriving {
    pending: Pending,
    guard: Guard,
    path: WorkspacePath,
    hasher: Sha256,
    size: u64,
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
    let replace = if promise.overwrite { Replace::Any } else { Replace::Never };
    let begin = {
        let (site, stop) = (Arc::clone(&site), stop.clone());
        move || {
            let registered = lanes::register(&site, &at.path, Parents::Must, (turn, &stop))?;
            let entered = registered.enter(&site, &stop)?;
            let options = PublishOptions { replace, ..PublishOptions::default() };
            let pending = entered.place.writer(options)?;
            let (guard, path) = (entered.guard, entered.path);
            Ok(Arriving { pending, guard, path, hasher: Sha256::new(), size: 0 })
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

fn check_promise(promise: &Upload) -> Result<(), Failure> {
    let digits = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if promise.sha256.len() != 64 || !promise.sha256.bytes().all(digits) {
        let message = "sha256 must be 64 lower-case hexadecimal digits";
        return Err(Failure::not_started("invalid_arguments", message));
    }
    if promise.size > UPLOAD_BYTES_MAX {
        let size = truncate::size(promise.size);
        return Err(Failure::not_started("too_large", format!("an upload of {size} is too large")));
    }
    Ok(())
}

/// One step of a transfer on the pool. A step is short, so that it is always waited for.
struct Step {
    site: Arc<Site>,
    stop: Stop,
}

impl Step {
    fn new(site: &Arc<Site>, stop: &Stop) -> Self {
        Self { site: Arc::clone(site), stop: stop.clone() }
    }

    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Failure>> {
        Site::on(&self.site.files, self.stop.clone(), work)
    }
}

async fn receive(
    site: &Arc<Site>,
    mut arriving: Arriving,
    (promise, stop): (&Upload, &Stop),
    mut bytes: BoxStream<'static, Answer<Bytes>>,
) -> Result<Arriving, Failure> {
    let step = Step::new(site, stop);
    let over = tokio::time::Instant::now() + Duration::from_millis(TRANSFER_MS_MAX);
    loop {
        let idle = tokio::time::sleep(Duration::from_millis(TRANSFER_IDLE_MS));
        let piece = tokio::select! {
            biased;
            () = stop.token().cancelled() => return Err(stop.failure(Effect::NotStarted)),
            // Before the pieces: one that comes in drops has the file's lane as long as one that is silent.
            () = tokio::time::sleep_until(over) => {
                return Err(Failure::not_started("timeout", "the upload took too long"));
            }
            piece = bytes.next() => piece,
            () = idle => {
                return Err(Failure::not_started("timeout", "nothing of the upload came for too long"));
            }
        };
        let Some(piece) = piece else { return Ok(arriving) };
        let piece = piece?;
        if arriving.size.saturating_add(piece.len() as u64) > promise.size {
            return Err(mismatch(format!("more than the promised {} bytes came", promise.size)));
        }
        arriving = step
            .run(move || {
                arriving.hasher.update(&piece);
                arriving.size += piece.len() as u64;
                match arriving.pending.write_all(&piece) {
                    Ok(()) => Ok(arriving),
                    Err(error) => Err(arriving.pending.error(error).into()),
                }
            })
            .await?;
    }
}

fn mismatch(message: String) -> Failure {
    Failure::not_started("transfer_mismatch", message).with_hint("send the file again")
}

fn publish(site: &Site, arrived: Arriving, promise: &Upload) -> Answer<Written> {
    let Arriving { pending, guard, path, hasher, size } = arrived;
    if size != promise.size {
        return Err(mismatch(format!("{size} bytes came instead of {}", promise.size)));
    }
    let sha256 = hash::hex(&hasher.finalize());
    if sha256 != promise.sha256 {
        return Err(mismatch(format!("what came has the hash {sha256}, not the promised one")));
    }
    let published = pending.commit()?;
    drop(guard);
    site.listener.published(&path);
    Ok(Written { size, sha256, created: published.created })
}

pub(crate) fn download(site: &Arc<Site>, at: Request) -> BoxFuture<'static, Answer<Download>> {
    if let Err(failure) = primitive::check_id(site, &at) {
        return Box::pin(std::future::ready(Err(failure)));
    }
    let stop = Stop::new(at.cancel.clone(), &site.clock, None);
    let step = Step::new(site, &stop);
    let opened = {
        let (site, stop) = (Arc::clone(site), stop);
        step.run(move || {
            stop.start()?;
            let mut file = if at.path.starts_with(artifact::SCHEME) {
                site.artifacts.read(&at.path)?.0
            } else {
                site.root.open_file(&site.root.parse(&at.path)?)?.file
            };
            let (size, sha256) = measure(&mut file, &stop)?;
            Ok((file, size, sha256))
        })
    };
    Box::pin(async move {
        let (file, size, sha256) = opened.await?;
        let bytes = stream::unfold(Some((step, file, size)), next).boxed();
        Ok(Download { size, sha256, bytes })
    })
}

fn measure(file: &mut File, stop: &Stop) -> Result<(u64, String), Failure> {
    let failed = |error: std::io::Error| Failure::not_started("io", error.to_string());
    let mut hasher = Sha256::new();
    let mut buffer = vec![0_u8; TRANSFER_PIECE_BYTES];
    let mut size = 0;
    loop {
        stop.check()?;
        match file.read(&mut buffer).map_err(failed)? {
            0 => break,
            count => {
                hasher.update(buffer.get(..count).unwrap_or_default());
                size += count as u64;
            }
        }
    }
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    Ok((size, hash::hex(&hasher.finalize())))
}

type Leaving = Option<(Step, File, u64)>;

/// Reads the next piece; a file that became shorter ends in a failure.
async fn next(state: Leaving) -> Option<(Answer<Bytes>, Leaving)> {
    let (step, file, left) = state?;
    if left == 0 {
        return None;
    }
    let stop = step.stop.clone();
    let read = step
        .run(move || {
            stop.check()?;
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(TRANSFER_PIECE_BYTES);
            let mut piece = vec![0_u8; wanted];
            let mut file = file;
            file.read_exact(&mut piece).map_err(|error| {
                Failure::not_started("path_changed", format!("the file changed meanwhile: {error}"))
            })?;
            Ok((file, Bytes::from(piece)))
        })
        .await;
    match read {
        Ok((file, piece)) => {
            let left = left - piece.len() as u64;
            Some((Ok(piece), Some((step, file, left))))
        }
        Err(failure) => Some((Err(failure), None)),
    }
}
