//! Leads a change to the place of its file, one after another, in the order of their arrival.

use confine::{
    Place,
    lane::{self, Guard, LaneKey, Ticket},
};
use vocab::{
    outcome::{Effect, Failure},
    path::WorkspacePath,
};

use crate::{site::Site, stop::Stop, turn::Turn};

/// Whether missing directories above the file are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parents {
    Must,
    Made,
}

/// A position in a file's lane.
pub(crate) struct Registered {
    path: WorkspacePath,
    key: LaneKey,
    ticket: Ticket,
    /// Whether directories were made on the way here.
    made: bool,
}

/// A file's place, while nobody else changes it.
pub(crate) struct Entered {
    pub(crate) place: Place,
    pub(crate) path: WorkspacePath,
    pub(crate) guard: Guard,
    made: bool,
}

/// Takes a position, in turn.
pub(crate) fn register(
    site: &Site,
    text: &str,
    parents: Parents,
    (turn, stop): (Turn, &Stop),
) -> Result<Registered, Failure> {
    in_turn(site, &turn)?;
    stop.check()?;
    let path = site.root.parse(text)?;
    let mut made = false;
    if parents == Parents::Made
        && let Some(parent) = path.parent()
        && site.root.open_dir(&parent).is_err()
    {
        stop.start()?;
        made = site.root.create_dirs(&parent)? > 0;
    }
    let place = site.root.locate(&path).map_err(|error| after(made, error.into()))?;
    let key = place.lane();
    let ticket = lane::register(key.clone()).map_err(|reason| {
        after(
            made,
            Failure::not_started("busy", format!("{path}: {reason}")).with_hint("try again"),
        )
    })?;
    Ok(Registered { path, key, ticket, made })
}

/// Waits for a turn. The work of an earlier turn may still be queued, so that the thread counts as one
/// that waits.
pub(crate) fn in_turn(site: &Site, turn: &Turn) -> Result<(), Failure> {
    if turn.is_up() { Ok(()) } else { site.files.waiting(|| turn.wait()) }
}

impl Registered {
    /// Waits until every earlier change of the file is over, then looks at the place anew.
    pub(crate) fn enter(self, site: &Site, stop: &Stop) -> Result<Entered, Failure> {
        let made = self.made;
        let guard = match self.ticket.try_enter() {
            Ok(guard) => guard,
            Err(ticket) => {
                site.files.waiting(|| ticket.wait()).map_err(|failure| after(made, failure))?
            }
        };
        stop.start().map_err(|failure| after(made, failure))?;
        let place = site.root.locate(&self.path).map_err(|error| after(made, error.into()))?;
        if place.lane() != self.key {
            let message = format!("{}: leads elsewhere than when the call came", self.path);
            let failure = Failure::not_started("path_changed", message).with_hint("try again");
            return Err(after(made, failure));
        }
        Ok(Entered { place, path: self.path, guard, made })
    }
}

impl Entered {
    /// Tells of a failure, directories that were made for it included.
    pub(crate) fn effect_of(made: bool, failure: Failure) -> Failure {
        after(made, failure)
    }

    /// Tells whether directories were made on the way here.
    pub(crate) fn made_parents(&self) -> bool {
        self.made
    }
}

/// Where directories were made already, nobody can say that nothing changed.
fn after(made: bool, mut failure: Failure) -> Failure {
    if made && failure.effect == Effect::NotStarted {
        failure.effect = Effect::Indeterminate;
    }
    failure
}
