//! Asks between pieces of work whether anybody still waits for it.

use std::cell::Cell;

use vocab::limits::EDIT_UNASKED_BYTES_MAX;

use super::EditError;

/// Work that ends soon after nobody wants it any more.
pub(super) struct Watch<'a> {
    alive: &'a dyn Fn() -> bool,
    /// Bytes looked at since it was last asked.
    unasked: Cell<usize>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(alive: &'a dyn Fn() -> bool) -> Self {
        // The first work asks: whoever waited in a lane may have been cancelled there.
        Self { alive, unasked: Cell::new(EDIT_UNASKED_BYTES_MAX) }
    }

    /// Notes that bytes are looked at, and stops when that is not wanted any more.
    pub(super) fn spend(&self, bytes: usize) -> Result<(), EditError> {
        let unasked = self.unasked.get().saturating_add(bytes);
        self.unasked.set(unasked);
        if unasked < EDIT_UNASKED_BYTES_MAX {
            return Ok(());
        }
        self.unasked.set(0);
        if (self.alive)() { Ok(()) } else { Err(EditError::Stopped) }
    }
}
