//! Parallel work over a growing tree whose results come out in the tree's order.
//!
//! Threads take the newest work first, which is nearly the order of delivery. The calling thread
//! delivers; whatever it needs next and nobody has begun, it does itself. So it never waits for work
//! that waits for it, and the others may be held back when too much is finished ahead of time.

use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use vocab::limits::{TRAVERSE_AHEAD_BYTES_MAX, TRAVERSE_RESULTS_MAX};

use super::Flow;

/// A piece of the answer.
pub(super) enum Slot<T, W> {
    /// A result.
    Ready(T),
    /// Results of work that may not be done yet.
    Later(Arc<Node<T, W>>),
}

/// A piece of work and, later, its results.
pub(super) struct Node<T, W>(Mutex<State<T, W>>);

enum State<T, W> {
    Waiting(W),
    Running,
    Done(Vec<Slot<T, W>>),
}

impl<T, W> Node<T, W> {
    pub(super) fn new(work: W) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State::Waiting(work))))
    }

    fn state(&self) -> MutexGuard<'_, State<T, W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the work; none if somebody else did.
    fn claim(&self) -> Option<W> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Running) {
            State::Waiting(work) => Some(work),
            other @ (State::Running | State::Done(_)) => {
                *state = other;
                None
            }
        }
    }
}

struct Queue<T, W> {
    /// The next one last.
    stack: Vec<Arc<Node<T, W>>>,
    /// Results that are finished and not delivered.
    ahead: usize,
    finished: bool,
}

struct Pool<'a, T, W> {
    queue: Mutex<Queue<T, W>>,
    /// What those results hold, in bytes, as visitors and the receiver count it.
    held: &'a AtomicUsize,
    /// There is more to do, or less finished ahead.
    work: Condvar,
    /// Something is done.
    done: Condvar,
}

/// Marks a node as done also when its work panics, so that nobody waits for it.
struct Finish<'a, T, W> {
    pool: &'a Pool<'a, T, W>,
    node: &'a Node<T, W>,
    slots: Vec<Slot<T, W>>,
}

impl<T, W> Drop for Finish<'_, T, W> {
    fn drop(&mut self) {
        let slots = std::mem::take(&mut self.slots);
        let mut queue = self.pool.queue();
        let before = queue.stack.len();
        for slot in slots.iter().rev() {
            match slot {
                Slot::Ready(_) => queue.ahead += 1,
                Slot::Later(node) => queue.stack.push(Arc::clone(node)),
            }
        }
        let more = queue.stack.len() - before;
        *self.node.state() = State::Done(slots);
        drop(queue);
        self.pool.done.notify_one();
        match more {
            0 => {}
            1 => self.pool.work.notify_one(),
            _ => self.pool.work.notify_all(),
        }
    }
}

impl<T, W> Pool<'_, T, W> {
    /// Tells whether so much is finished ahead of its turn that only the next results count.
    fn is_full(&self, queue: &Queue<T, W>) -> bool {
        TRAVERSE_RESULTS_MAX <= queue.ahead
            || TRAVERSE_AHEAD_BYTES_MAX <= self.held.load(Ordering::Relaxed)
    }

    fn queue(&self) -> MutexGuard<'_, Queue<T, W>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, node: &Node<T, W>, act: impl FnOnce(W) -> Vec<Slot<T, W>>) {
        let Some(work) = node.claim() else { return };
        let mut finish = Finish { pool: self, node, slots: Vec::new() };
        finish.slots = act(work);
    }

    /// Works until everything is delivered.
    fn help(&self, mut act: impl FnMut(W) -> Vec<Slot<T, W>>) {
        let mut queue = self.queue();
        while !queue.finished {
            if !self.is_full(&queue)
                && let Some(node) = queue.stack.pop()
            {
                drop(queue);
                self.run(&node, &mut act);
                queue = self.queue();
            } else {
                queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Returns the results of a node, doing its work or other work meanwhile.
    fn results(
        &self,
        node: &Node<T, W>,
        mut act: impl FnMut(W) -> Vec<Slot<T, W>>,
    ) -> Vec<Slot<T, W>> {
        self.run(node, &mut act);
        let mut queue = self.queue();
        loop {
            if let State::Done(slots) = &mut *node.state() {
                return std::mem::take(slots);
            }
            if !self.is_full(&queue)
                && let Some(other) = queue.stack.pop()
            {
                drop(queue);
                self.run(&other, &mut act);
                queue = self.queue();
            } else {
                queue = self.done.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Hands one result to the receiver, and wakes those who were held back for it.
    fn deliver(&self, give: impl FnOnce() -> Flow) -> Flow {
        let was_full = {
            let mut queue = self.queue();
            let was_full = self.is_full(&queue);
            queue.ahead = queue.ahead.saturating_sub(1);
            was_full
        };
        let flow = give();
        if was_full {
            // Under the lock, so that nobody is between looking and waiting.
            let _queue = self.queue();
            self.work.notify_all();
        }
        flow
    }
}

/// Ends the helpers, also when the delivery panics.
struct Finished<'a, T, W>(&'a Pool<'a, T, W>);

impl<T, W> Drop for Finished<'_, T, W> {
    fn drop(&mut self) {
        self.0.queue().finished = true;
        self.0.work.notify_all();
    }
}

/// Does `work` and all that comes of it, and delivers the results in order.
pub(super) fn drive<T: Send, W: Send, V>(
    work: W,
    (threads, held): (usize, &AtomicUsize),
    (visitor, act): (&(impl Fn() -> V + Sync), &(impl Fn(&mut V, W) -> Vec<Slot<T, W>> + Sync)),
    mut deliver: impl FnMut(T) -> Flow,
    stop: impl Fn(),
) {
    let queue = Mutex::new(Queue { stack: Vec::new(), ahead: 0, finished: false });
    let pool = &Pool { queue, held, work: Condvar::new(), done: Condvar::new() };
    std::thread::scope(|scope| {
        let _finished = Finished(pool);
        for _ in 1..threads {
            let help = move || {
                let mut own = visitor();
                pool.help(|work| act(&mut own, work));
            };
            // With fewer threads the work is the same, only slower.
            if std::thread::Builder::new().spawn_scoped(scope, help).is_err() {
                break;
            }
        }
        let mut own = visitor();
        let mut open = vec![vec![Slot::Later(Node::new(work))].into_iter()];
        while let Some(slots) = open.last_mut() {
            match slots.next() {
                None => drop(open.pop()),
                Some(Slot::Ready(result)) => {
                    if pool.deliver(|| deliver(result)) == Flow::Stop {
                        stop();
                        return;
                    }
                }
                Some(Slot::Later(node)) => {
                    let slots = pool.results(&node, |work| act(&mut own, work));
                    open.push(slots.into_iter());
                }
            }
        }
    });
}

#[cfg(test)]
mod tests;
