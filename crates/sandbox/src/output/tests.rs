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

#[test]
fn a_fast_writer_is_read_in_bounded_pieces() {
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    rustix::io::ioctl_fionbio(&reading, true).unwrap();
    let (chunk, mut sizes) = (vec![b'x'; limits::CHILD_CHUNK_BYTES], Vec::new());
    // As fast as it is read: each chunk taken makes room for the next one.
    let mut sink = |bytes: &[u8]| {
        sizes.push(bytes.len());
        rustix::io::write(&writing, &chunk).unwrap();
    };
    rustix::io::write(&writing, &chunk).unwrap();
    let mut reader = Reader::new(reading, u64::MAX, &mut sink);
    reader.read_some();
    reader.read_rest();
    drop(reader.into_pipe());
    let wakes = 1 + limits::CHILD_REST_READS_MAX;
    assert_eq!(sizes, vec![limits::CHILD_CHUNK_BYTES; wakes * limits::CHILD_CHUNKS_PER_WAKE]);
}

#[test]
fn a_pipe_grows_with_the_first_full_chunk() {
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    rustix::io::ioctl_fionbio(&reading, true).unwrap();
    let size = || rustix::pipe::fcntl_getpipe_size(&writing).unwrap();
    let before = size();
    let mut sink = |_: &[u8]| {};
    let mut reader = Reader::new(reading, u64::MAX, &mut sink);
    rustix::io::write(&writing, b"slow").unwrap();
    reader.read_some();
    assert_eq!(size(), before);
    rustix::io::write(&writing, &vec![b'x'; limits::CHILD_CHUNK_BYTES]).unwrap();
    reader.read_some();
    assert_eq!(size(), limits::CHILD_PIPE_BYTES);
}

#[test]
fn one_wake_reads_so_many_chunks() {
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    rustix::io::ioctl_fionbio(&reading, true).unwrap();
    let mut n_chunks = 0;
    let mut sink = |_: &[u8]| {
        n_chunks += 1;
        rustix::io::write(&writing, b"again").unwrap();
    };
    rustix::io::write(&writing, b"first").unwrap();
    Reader::new(reading, u64::MAX, &mut sink).read_some();
    assert_eq!(n_chunks, limits::CHILD_CHUNKS_PER_WAKE);
}
