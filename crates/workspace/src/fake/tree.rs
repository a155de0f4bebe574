//! Directories of the map as streams.

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use sha2::{Digest, Sha256};
use vocab::outcome::Failure;

use super::State;
use crate::{
    primitive::{Answer, Download, Upload, Written},
    tree::{Entry, Manifest, Reader, Sink, hex},
};

/// There are no modes here; these are what others mostly have.
const MODES: (u32, u32) = (0o755, 0o644);

fn below<'a>(top: &str, path: &'a str) -> Option<&'a str> {
    if top.is_empty() {
        return Some(path).filter(|path| !path.is_empty());
    }
    path.strip_prefix(top)?.strip_prefix('/')
}

fn join(top: &str, path: &str) -> String {
    if top.is_empty() { path.to_owned() } else { format!("{top}/{path}") }
}

pub(super) fn download(state: &State, top: &str) -> Answer<Download> {
    if state.files.contains_key(top) {
        return Err(Failure::not_started("not_a_directory", format!("{top}: not a directory")));
    }
    if !state.dirs.contains(top) {
        return Err(super::missing(top));
    }
    let dirs = state.dirs.iter().filter_map(|path| below(top, path));
    let dirs = dirs.map(|path| Entry::Dir { path: path.to_owned(), mode: MODES.0 });
    let files = state.files.iter().filter_map(|(path, content)| {
        let (path, size) = (below(top, path)?.to_owned(), content.len() as u64);
        let sha256 = hex(&Sha256::digest(content));
        Some(Entry::File { path, mode: MODES.1, size, sha256 })
    });
    let manifest = Manifest::new(dirs.chain(files).collect())?;
    let mut all = BytesMut::from(&*manifest.head());
    for entry in manifest.entries() {
        all.extend_from_slice(state.files.get(&join(top, entry.path())).map_or(&[], |bytes| bytes));
    }
    let (size, sha256) = (manifest.stream_bytes(), manifest.sha256());
    let bytes = stream::iter([Ok(all.freeze())]).boxed();
    Ok(Download { size, sha256, from: 0, bytes })
}

#[derive(Default)]
struct Gather(Vec<(String, Vec<u8>)>);

impl Sink for Gather {
    fn begins(&mut self, _: &std::sync::Arc<Manifest>) -> Result<(), Failure> {
        Ok(())
    }

    fn file(&mut self, entry: &Entry) -> Result<(), Failure> {
        self.0.push((entry.path().to_owned(), Vec::new()));
        Ok(())
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if let Some((_, content)) = self.0.last_mut() {
            content.extend_from_slice(bytes);
        }
        Ok(())
    }
}

pub(super) fn upload(
    state: &mut State,
    top: &str,
    promise: &Upload,
    content: &Bytes,
) -> Answer<Written> {
    if state.dirs.contains(top) || state.files.contains_key(top) {
        return Err(Failure::not_started("already_exists", format!("{top}: already exists")));
    }
    let mismatch = || {
        let message = "what came is not what was promised";
        Failure::not_started("transfer_mismatch", message)
    };
    if content.len() as u64 != promise.size {
        return Err(mismatch());
    }
    let mut reader = Reader::new(promise.size, promise.sha256.clone());
    let mut gathered = Gather::default();
    reader.feed(content, &mut gathered)?;
    let manifest = reader.whole().ok_or_else(mismatch)?;
    state.place(top)?;
    state.dirs.insert(top.to_owned());
    for entry in manifest.entries() {
        if let Entry::Dir { path, .. } = entry {
            state.dirs.insert(join(top, path));
        }
    }
    let files = gathered.0.into_iter().map(|(path, content)| (join(top, &path), content.into()));
    state.files.extend(files);
    Ok(Written { size: promise.size, sha256: promise.sha256.clone(), created: true })
}
