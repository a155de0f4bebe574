//! The bytes of a recording's files: a preamble, then records; in most of them, compressed events.
//!
//! A file may end anywhere, since hosts are killed: whatever is not whole is not there. Nothing that a
//! file says is believed before it is checked. Not here: which files there are.

use std::time::Duration;

use screen::Size;
use serde::{Deserialize, Serialize};
use vocab::{ids::JobId, limits::RECORD_FILE_BYTES_MAX};

use super::{Event, Keyframe, What};
use crate::hello;

/// Begins every file.
const MAGIC: [u8; 8] = *b"STEADREC";

/// The version of the format. Another one may mean anything.
const VERSION: u32 = 1;

/// Magic and version.
const PREAMBLE_BYTES: usize = 12;

/// Begins a file: whose it is, and how it hangs together with the one before.
pub(super) const HEAD: u8 = 1;
/// The whole terminal.
pub(super) const KEYFRAME: u8 = 2;
/// Events.
pub(super) const BLOCK: u8 = 3;

const OUTPUT: u8 = 1;
const SIZE: u8 = 2;
const MARKER: u8 = 3;
const EXIT: u8 = 4;
const GAP: u8 = 5;

/// How the body of a record is written.
const PLAIN: u8 = 0;
const LZ4: u8 = 1;

/// Nothing has been written to the terminal yet.
const IS_FRESH: u8 = 1;

/// The first record of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) job: JobId,
    /// The time of day at which times are counted from, in milliseconds since the Unix epoch.
    pub(super) began: i64,
    /// Nothing is missing between the end of the file before and this one.
    pub(super) continues: bool,
}

/// Returns the beginning of a file.
pub(super) fn begin(head: &Head) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(&record(HEAD, &hello::to_json(head)));
    out
}

/// Returns a record's bytes.
pub(super) fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 5);
    out.push(kind);
    // A payload is far below what four bytes count; see the limits of blocks and snapshots.
    out.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(payload);
    out
}

/// Returns a record whose body is compressed if that makes it smaller.
pub(super) fn packed(kind: u8, at: Duration, body: &[u8]) -> Vec<u8> {
    let small = lz4_flex::block::compress_prepend_size(body);
    let (codec, body) = if small.len() < body.len() { (LZ4, &small[..]) } else { (PLAIN, body) };
    let mut payload = Vec::with_capacity(body.len() + 9);
    payload.extend_from_slice(&micros(at).to_be_bytes());
    payload.push(codec);
    payload.extend_from_slice(body);
    record(kind, &payload)
}

/// Returns a keyframe's body.
pub(super) fn keyframe(size: Size, wall: i64, is_fresh: bool, snapshot: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(snapshot.len() + 13);
    body.extend_from_slice(&size.columns().to_be_bytes());
    body.extend_from_slice(&size.lines().to_be_bytes());
    body.push(if is_fresh { IS_FRESH } else { 0 });
    body.extend_from_slice(&wall.to_be_bytes());
    body.extend_from_slice(snapshot);
    body
}

/// Adds an event to a block's body, so long after the one before.
pub(super) fn add(body: &mut Vec<u8>, since: Duration, what: &Told<'_>) {
    let number = |value: u64| value.to_be_bytes();
    match what {
        Told::Output(bytes) => add_bytes(body, OUTPUT, since, bytes),
        Told::Size(size) => {
            let [a, b] = size.columns().to_be_bytes();
            let [c, d] = size.lines().to_be_bytes();
            add_bytes(body, SIZE, since, &[a, b, c, d]);
        }
        Told::Marker(text) => add_bytes(body, MARKER, since, text.as_bytes()),
        Told::Exit(exit) => add_bytes(body, EXIT, since, &hello::to_json(exit)),
        Told::Gap(n_bytes) => add_bytes(body, GAP, since, &number(*n_bytes)),
    }
}

