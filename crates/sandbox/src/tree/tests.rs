//! How long the dying are waited for, on a clock that something read meanwhile moves.

use std::os::fd::AsFd;

use rustix::event::{EventfdFlags, eventfd};
use stdx::clock::Timestamp;

use super::*;

const STEP: Duration = Duration::from_millis(20);

/// Always has something to read, and each reading takes a while.
struct Slow {
    source: OwnedFd,
    clock: Clock,
    pumped: u64,
}

impl Pump for Slow {
    fn source(&self) -> Option<BorrowedFd<'_>> {
        Some(self.source.as_fd())
    }

    fn pump(&mut self) {
        self.clock.advance(STEP);
        self.pumped += 1;
    }
}

#[test]
fn a_round_lasts_no_longer_than_its_limit() {
    let clock = Clock::manual(Timestamp::default());
    let mut slow = Slow {
        source: eventfd(1, EventfdFlags::CLOEXEC).unwrap(),
        clock: clock.clone(),
        pumped: 0,
    };
    // Nobody signals this process, so it stays as one does that no signal reaches.
    let mut doomed = Doomed::default();
    assert!(doomed.add(&[proc_fs::process(std::process::id()).unwrap()]));
    doomed.wait(KILL_ROUND, &clock, &mut slow);
    assert_eq!(Duration::from_millis(limits::CHILD_KILL_ROUND_MS), STEP * 25);
    assert_eq!(slow.pumped, 25);
    assert!(doomed.told().iter().all(|one| !one.gone));
}
