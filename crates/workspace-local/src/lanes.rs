//! Leads a change to the place of its file, one after another, in the order of their arrival.

use std::sync::{Arc, Mutex, PoisonError};

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

/// Held from the look at a directory until a position in it is taken, and by whoever removes one again,
/// so that none is removed that another change found and relies on.
pub(crate) type Making = Arc<Mutex<()>>;

/// Directories that were made for a change, the outermost first.
struct Made {
    dirs: Vec<confine::Made>,
    making: Making,
}

impl Made {
    /// Removes them again after a change that was not. Where one stays, because it is used by now, nobody
    /// can say that nothing changed.
    fn undone(&self, mut failure: Failure) -> Failure {
        if failure.effect == Effect::NotStarted && !self.dirs.is_empty() {
            let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
            if !self.dirs.iter().rev().all(confine::Made::undo) {
                failure.effect = Effect::Indeterminate;
            }
        }
        failure
    }
}

/// A position in a file's lane.
pub(crate) struct Registered {
    path: WorkspacePath,
    key: LaneKey,
    ticket: Ticket,
    made: Made,
}

/// A file's place, while nobody else changes it.
pub(crate) struct Entered {
    pub(crate) place: Place,
    pub(crate) path: WorkspacePath,
    pub(crate) guard: Guard,
    made: Made,
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
    let making = site.making.lock().unwrap_or_else(PoisonError::into_inner);
    let path = site.root.parse(text)?;
    let mut made = Made { dirs: Vec::new(), making: Arc::clone(&site.making) };
    if parents == Parents::Made
        && let Some(parent) = path.parent()
        && site.root.open_dir(&parent).is_err()
    {
        stop.start()?;
        made.dirs = site.root.create_dirs(&parent)?;
    }
    let place = site.root.locate(&path).map_err(Failure::from);
    let registered = place.and_then(|place| {
        let key = place.lane();
        let ticket = lane::register(key.clone()).map_err(|reason| {
            Failure::not_started("busy", format!("{path}: {reason}")).with_hint("try again")
        })?;
        Ok((key, ticket))
    });
    drop(making);
    match registered {
        Ok((key, ticket)) => Ok(Registered { path, key, ticket, made }),
        Err(failure) => Err(made.undone(failure)),
    }
}

/// Waits for a turn. The work of an earlier turn may still be queued, so that the thread counts as one
/// that waits.
pub(crate) fn in_turn(site: &Site, turn: &Turn) -> Result<(), Failure> {
    if turn.is_up() { Ok(()) } else { site.files.waiting(|| turn.wait()) }
}

impl Registered {
    /// Waits until every earlier change of the file is over, then looks at the place anew.
    pub(crate) fn enter(self, site: &Site, stop: &Stop) -> Result<Entered, Failure> {
        let Self { path, key, ticket, made } = self;
        let waited = || {
            let guard = match ticket.try_enter() {
                Ok(guard) => guard,
                Err(ticket) => site.files.waiting(|| ticket.wait())?,
            };
            stop.start()?;
            let place = site.root.locate(&path)?;
            if place.lane() != key {
                let message = format!("{path}: leads elsewhere than when the call came");
                let failure = Failure::not_started("path_changed", message);
                return Err(failure.with_hint("try again"));
            }
            Ok((place, guard))
        };
        match waited() {
            Ok((place, guard)) => Ok(Entered { place, path, guard, made }),
            Err(failure) => Err(made.undone(failure)),
        }
    }
}

impl Entered {
    /// Does something at the place and leaves the lane. Where that changed nothing, the directories that
    /// were made for it go again.
    pub(crate) fn act<T>(
        self,
        act: impl FnOnce(Place, &WorkspacePath, Guard) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        act(self.place, &self.path, self.guard).map_err(|failure| self.made.undone(failure))
    }
}
