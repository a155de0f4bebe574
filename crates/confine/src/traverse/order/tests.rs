//! When threads that help pause.

use super::*;

#[test]
fn work_ahead_pauses_at_its_bounds() {
    for (ahead, bytes, is_full) in [
        (0, 0, false),
        (TRAVERSE_RESULTS_MAX - 1, TRAVERSE_AHEAD_BYTES_MAX - 1, false),
        (TRAVERSE_RESULTS_MAX, 0, true),
        (0, TRAVERSE_AHEAD_BYTES_MAX, true),
    ] {
        let held = AtomicUsize::new(bytes);
        let queue = Mutex::new(Queue::<(), ()> { stack: Vec::new(), ahead, finished: false });
        let pool = Pool { queue, held: &held, work: Condvar::new(), done: Condvar::new() };
        assert_eq!(pool.is_full(&pool.queue()), is_full, "{ahead} {bytes}");
    }
}
