//! Where the reading of an output ends, shown on pipes without a child.

use rustix::{
    event::{EventfdFlags, eventfd},
    pipe::{PipeFlags, pipe_with},
};
use stdx::clock::Timestamp;

use super::*;

#[test]
fn a_writer_that_never_falls_silent_is_left_after_a_while() {
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    rustix::io::ioctl_fionbio(&reading, true).unwrap();
    rustix::io::write(&writing, b"first").unwrap();
    let clock = Clock::manual(Timestamp::default());
    let moved = clock.clone();
    // Each chunk takes some time of a clock that otherwise stands still, and brings the next.
    let mut sink = |_: &[u8]| {
        moved.advance(Duration::from_millis(7));
        rustix::io::write(&writing, b"again").unwrap();
    };
    let gone = eventfd(1, EventfdFlags::CLOEXEC).unwrap();
    let mut reader = Reader::new(reading, u64::MAX, &mut sink);
    let ended = follow(&mut reader, &gone, &Cancel::new().unwrap(), None, &clock);
    assert_eq!(ended, Ended::Gone(OutputEnd::Overtime));
    assert!(clock.monotonic() >= Duration::from_millis(limits::CHILD_OVERTIME_MS));
}

#[test]
fn a_pipe_nobody_holds_is_read_to_its_end() {
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    rustix::io::ioctl_fionbio(&reading, true).unwrap();
    rustix::io::write(&writing, b"all of it").unwrap();
    drop(writing);
    let gone = eventfd(1, EventfdFlags::CLOEXEC).unwrap();
    let mut read = Vec::new();
    let mut sink = |bytes: &[u8]| read.extend_from_slice(bytes);
    let mut reader = Reader::new(reading, u64::MAX, &mut sink);
    let ended = follow(&mut reader, &gone, &Cancel::new().unwrap(), None, &Clock::system());
    assert_eq!(ended, Ended::Gone(OutputEnd::Closed));
    assert_eq!(read, b"all of it");
}
