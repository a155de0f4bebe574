//! Whether work should go on: cancelled, out of time, or given up before it started.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use stdx::clock::Clock;
use tokio_util::sync::CancellationToken;
use vocab::outcome::{Effect, Failure};

const WAITING: u8 = 0;
const STARTED: u8 = 1;
const GIVEN_UP: u8 = 2;

/// What one piece of work asks before and while it runs. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    cancel: CancellationToken,
    clock: Clock,
    deadline: Option<Duration>,
    state: Arc<AtomicU8>,
    /// Commands that end with the work.
    commands: Arc<Mutex<Vec<sandbox::Cancel>>>,
}

impl Stop {
    pub(crate) fn new(cancel: CancellationToken, clock: &Clock, timeout_ms: Option<u64>) -> Self {
        let deadline =
            timeout_ms.map(|ms| clock.monotonic().saturating_add(Duration::from_millis(ms)));
        let state = Arc::new(AtomicU8::new(WAITING));
        Self { cancel, clock: clock.clone(), deadline, state, commands: Arc::default() }
    }

    /// Lets a command end with the work.
    pub(crate) fn attach(&self, command: &sandbox::Cancel) {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).push(command.clone());
        if self.cancel.is_cancelled() {
            command.cancel();
        }
    }

    /// Ends the commands of cancelled work.
    pub(crate) fn end_commands(&self) {
        for command in self.commands.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            command.cancel();
        }
    }

    /// Tells whether to go on.
    pub(crate) fn alive(&self) -> bool {
        !self.cancel.is_cancelled() && !self.is_late()
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| self.clock.monotonic() >= deadline)
    }

    /// Says that from here on the work must be waited for.
    pub(crate) fn start(&self) -> Result<(), Failure> {
        if !self.alive() {
            return Err(self.failure(Effect::NotStarted));
        }
        let started =
            self.state.compare_exchange(WAITING, STARTED, Ordering::SeqCst, Ordering::SeqCst);
        match started {
            Ok(_) | Err(STARTED) => Ok(()),
            Err(_) => Err(self.failure(Effect::NotStarted)),
        }
    }

    /// Gives the work up unless it started.
    pub(crate) fn give_up(&self) -> bool {
        self.state.compare_exchange(WAITING, GIVEN_UP, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Returns what ends the work from outside.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Words why the work stopped.
    pub(crate) fn failure(&self, effect: Effect) -> Failure {
        if self.is_late() && !self.cancel.is_cancelled() {
            Failure::new("timeout", effect, "stopped because its time was over")
        } else {
            Failure::new("aborted", effect, "stopped because the call was cancelled")
        }
    }

    /// Stops a read that changed nothing.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.alive() { Ok(()) } else { Err(self.failure(Effect::NotStarted)) }
    }
}
