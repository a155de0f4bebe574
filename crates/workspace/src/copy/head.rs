//! What of a directory does not travel, as its stream tells first.

use bytes::{Bytes, BytesMut};

use crate::tree::{Entry, HEAD_BYTES, Manifest};

/// Things that are named; of the others the number is told.
const N_NAMED: usize = 10;

/// What did not travel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many things.
    pub count: usize,
    /// The first of them, each with what it is.
    pub named: Vec<String>,
}

/// Listens to a stream until it has told what it is.
#[derive(Debug, Default)]
pub(super) struct Head {
    gathered: BytesMut,
    found: Option<LeftOut>,
}

impl Head {
    /// Hears the next piece. Whether it is right is its receiver's to say.
    pub(super) fn hear(&mut self, piece: &Bytes) {
        if self.found.is_some() {
            return;
        }
        self.gathered.extend_from_slice(piece);
        let Some(len) = self.gathered.first_chunk::<HEAD_BYTES>() else { return };
        let end = HEAD_BYTES.saturating_add(u32::from_be_bytes(*len) as usize);
        if self.gathered.len() < end {
            return;
        }
        let json = self.gathered.split_to(end).freeze().slice(HEAD_BYTES..);
        self.gathered = BytesMut::new();
        self.found =
            Some(Manifest::read(json).map(|manifest| left_out(&manifest)).unwrap_or_default());
    }

    /// Takes what was found.
    pub(super) fn take(&mut self) -> LeftOut {
        self.found.take().unwrap_or_default()
    }
}

fn left_out(manifest: &Manifest) -> LeftOut {
    let mut left_out = LeftOut::default();
    for entry in manifest.entries() {
        if let Entry::Left { path, what } = entry {
            left_out.count += 1;
            if left_out.named.len() < N_NAMED {
                left_out.named.push(format!("{path} ({what})"));
            }
        }
    }
    left_out
}
