//! Downloads: what is promised is measured first, then read in pieces.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    sync::Arc,
};

use bytes::Bytes;
use futures_util::{StreamExt, future::BoxFuture, stream};
use rustix::fs::fstat;
use sha2::{Digest, Sha256};
use vocab::{limits::TRANSFER_PIECE_BYTES, outcome::Failure};
use workspace::{
    primitive::{Answer, Download, Prefix, Request, Shape, Wanted},
    tree,
};

use super::{Step, tree_out::TreeOut};
use crate::{artifact, primitive, site::Site, stop::Stop};

/// What is read.
pub(super) enum Source {
    File(FileOut),
    Tree(Box<TreeOut>),
}

/// What was found before anything is sent.
pub(super) struct Measured {
    pub(super) size: u64,
    pub(super) sha256: String,
    pub(super) from: u64,
}

pub(crate) fn download(
    site: &Arc<Site>,
    at: Request,
    wanted: Wanted,
) -> BoxFuture<'static, Answer<Download>> {
    if let Err(failure) = primitive::check_id(site, &at) {
        return Box::pin(std::future::ready(Err(failure)));
    }
    let stop = Stop::new(at.cancel.clone(), &site.clock, None);
    let step = Step::new(site, &stop);
    let opened = {
        let (site, stop) = (Arc::clone(site), stop);
        step.run(move || {
            stop.start()?;
            let Wanted { shape, after } = wanted;
            match shape {
                Shape::File => {
                    let file = if at.path.starts_with(artifact::SCHEME) {
                        site.artifacts.read(&at.path)?.0
                    } else {
                        site.root.open_file(&site.root.parse(&at.path)?)?.file
                    };
                    let (file, measured) = FileOut::measure(file, after.as_ref(), &stop)?;
                    Ok((Source::File(file), measured))
                }
                Shape::Tree => {
                    let path = site.root.parse(&at.path)?;
                    let (tree, measured) = TreeOut::measure(&site, path, after.as_ref(), &stop)?;
                    Ok((Source::Tree(Box::new(tree)), measured))
                }
            }
        })
    };
    Box::pin(async move {
        let (source, Measured { size, sha256, from }) = opened.await?;
        let bytes = stream::unfold(Some((step, source, size - from)), next).boxed();
        Ok(Download { size, sha256, from, bytes })
    })
}

type Leaving = Option<(Step, Source, u64)>;

/// Reads the next piece; what has changed since it was measured ends in a failure.
async fn next(state: Leaving) -> Option<(Answer<Bytes>, Leaving)> {
    let (step, mut source, left) = state?;
    if left == 0 {
        return None;
    }
    let stop = step.stop.clone();
    let read = step
        .run(move || {
            stop.check()?;
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(TRANSFER_PIECE_BYTES);
            let piece = match &mut source {
                Source::File(file) => file.piece(most, left)?,
                Source::Tree(tree) => tree.piece(most)?,
            };
            Ok((source, piece))
        })
        .await;
    match read {
        Ok((source, piece)) => {
            let left = left.saturating_sub(piece.len() as u64);
            Some((Ok(piece), Some((step, source, left))))
        }
        Err(failure) => Some((Err(failure), None)),
    }
}

pub(super) fn changed(why: &str) -> Failure {
    Failure::not_started("path_changed", format!("the source changed meanwhile: {why}"))
}

pub(super) fn failed(error: &std::io::Error) -> Failure {
    Failure::not_started("io", error.to_string())
}

/// A file that is read, and what it was when it was measured.
pub(super) struct FileOut {
    file: File,
    state: State,
}

/// What changes with the content, whatever a program says about its times.
#[derive(Debug, PartialEq, Eq)]
struct State {
    len: i64,
    modified: (i64, u64),
    changed: (i64, u64),
}

fn state(file: &File) -> Result<State, Failure> {
    let stat = fstat(file).map_err(|errno| failed(&errno.into()))?;
    Ok(State {
        len: stat.st_size,
        modified: (stat.st_mtime, stat.st_mtime_nsec),
        changed: (stat.st_ctime, stat.st_ctime_nsec),
    })
}

impl FileOut {
    fn measure(
        mut file: File,
        after: Option<&Prefix>,
        stop: &Stop,
    ) -> Result<(Self, Measured), Failure> {
        let state = state(&file)?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0_u8; TRANSFER_PIECE_BYTES];
        let (mut size, mut from) = (0, 0);
        loop {
            stop.check()?;
            // The hash of the beginning is taken where the other side's ends.
            let mark = after.map(|prefix| prefix.size).filter(|mark| size < *mark);
            let most = mark.map_or(u64::MAX, |mark| mark - size);
            let most = usize::try_from(most).unwrap_or(usize::MAX).min(buffer.len());
            let room = buffer.get_mut(..most).unwrap_or_default();
            let n_read = match file.read(room).map_err(|error| failed(&error))? {
                0 => break,
                n_read => n_read,
            };
            hasher.update(buffer.get(..n_read).unwrap_or_default());
            size += n_read as u64;
            if let Some(prefix) = after.filter(|prefix| prefix.size == size)
                && tree::hex(&hasher.clone().finalize()) == prefix.sha256
            {
                from = size;
            }
        }
        file.seek(SeekFrom::Start(from)).map_err(|error| failed(&error))?;
        let sha256 = tree::hex(&hasher.finalize());
        Ok((Self { file, state }, Measured { size, sha256, from }))
    }

    fn piece(&mut self, most: usize, left: u64) -> Result<Bytes, Failure> {
        let mut piece = vec![0_u8; most];
        self.file.read_exact(&mut piece).map_err(|error| changed(&error.to_string()))?;
        // Whoever receives it compares hashes; here it is told before the last piece has gone.
        if left == most as u64 && state(&self.file)? != self.state {
            return Err(changed("it was written"));
        }
        Ok(piece.into())
    }
}
