//! A directory that comes: its stream is read as it comes, and filled beside its place.

use std::{ffi::OsStr, fs::File, io::Write as _, sync::Arc};

use confine::Stage;
use vocab::outcome::Failure;
use workspace::tree::{Entry, Manifest, Reader, Sink};

use super::mismatch;

/// The mode of the directory itself, before the umask: a manifest speaks of what is in it.
const TOP_MODE: u32 = 0o777;

pub(super) struct TreeIn {
    reader: Reader,
    filling: Filling,
}

struct Filling {
    stage: Stage,
    open: Option<File>,
}

impl TreeIn {
    pub(super) fn begin(stage: Stage, size: u64, sha256: String) -> Self {
        Self { reader: Reader::new(size, sha256), filling: Filling { stage, open: None } }
    }

    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.reader.feed(piece, &mut self.filling)
    }

    /// Publishes it. Returns the paths of its files.
    pub(super) fn commit(self) -> Result<Vec<String>, Failure> {
        let Some(manifest) = self.reader.whole() else {
            return Err(mismatch("the directory is not whole".to_owned()));
        };
        let files = manifest.entries().iter().filter_map(|entry| match entry {
            Entry::File { path, .. } => Some(path.clone()),
            Entry::Dir { .. } | Entry::Left { .. } => None,
        });
        let files = files.collect();
        self.filling.stage.commit(TOP_MODE)?;
        Ok(files)
    }
}

fn names(path: &str) -> Vec<&OsStr> {
    path.split('/').map(OsStr::new).collect()
}

impl Sink for Filling {
    fn begins(&mut self, manifest: &Arc<Manifest>) -> Result<(), Failure> {
        for entry in manifest.entries() {
            if let Entry::Dir { path, mode } = entry {
                self.stage.make_dir(&names(path), *mode)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, entry: &Entry) -> Result<(), Failure> {
        if let Entry::File { path, mode, .. } = entry {
            self.open = Some(self.stage.make_file(&names(path), *mode)?);
        }
        Ok(())
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Some(file) = &mut self.open else { return Ok(()) };
        file.write_all(bytes).map_err(|error| self.stage.error(error).into())
    }
}
