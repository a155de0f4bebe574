//! The live runs: at most one per session, at most so many in all.
//!
//! A slot is taken before anything is stored and given back when the run has told its last fact, so
//! that "stop, then send" never meets its own shadow.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use agent::pen::Pen;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::SessionId,
    limits::RUNS_LIVE_MAX,
    message::RunState,
    outcome::{Effect, Failure},
};

use crate::{live::Live, writer::Writer};

const IN_FLIGHT: &str = "run_in_flight";

/// Says that a session's slot is taken.
pub(crate) fn in_flight(session: &SessionId) -> Failure {
    Failure::not_started(IN_FLIGHT, format!("a run works on {session}"))
        .with_hint("wait for it, or stop it first")
}

/// The registry of live runs.
#[derive(Debug, Clone, Default)]
pub struct Runs(Arc<Registry>);

#[derive(Debug, Default)]
struct Registry {
    slots: Mutex<Slots>,
    changed: Notify,
    left_open: AtomicBool,
}

#[derive(Debug, Default)]
struct Slots {
    taken: HashMap<SessionId, Slot>,
    draining: bool,
}

#[derive(Debug)]
enum Slot {
    /// Somebody is about to start or change it.
    Reserved,
    /// It works.
    Live(LiveRun),
}

/// A handle on a live run.
#[derive(Debug, Clone)]
pub struct LiveRun {
    /// What it says.
    pub live: Arc<Live>,
    /// Writes to it.
    pub pen: Pen,
    /// Stops it.
    pub cancel: CancellationToken,
    over: watch::Receiver<bool>,
}

impl LiveRun {
    /// Waits until the run has told its last fact.
    pub async fn over(&self) {
        // An error means that the sender is gone, which is the end as well.
        self.over.clone().wait_for(|over| *over).await.ok();
    }
}

/// What somebody who means to end a session's work finds.
#[derive(Debug)]
pub enum Claim {
    /// A run works.
    Live(LiveRun),
    /// None does, and none starts while this is held.
    Free(Reservation),
}

/// The sole right to work on a session. Dropping it gives the right back.
#[derive(Debug)]
pub struct Reservation {
    runs: Runs,
    session: SessionId,
    over: Option<watch::Sender<bool>>,
    /// What other programs see of it.
    writer: Option<Writer>,
}

impl Runs {
    /// Takes the slot of a session for a run that is about to work.
    ///
    /// # Errors
    /// When a run works on it, the daemon drains, or too many runs work.
    pub fn admit(&self, session: &SessionId) -> Result<Reservation, Failure> {
        if self.lock().taken.len() >= RUNS_LIVE_MAX {
            let why = format!("{RUNS_LIVE_MAX} runs work already");
            return Err(Failure::new("too_many_runs", Effect::NotStarted, why)
                .with_hint("wait for one of them, or stop it"));
        }
        self.reserve(session)
    }

    /// Waits for a run that has told its end and still has the slot: whoever has read that end may begin the
    /// next one. One that works is not waited for.
    pub async fn rested(&self, session: &SessionId) {
        let run = match self.lock().taken.get(session) {
            Some(Slot::Live(run)) => run.clone(),
            Some(Slot::Reserved) | None => return,
        };
        if matches!(run.pen.transcript().run.state, RunState::Ended(_)) {
            run.over().await;
        }
    }

    /// Takes the slot of a session, however many runs work: to stop, answer or delete is always possible.
    ///
    /// # Errors
    /// When a run works on it, or the daemon drains.
    pub fn reserve(&self, session: &SessionId) -> Result<Reservation, Failure> {
        let mut slots = self.lock();
        if slots.draining {
            return Err(Failure::not_started("draining", "the daemon is stopping"));
        }
        if slots.taken.contains_key(session) {
            return Err(in_flight(session));
        }
        slots.taken.insert(session.clone(), Slot::Reserved);
        Ok(Reservation { runs: self.clone(), session: session.clone(), over: None, writer: None })
    }

    /// Returns the live run of a session once nobody is about to start or change it any more.
    pub async fn settled(&self, session: &SessionId) -> Option<LiveRun> {
        loop {
            // Listening comes before looking, so that no change is missed in between.
            let changed = self.0.changed.notified();
            match self.lock().taken.get(session) {
                Some(Slot::Live(run)) => return Some(run.clone()),
                None => return None,
                Some(Slot::Reserved) => {}
            }
            changed.await;
        }
    }

