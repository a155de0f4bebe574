//! Bodies in memory, and the budget that all of them share.
//!
//! Where a body comes from is not known here: a request of HTTP, or a line of the control protocol.

use std::{ops::Deref, sync::Arc};

use bytes::{Bytes, BytesMut};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refuse::Refused;

/// The budget of bodies counts in this unit, so that a small body is one permit.
const BODY_UNIT_BYTES: usize = 1024;

/// A body in memory, with its share of what all bodies may hold: the share is given back when the
/// body is dropped, not before.
#[derive(Debug, Default)]
pub struct Payload {
    bytes: Bytes,
    share: Option<OwnedSemaphorePermit>,
}

impl Payload {
    /// Returns the bytes, which can be cut without copying.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Puts what was made of these bytes in their place; it holds the same share.
    pub(crate) fn with(self, bytes: Bytes) -> Self {
        Self { bytes, share: self.share }
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// What all bodies may hold.
#[derive(Debug, Clone)]
pub(crate) struct Bodies(Arc<Semaphore>);

impl Bodies {
    /// Makes a budget of so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes / BODY_UNIT_BYTES)))
    }

    /// Begins a body.
    pub(crate) fn begin(&self) -> Gathering {
        let budget = self.clone();
        Gathering { budget, share: None, n_units: 0, whole: BytesMut::new() }
    }

    /// Returns how many bytes nobody holds.
    #[cfg(test)]
    pub(crate) fn free_bytes(&self) -> usize {
        self.0.available_permits() * BODY_UNIT_BYTES
    }
}

/// A body that is not whole yet.
#[derive(Debug)]
pub(crate) struct Gathering {
    budget: Bodies,
    share: Option<OwnedSemaphorePermit>,
    n_units: usize,
    whole: BytesMut,
}

impl Gathering {
    /// Returns how much there is.
    pub(crate) fn len(&self) -> usize {
        self.whole.len()
    }

    /// Takes more in.
    ///
    /// # Errors
    /// When other bodies hold what there is.
    pub(crate) fn push(&mut self, data: &[u8]) -> Result<(), Refused> {
        let units = (self.whole.len() + data.len()).div_ceil(BODY_UNIT_BYTES) - self.n_units;
        if 0 < units {
            let all_taken = |_full| {
                Refused::new("too_many_bodies", "other requests hold all memory for bodies")
                    .with_hint("try again in a moment")
            };
            let n_permits = u32::try_from(units).unwrap_or(u32::MAX);
            let semaphore = Arc::clone(&self.budget.0);
            let more = semaphore.try_acquire_many_owned(n_permits).map_err(all_taken)?;
            match &mut self.share {
                Some(share) => share.merge(more),
                None => self.share = Some(more),
            }
            self.n_units += units;
        }
        self.whole.extend_from_slice(data);
        Ok(())
    }

    /// Returns what there is, and begins anew.
    pub(crate) fn take(&mut self) -> Payload {
        let next = self.budget.begin();
        let Self { share, whole, .. } = std::mem::replace(self, next);
        Payload { bytes: whole.freeze(), share }
    }
}
