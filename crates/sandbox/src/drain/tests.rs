//! How fast what nobody wants is read, shown on a pipe without a child.

use rustix::pipe::{PipeFlags, fcntl_getpipe_size, pipe_with};
use stdx::clock::Clock;

use super::*;

#[test]
fn what_nobody_wants_is_read_with_pauses() {
    const N_READS: u32 = 8;
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    rustix::io::ioctl_fionbio(&reading, true).unwrap();
    let held = fcntl_getpipe_size(&writing).unwrap();
    let clock = Clock::system();
    let drain = Drain::start().unwrap();
    let begun = clock.monotonic();
    drain.take(reading);
    // All but what the pipe holds must have been read before the last of it is written.
    let mut left = held + N_READS as usize * limits::CHILD_CHUNK_BYTES;
    let chunk = vec![b'x'; limits::CHILD_CHUNK_BYTES];
    while left > 0 {
        left -= rustix::io::write(&writing, &chunk[..left.min(chunk.len())]).unwrap();
    }
    let pauses = Duration::from_millis(limits::CHILD_DRAIN_PAUSE_MS) * (N_READS - 1);
    assert!(clock.monotonic() - begun >= pauses);
}