    /// Finds the live run of a session or takes its slot, once nobody is about to start or change it any
    /// more. Never neither: a run that started in between would go on unseen.
    ///
    /// # Errors
    /// When no run works on it and the daemon drains.
    pub async fn claim(&self, session: &SessionId) -> Result<Claim, Failure> {
        loop {
            if let Some(run) = self.settled(session).await {
                return Ok(Claim::Live(run));
            }
            match self.reserve(session) {
                Ok(reservation) => return Ok(Claim::Free(reservation)),
                // Somebody was quicker; look again.
                Err(failure) if failure.code == IN_FLIGHT => {}
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Refuses new runs from now on, stops those that work and waits until every slot is free.
    pub async fn drain(&self) {
        self.lock().draining = true;
        loop {
            let changed = self.0.changed.notified();
            if self.stop_all() == 0 {
                return;
            }
            changed.await;
        }
    }

    /// Tells every run at work to stop; one that just parked waits through the end of the daemon. Returns
    /// how many slots are taken.
    fn stop_all(&self) -> usize {
        let slots = self.lock();
        for slot in slots.taken.values() {
            if let Slot::Live(run) = slot
                && !matches!(run.pen.transcript().run.state, RunState::Parked { .. })
            {
                run.cancel.cancel();
            }
        }
        slots.taken.len()
    }

    /// Notes that runs which the daemon before has left at work are not closed in the store yet.
    pub(crate) fn leave_open(&self) {
        self.0.left_open.store(true, Ordering::SeqCst);
    }

    /// Notes that there are none left.
    pub(crate) fn all_closed(&self) {
        self.0.left_open.store(false, Ordering::SeqCst);
    }

    /// Tells whether there may be any left.
    pub(crate) fn are_left_open(&self) -> bool {
        self.0.left_open.load(Ordering::SeqCst)
    }

    /// Tells whether a run that stands in the store as working is one of those: nobody works on its session, or is
    /// about to start or change it.
    pub(crate) fn is_left_open(&self, session: &SessionId) -> bool {
        self.are_left_open() && !self.lock().taken.contains_key(session)
    }

    /// Returns how many runs work.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().taken.len()
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// Keeps other programs from writing the session for as long as this is held.
    pub(crate) fn hold(&mut self, writer: Writer) {
        self.writer = Some(writer);
    }

    /// Makes the run visible. It works until this reservation is dropped.
    pub fn go_live(&mut self, live: Arc<Live>, pen: Pen) -> LiveRun {
        let (sender, over) = watch::channel(false);
        let run = LiveRun { live, pen, cancel: CancellationToken::new(), over };
        self.over = Some(sender);
        self.runs.lock().taken.insert(self.session.clone(), Slot::Live(run.clone()));
        self.runs.0.changed.notify_waiters();
        run
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // Given back first: whoever takes the slot finds it free.
        self.writer = None;
        self.runs.lock().taken.remove(&self.session);
        if let Some(over) = &self.over {
            over.send(true).ok();
        }
        self.runs.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use vocab::message::{Run, RunEnd};

    use super::*;
    use crate::stage;

    #[tokio::test]
    async fn runs_are_bounded_and_one_per_session() {
        let runs = Runs::default();
        let session = SessionId::generate();
        let first = runs.admit(&session).unwrap();
        assert_eq!(runs.admit(&session).unwrap_err().code, "run_in_flight");
        drop(first);
        let held: Vec<_> =
            (0..RUNS_LIVE_MAX).map(|_| runs.admit(&SessionId::generate()).unwrap()).collect();
        assert_eq!(runs.admit(&session).unwrap_err().code, "too_many_runs");
        drop(runs.reserve(&session).unwrap());
        drop(held);
        runs.drain().await;
        assert_eq!(runs.admit(&session).unwrap_err().code, "draining");
    }

    #[tokio::test]
    async fn who_has_read_an_end_may_begin_at_once_and_who_has_not_is_refused() {
        let (_dir, sessions) = stage::sessions();
        let works = SessionId::generate();
        let _working = stage::live_run(&sessions, &works, stage::a_run());
        sessions.runs.rested(&works).await;
        assert_eq!(sessions.runs.admit(&works).unwrap_err().code, IN_FLIGHT);
        let ends = SessionId::generate();
        let run = Run { state: RunState::Ended(RunEnd::Finished), ..stage::a_run() };
        let (reservation, _run) = stage::live_run(&sessions, &ends, run);
        let mut rested = std::pin::pin!(sessions.runs.rested(&ends));
        tokio::select! {
            biased;
            () = &mut rested => panic!("it did not wait"),
            () = std::future::ready(()) => {}
        }
        drop(reservation);
        rested.await;
        sessions.runs.admit(&ends).unwrap();
    }

    #[tokio::test]
    async fn a_drain_waits_for_what_is_about_to_start() {
        let runs = Runs::default();
        let starting = runs.admit(&SessionId::generate()).unwrap();
        let mut drained = std::pin::pin!(runs.drain());
        tokio::select! {
            biased;
            () = &mut drained => panic!("the drain did not wait"),
            () = std::future::ready(()) => {}
        }
        drop(starting);
        drained.await;
    }
}