/// An event to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Told<'a> {
    Output(&'a [u8]),
    Size(Size),
    Marker(&'a str),
    Exit(&'a crate::job::ExitRecord),
    Gap(u64),
}

fn add_bytes(body: &mut Vec<u8>, kind: u8, since: Duration, payload: &[u8]) {
    body.push(kind);
    put_number(body, micros(since));
    put_number(body, u64::try_from(payload.len()).unwrap_or(u64::MAX));
    body.extend_from_slice(payload);
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Writes a number in groups of seven bits, the lowest first; all but the last group have the high bit.
fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while 0x80 <= value {
        out.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or(0));
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Why a file is none that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strange {
    /// It is no recording, or not even its beginning was written.
    Foreign,
    /// It is of another version.
    Version(u32),
}

/// Returns what follows a file's preamble.
pub(super) fn after_preamble(bytes: &[u8]) -> Result<usize, Strange> {
    let (preamble, _) = bytes.split_first_chunk::<PREAMBLE_BYTES>().ok_or(Strange::Foreign)?;
    let (magic, version) = preamble.split_at(MAGIC.len());
    let version = version.iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
    match (magic == MAGIC, version) {
        (false, _) => Err(Strange::Foreign),
        (true, VERSION) => Ok(PREAMBLE_BYTES),
        (true, other) => Err(Strange::Version(other)),
    }
}

/// Takes the next whole record; none where the file ends, or what stands there is none.
pub(super) fn take_record<'a>(bytes: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let ([kind, length @ ..], rest) = bytes.split_first_chunk::<5>()?;
    let n_bytes = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    // Where the machine lost power a file may end in zeros.
    let (payload, rest) = rest.split_at_checked(n_bytes).filter(|_| *kind != 0)?;
    *bytes = rest;
    Some((*kind, payload))
}

/// Reads the first record of a file.
pub(super) fn read_head(payload: &[u8]) -> Option<Head> {
    hello::from_json(payload).ok()
}

/// Returns when a packed record begins.
pub(super) fn time_of(payload: &[u8]) -> Option<Duration> {
    let (at, _) = payload.split_first_chunk::<8>()?;
    Some(Duration::from_micros(u64::from_be_bytes(*at)))
}

/// Returns a packed record's body.
pub(super) fn unpack(payload: &[u8]) -> Option<Vec<u8>> {
    let (codec, body) = payload.get(8..)?.split_first()?;
    match *codec {
        PLAIN => Some(body.to_vec()),
        LZ4 => {
            let (size, _) = body.split_first_chunk::<4>()?;
            if RECORD_FILE_BYTES_MAX < u64::from(u32::from_le_bytes(*size)) {
                return None;
            }
            lz4_flex::block::decompress_size_prepended(body).ok()
        }
        _ => None,
    }
}

/// Reads a keyframe's body. Whether it is a jump only the reader knows.
pub(super) fn read_keyframe(body: &[u8]) -> Option<Keyframe> {
    let ([a, b, c, d, flags, wall @ ..], snapshot) = body.split_first_chunk::<13>()?;
    Some(Keyframe {
        columns: u16::from_be_bytes([*a, *b]),
        lines: u16::from_be_bytes([*c, *d]),
        wall: i64::from_be_bytes(*wall),
        is_fresh: flags & IS_FRESH != 0,
        is_jump: false,
        snapshot: snapshot.to_vec(),
    })
}

/// Reads a block's events, up to the first that is not whole. Those of an unknown kind are skipped.
pub(super) fn read_block(start: Duration, mut body: &[u8]) -> Vec<Event> {
    let (mut events, mut at) = (Vec::new(), start);
    while let Some((since, what)) = take_event(&mut body) {
        at = at.saturating_add(since);
        events.extend(what.map(|what| Event { at, what }));
    }
    events
}

fn take_event(bytes: &mut &[u8]) -> Option<(Duration, Option<What>)> {
    let (kind, rest) = bytes.split_first()?;
    *bytes = rest;
    let since = Duration::from_micros(take_number(bytes)?);
    let n_bytes = usize::try_from(take_number(bytes)?).ok()?;
    let (payload, rest) = bytes.split_at_checked(n_bytes)?;
    *bytes = rest;
    let what = match *kind {
        OUTPUT => Some(What::Output(payload.to_vec())),
        SIZE => payload.first_chunk::<4>().map(|[a, b, c, d]| What::Size {
            columns: u16::from_be_bytes([*a, *b]),
            lines: u16::from_be_bytes([*c, *d]),
        }),
        MARKER => Some(What::Marker(String::from_utf8_lossy(payload).into_owned())),
        EXIT => hello::from_json(payload).ok().map(What::Exit),
        GAP => payload
            .first_chunk::<8>()
            .map(|bytes| What::Gap { n_bytes: u64::from_be_bytes(*bytes) }),
        _ => None,
    };
    Some((since, what))
}

#[cfg(test)]
mod tests;
