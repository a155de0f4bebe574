//! A directory's stream.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use vocab::outcome::Failure;
use workspace::tree::{Entry, HEAD_BYTES, Manifest, Reader, Sink, hex};

/// Counts what comes, and looks at each path.
#[derive(Default)]
struct Counts {
    n_files: usize,
    n_bytes: u64,
}

impl Sink for Counts {
    fn begins(&mut self, manifest: &Arc<Manifest>) -> Result<(), Failure> {
        for entry in manifest.entries() {
            let is_inside = |name: &str| !matches!(name, "" | "." | "..");
            assert!(entry.path().split('/').all(is_inside), "{:?}", entry.path());
        }
        Ok(())
    }

    fn file(&mut self, _: &Entry) -> Result<(), Failure> {
        self.n_files += 1;
        Ok(())
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.n_bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Any stream whose manifest is the promised one is read the same in any pieces, and is whole only when all of it was
/// right.
pub(crate) fn tree(bytes: &[u8]) {
    let Some(len) = bytes.first_chunk::<HEAD_BYTES>().map(|len| u32::from_be_bytes(*len)) else {
        return;
    };
    let end = HEAD_BYTES.saturating_add(len as usize);
    let Some(json) = bytes.get(HEAD_BYTES..end) else { return };
    let sha256 = hex(&Sha256::digest(json));
    let read = |pieces: &[&[u8]]| {
        let (mut reader, mut counts) =
            (Reader::new(bytes.len() as u64, sha256.clone()), Counts::default());
        let fed = pieces.iter().try_for_each(|piece| reader.feed(piece, &mut counts));
        let is_whole = fed.is_ok() && reader.whole().is_some();
        (fed.err().map(|failure| failure.code), is_whole, counts.n_files, counts.n_bytes)
    };
    let whole = read(&[bytes]);
    if whole.1 {
        assert_eq!(whole.3, (bytes.len() - end) as u64, "content is neither lost nor made up");
    }
    let (front, back) = bytes.split_at(end.saturating_add(1).min(bytes.len()) / 2);
    let (cut, one) = (read(&[front, back]), whole.clone());
    assert_eq!((cut.0, cut.1), (one.0, one.1), "cut in two");
}
