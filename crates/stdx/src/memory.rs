//! The heap of a process that lives long and mostly sleeps: what it has freed goes back to the system.
//!
//! Not here: an allocator of our own.

#![expect(unsafe_code, reason = "the allocator is spoken to through C")]

/// From this size on, an allocation is pages of its own, which go back when it is freed. It is the C library's
/// own number; set, it no longer grows with what was freed.
#[cfg(target_env = "gnu")]
const OWN_PAGES_BYTES: libc::c_int = 128 << 10;

/// So much may lie free at the heap's end before it goes back unasked: who is busy needs it again at once.
#[cfg(target_env = "gnu")]
const SPARE_BYTES: libc::c_int = 1 << 20;

/// Tells the allocator that this process lives long. To be called before its first thread is started.
pub fn live_long() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: sets a number of the allocator; one that it does not take changes nothing.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_PAGES_BYTES) };
        // SAFETY: the same.
        unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, SPARE_BYTES) };
    }
}

/// Gives the system back what was freed. Worth its time when a process falls asleep.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the allocator's own operation, which moves nothing that is in use.
        unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_stays_as_it_is() {
        live_long();
        let kept: Vec<Vec<usize>> = (0..1_000).map(|n| vec![n; 100]).collect();
        let freed: Vec<Vec<usize>> = (0..1_000).map(|n| vec![n; 100]).collect();
        drop(freed);
        give_back();
        assert!(
            kept.iter().enumerate().all(|(n, row)| row.len() == 100 && row.iter().all(|m| *m == n))
        );
    }
}
