//! Whether a request may begin: what it was made for, and whether there is a place for it.

use vocab::{outcome::Failure, tool::Reach};

use super::{
    Connection, Phase,
    gate::{Permit, Room},
    table::{Content, Nature},
    work::Work,
};
use crate::offer;

impl Connection {
    /// Checks what can be checked before anything is taken.
    pub(super) fn check(&self, work: Option<&Work>) -> Result<(), Failure> {
        if self.phase == Phase::Draining {
            return Err(Failure::not_started("draining", "the runtime is about to end"));
        }
        let Some(Work::Call(call)) = work else { return Ok(()) };
        let stale = |message: String| {
            Failure::not_started("stale_generation", message).with_hint("fetch the catalog again")
        };
        let catalog = &self.served.catalog;
        if call.expected_generation != catalog.generation {
            let (now, then) = (catalog.generation, call.expected_generation);
            let message =
                format!("the catalog is at generation {now}, the call was made for {then}");
            return Err(stale(message));
        }
        let row = catalog.tools.iter().find(|row| row.name == call.tool);
        if row.is_some_and(|row| row.schema_hash != call.schema_hash) {
            return Err(stale(format!("the call was made for another schema of {}", call.tool)));
        }
        Ok(())
    }

    pub(super) fn admit(&self, room: Room, content: &Content) -> Result<Vec<Permit>, Failure> {
        let gathered = match content {
            Content::Gathering { size, .. } => Some((Room::Gathered, *size)),
            Content::None
            | Content::Feeding { .. }
            | Content::Sending(_)
            | Content::Telling { .. } => None,
        };
        let mut permits = Vec::with_capacity(2);
        for (room, count) in [Some((room, 1)), gathered].into_iter().flatten() {
            for gate in &self.gates {
                let permit = gate.take(room, count).ok_or_else(|| {
                    let message = "too much runs at the same time";
                    Failure::not_started("busy", message).with_hint("try again in a while")
                })?;
                permits.push(permit);
            }
        }
        Ok(permits)
    }

    /// Tells how far work can reach; a write whose content is still coming is none yet.
    pub(super) fn nature(&self, work: Option<&Work>) -> Nature {
        match work {
            Some(Work::Call(call)) => match offer::reach(&self.served.catalog, &call.tool) {
                Reach::Reads => Nature::Looks,
                Reach::Writes => Nature::Changes,
                Reach::Runs => Nature::Runs,
            },
            Some(Work::Exec(..)) => Nature::Runs,
            Some(work) if !work.changes() => Nature::Looks,
            Some(_) | None => Nature::Changes,
        }
    }
}
