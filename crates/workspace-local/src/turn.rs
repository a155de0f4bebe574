//! Keeps changes in the order in which they were asked for until each stands in its file's lane.
//!
//! Which lane a path belongs to is only known after looking at the disk, and looks may overtake each
//! other; a turn is taken when the call arrives, before any thread touches it.

use std::{
    collections::BTreeSet,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// Hands out turns. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Turns(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    next: u64,
    serving: u64,
    /// Turns given up before they were served.
    given_up: BTreeSet<u64>,
}

/// A turn; dropping it lets the next one in.
pub(crate) struct Turn {
    turns: Turns,
    number: u64,
}

impl Turns {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next turn.
    pub(crate) fn take(&self) -> Turn {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        Turn { turns: self.clone(), number }
    }
}

impl Turn {
    /// Tells whether all earlier turns are over.
    pub(crate) fn is_up(&self) -> bool {
        self.turns.state().serving == self.number
    }

    /// Waits until all earlier turns are over. They are short: a look at the disk each.
    pub(crate) fn wait(&self) {
        let mut state = self.turns.state();
        while state.serving != self.number {
            state = self.turns.0.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        state.given_up.insert(self.number);
        loop {
            let serving = state.serving;
            if !state.given_up.remove(&serving) {
                break;
            }
            state.serving += 1;
        }
        self.turns.0.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_served_in_order_and_skipped_when_given_up() {
        let turns = Turns::default();
        let (first, second, third) = (turns.take(), turns.take(), turns.take());
        drop(second);
        let order = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&order);
        let late = std::thread::spawn(move || {
            third.wait();
            seen.lock().unwrap().push(3);
        });
        first.wait();
        order.lock().unwrap().push(1);
        drop(first);
        late.join().unwrap();
        assert_eq!(*order.lock().unwrap(), [1, 3]);
    }
}
