//! Threads of the workspace's own for work that blocks: started on demand, ended when idle.
//!
//! What the work is, and in which order changes of one file happen, is not decided here.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use vocab::{
    limits::{POOL_IDLE_MS, POOL_QUEUE_MAX, POOL_WAITING_THREADS_MAX},
    outcome::Failure,
};

type Task = Box<dyn FnOnce() + Send>;

/// A bounded pool. Clones share it.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Shared>);

struct Shared {
    name: &'static str,
    threads_max: usize,
    /// How long a thread waits for more work before it ends.
    idle: Duration,
    state: Mutex<State>,
    more: Condvar,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Task>,
    threads: usize,
    idle: usize,
    /// Threads that wait for something other than the machine; others are started in their stead.
    waiting: usize,
    closed: bool,
}

impl Pool {
    pub(crate) fn new(name: &'static str, threads_max: usize) -> Self {
        Self::with_idle(name, threads_max, Duration::from_millis(POOL_IDLE_MS))
    }

    fn with_idle(name: &'static str, threads_max: usize, idle: Duration) -> Self {
        let (more, ended) = (Condvar::new(), Condvar::new());
        Self(Arc::new(Shared { name, threads_max, idle, state: Mutex::default(), more, ended }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues work; it starts in the order in which it was queued.
    pub(crate) fn submit(&self, task: Task) -> Result<(), Failure> {
        let mut state = self.state();
        if state.closed {
            return Err(Failure::not_started("workspace_closed", "the workspace is closed"));
        }
        if state.queue.len() >= POOL_QUEUE_MAX {
            let message = "too many calls wait for this workspace";
            return Err(Failure::not_started("busy", message).with_hint("try again"));
        }
        state.queue.push_back(task);
        if state.idle >= state.queue.len() {
            self.0.more.notify_one();
        } else {
            self.grow(&mut state);
        }
        Ok(())
    }

    fn grow(&self, state: &mut State) {
        if state.threads - state.waiting >= self.0.threads_max {
            return;
        }
        let pool = self.clone();
        let started =
            std::thread::Builder::new().name(self.0.name.into()).spawn(move || pool.work());
        match started {
            Ok(_) => state.threads += 1,
            // The work stays queued for the threads there are; without any it is dropped, and whoever
            // waits for its answer is told so.
            Err(_) if state.threads == 0 => state.queue.clear(),
            Err(_) => {}
        }
    }

    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(task) = state.queue.pop_front() {
                drop(state);
                // A panic was told by the panic hook; the call it belonged to sees that no answer came.
                catch_unwind(AssertUnwindSafe(task)).ok();
                state = self.state();
                continue;
            }
            if state.closed {
                break;
            }
            state.idle += 1;
            let (woken, timeout) = self
                .0
                .more
                .wait_timeout(state, self.0.idle)
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if timeout.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        self.0.ended.notify_all();
    }

    /// Waits inside a task for something that another task or a client must do first. Another thread
    /// is started meanwhile, so that nothing else waits along.
    pub(crate) fn waiting<T>(&self, wait: impl FnOnce() -> T) -> Result<T, Failure> {
        let mut state = self.state();
        if state.waiting >= POOL_WAITING_THREADS_MAX {
            let message = "too many calls wait for files that are being changed";
            return Err(Failure::not_started("busy", message).with_hint("try again"));
        }
        state.waiting += 1;
        if !state.queue.is_empty() && state.idle == 0 {
            self.grow(&mut state);
        }
        drop(state);
        let waited = wait();
        self.state().waiting -= 1;
        Ok(waited)
    }

    /// Takes no more work, and returns once everything queued is done. Blocks.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        self.0.more.notify_all();
        while state.threads > 0 {
            state = self.0.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    #[cfg(test)]
    pub(crate) fn threads(&self) -> usize {
        self.state().threads
    }
}

#[cfg(test)]
mod tests;
