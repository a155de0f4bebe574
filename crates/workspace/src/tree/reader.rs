//! Reads a directory's stream as it comes, in pieces of any size, and checks all of it on the way.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use vocab::{limits::TREE_MANIFEST_BYTES_MAX, outcome::Failure};

use super::{Entry, HEAD_BYTES, Manifest, TreeError, hex};

/// What takes a directory in.
pub trait Sink {
    /// Hears first what all will be.
    ///
    /// # Errors
    /// When it cannot be taken.
    fn begins(&mut self, manifest: &Arc<Manifest>) -> Result<(), Failure>;

    /// A file begins: its place among the entries.
    ///
    /// # Errors
    /// When it cannot be made.
    fn file(&mut self, entry: &Entry) -> Result<(), Failure>;

    /// More of the file that began last.
    ///
    /// # Errors
    /// When it cannot be written.
    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure>;
}

/// Takes nothing; for whoever only checks.
#[derive(Debug, Clone, Copy)]
pub struct NoSink;

impl Sink for NoSink {
    fn begins(&mut self, _: &Arc<Manifest>) -> Result<(), Failure> {
        Ok(())
    }

    fn file(&mut self, _: &Entry) -> Result<(), Failure> {
        Ok(())
    }

    fn content(&mut self, _: &[u8]) -> Result<(), Failure> {
        Ok(())
    }
}

enum State {
    Head(Vec<u8>),
    Body { manifest: Arc<Manifest>, next: usize, open: Option<Open> },
}

/// The file that is coming.
struct Open {
    path: String,
    left: u64,
    hasher: Sha256,
    sha256: String,
}

/// Reads one stream.
pub struct Reader {
    sha256: String,
    size: u64,
    state: State,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("size", &self.size).finish_non_exhaustive()
    }
}

fn mismatch(what: &str) -> Failure {
    TreeError::Mismatch(what.to_owned()).into()
}

impl Reader {
    /// Expects a stream of that many bytes whose manifest has that hash.
    #[must_use]
    pub fn new(size: u64, sha256: String) -> Self {
        Self { sha256, size, state: State::Head(Vec::new()) }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// When they are not what was promised, or the sink refuses.
    pub fn feed(&mut self, mut bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Failure> {
        while !bytes.is_empty() {
            if let State::Head(head) = &mut self.state {
                let n_taken = bytes.len().min(missing(head)?);
                let (taken, rest) = bytes.split_at(n_taken);
                head.extend_from_slice(taken);
                bytes = rest;
                if missing(head)? == 0 {
                    let head = std::mem::take(head);
                    self.begin(head, sink)?;
                }
                continue;
            }
            let State::Body { open, .. } = &mut self.state else { continue };
            let Some(file) = open else { return Err(mismatch("the length")) };
            let len = usize::try_from(file.left).unwrap_or(usize::MAX).min(bytes.len());
            let (content, rest) = bytes.split_at(len);
            file.hasher.update(content);
            file.left -= len as u64;
            sink.content(content)?;
            bytes = rest;
            if file.left == 0 {
                self.next_file(sink)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, head: Vec<u8>, sink: &mut dyn Sink) -> Result<(), Failure> {
        let json = Bytes::from(head).slice(HEAD_BYTES..);
        if hex(&Sha256::digest(&json)) != self.sha256 {
            return Err(mismatch("the manifest"));
        }
        let manifest = Arc::new(Manifest::read(json)?);
        if manifest.stream_bytes() != self.size {
            return Err(mismatch("the length"));
        }
        sink.begins(&manifest)?;
        self.state = State::Body { manifest, next: 0, open: None };
        self.next_file(sink)
    }

    /// Ends the file that is whole and begins the next one; empty ones are whole at once.
    fn next_file(&mut self, sink: &mut dyn Sink) -> Result<(), Failure> {
        let State::Body { manifest, next, open } = &mut self.state else { return Ok(()) };
        loop {
            if let Some(file) = open.take_if(|file| file.left == 0)
                && hex(&file.hasher.finalize()) != file.sha256
            {
                return Err(mismatch(&file.path));
            }
            let Some(entry) = manifest.entries().get(*next) else { return Ok(()) };
            *next += 1;
            let Entry::File { path, size, sha256, .. } = entry else { continue };
            sink.file(entry)?;
            let (path, sha256) = (path.clone(), sha256.clone());
            *open = Some(Open { path, left: *size, hasher: Sha256::new(), sha256 });
            if *size > 0 {
                return Ok(());
            }
        }
    }

    /// Returns the manifest once all has come and was right; none before.
    #[must_use]
    pub fn whole(&self) -> Option<&Arc<Manifest>> {
        match &self.state {
            State::Body { manifest, next, open: None } if *next == manifest.entries().len() => {
                Some(manifest)
            }
            State::Body { .. } | State::Head(_) => None,
        }
    }
}

/// Returns how many bytes the head lacks.
fn missing(head: &[u8]) -> Result<usize, TreeError> {
    let Some(len) = head.first_chunk::<HEAD_BYTES>() else { return Ok(HEAD_BYTES - head.len()) };
    let len = u32::from_be_bytes(*len) as usize;
    if len == 0 {
        return Err(TreeError::Form("it has no manifest"));
    }
    if len > TREE_MANIFEST_BYTES_MAX {
        return Err(TreeError::TooLong);
    }
    Ok(HEAD_BYTES + len - head.len())
}
