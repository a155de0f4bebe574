//! A directory that goes: all in it is measured first, then its files are read one after another.

use std::{fs::File, io::Read, path::Path, sync::Arc};

use bytes::Bytes;
use confine::{Kind, dir::Dir};
use sha2::{Digest, Sha256};
use vocab::{
    limits::{TRANSFER_PIECE_BYTES, TREE_DEPTH_MAX, TREE_ENTRIES_MAX, UPLOAD_BYTES_MAX},
    outcome::Failure,
    path::{WorkspacePath, display_name},
};
use workspace::{
    primitive::Prefix,
    tree::{Entry, Manifest, TreeError, hex},
};

use super::leaving::{Measured, changed, failed};
use crate::{site::Site, stop::Stop};

pub(super) struct TreeOut {
    site: Arc<Site>,
    top: WorkspacePath,
    manifest: Manifest,
    /// What of the head has not gone.
    head: Bytes,
    next: usize,
    open: Option<(File, u64)>,
}

impl TreeOut {
    pub(super) fn measure(
        site: &Arc<Site>,
        top: WorkspacePath,
        after: Option<&Prefix>,
        stop: &Stop,
    ) -> Result<(Self, Measured), Failure> {
        let mut walk = Walk { site, stop, top: &top, entries: Vec::new() };
        let dir = site.root.open_dir(&top)?;
        walk.directory(&dir, "", 1)?;
        let manifest = Manifest::new(walk.entries)?;
        let (size, sha256) = (manifest.stream_bytes(), manifest.sha256());
        if size > UPLOAD_BYTES_MAX {
            let message = format!("{top}: {size} bytes are more than one transfer carries");
            return Err(Failure::not_started("too_large", message));
        }
        let begin = |manifest: Manifest| {
            let (site, top, head) = (Arc::clone(site), top.clone(), manifest.head());
            Self { site, top, manifest, head, next: 0, open: None }
        };
        let mut tree = begin(manifest);
        let mut from = 0;
        if let Some(prefix) = after.filter(|prefix| prefix.size <= size) {
            if tree.skips(prefix, stop)? {
                from = prefix.size;
            } else {
                tree = begin(tree.manifest);
            }
        }
        Ok((tree, Measured { size, sha256, from }))
    }

    /// Goes to the end of what is there; false when that was not the beginning of this.
    fn skips(&mut self, prefix: &Prefix, stop: &Stop) -> Result<bool, Failure> {
        let mut hasher = Sha256::new();
        let mut left = prefix.size;
        while left > 0 {
            stop.check()?;
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(TRANSFER_PIECE_BYTES);
            let piece = self.piece(most)?;
            hasher.update(&piece);
            left -= piece.len() as u64;
        }
        Ok(hex(&hasher.finalize()) == prefix.sha256)
    }

    /// Reads exactly so much, or what is left; small files share a piece.
    pub(super) fn piece(&mut self, most: usize) -> Result<Bytes, Failure> {
        let mut piece = Vec::with_capacity(most);
        if !self.head.is_empty() {
            piece.extend_from_slice(&self.head.split_to(most.min(self.head.len())));
        }
        while piece.len() < most {
            if self.open.is_none() && !self.open_next()? {
                break;
            }
            let Some((file, left)) = &mut self.open else { break };
            let room = u64::try_from(most - piece.len()).unwrap_or(u64::MAX).min(*left);
            let n_read = file.take(room).read_to_end(&mut piece).map_err(|error| failed(&error))?;
            if n_read as u64 != room {
                return Err(changed("a file became shorter"));
            }
            *left -= room;
            if *left == 0 {
                self.open = None;
            }
        }
        Ok(piece.into())
    }

    fn open_next(&mut self) -> Result<bool, Failure> {
        while let Some(entry) = self.manifest.entries().get(self.next) {
            self.next += 1;
            let Entry::File { path, size, .. } = entry else { continue };
            let file = self.site.root.open_file(&below(&self.top, path)?)?;
            if file.meta.len != *size {
                return Err(changed(&format!("{path} has another length")));
            }
            if *size > 0 {
                self.open = Some((file.file, *size));
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn below(top: &WorkspacePath, path: &str) -> Result<WorkspacePath, Failure> {
    top.join(Path::new(path)).map_err(|_path| TreeError::Path(path.to_owned()).into())
}

/// Looks at a directory and all in it, by handle.
struct Walk<'a> {
    site: &'a Site,
    stop: &'a Stop,
    top: &'a WorkspacePath,
    entries: Vec<Entry>,
}

impl Walk<'_> {
    fn directory(&mut self, dir: &Dir, above: &str, depth: usize) -> Result<(), Failure> {
        if depth > TREE_DEPTH_MAX {
            return Err(TreeError::TooDeep.into());
        }
        let told =
            |reason: confine::Reason| Failure::from(confine::ConfineError::new(self.top, reason));
        for entry in dir.entries().map_err(told)? {
            self.stop.check()?;
            if self.entries.len() == TREE_ENTRIES_MAX {
                return Err(TreeError::TooMany.into());
            }
            let Some(name) = entry.name.to_str() else {
                return Err(TreeError::Path(display_name(&entry.name)).into());
            };
            let path = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
            let told =
                |reason: confine::Reason| Failure::from(confine::ConfineError::new(&path, reason));
            match entry.kind {
                Kind::File => {
                    let mut open = dir.open_file(&entry.name).map_err(told)?;
                    let (size, sha256) = self.hash(&mut open.file)?;
                    let mode = open.meta.mode & 0o777;
                    self.entries.push(Entry::File { path, mode, size, sha256 });
                }
                Kind::Dir => {
                    let inner = dir.open_dir(&entry.name).map_err(told)?;
                    let mode = dir.stat(&entry.name).map_err(told)?.mode & 0o777;
                    self.entries.push(Entry::Dir { path: path.clone(), mode });
                    self.directory(&inner, &path, depth + 1)?;
                }
                Kind::Link => {
                    let target = self.site.root.read_link(&below(self.top, &path)?)?;
                    let what = format!("a link to {}", display_name(&target));
                    self.entries.push(Entry::Left { path, what });
                }
                Kind::Other => {
                    let what = "a pipe, a socket or a device".to_owned();
                    self.entries.push(Entry::Left { path, what });
                }
            }
        }
        Ok(())
    }

    fn hash(&self, file: &mut File) -> Result<(u64, String), Failure> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0_u8; TRANSFER_PIECE_BYTES];
        let mut size = 0;
        loop {
            self.stop.check()?;
            match file.read(&mut buffer).map_err(|error| failed(&error))? {
                0 => return Ok((size, hex(&hasher.finalize()))),
                n_read => {
                    hasher.update(buffer.get(..n_read).unwrap_or_default());
                    size += n_read as u64;
                }
            }
        }
    }
}
