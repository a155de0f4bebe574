//! What every decoder must hold for any bytes: one function for each, which a fuzzer drives and a test replays.
//!
//! A function that returns has found nothing; one that panics has. Nothing here is part of the product.

#![expect(clippy::panic, reason = "a panic is how a fuzzer hears of what was found")]

mod remote;
mod texts;
mod trees;

/// A decoder under test: its name, and what it must hold.
pub type Target = (&'static str, fn(&[u8]));

/// All of them; the fuzzer has a program of the same name for each.
pub const TARGETS: &[Target] = &[
    ("remote_text", remote::text),
    ("remote_piece", remote::piece),
    ("remote_stream", remote::stream),
    ("remote_connection", remote::connection),
    ("remote_greeting", remote::greeting),
    ("remote_address", remote::address),
    ("tree", trees::tree),
    ("skill", texts::skill),
    ("path", texts::path),
    ("vendor_events", texts::vendor_events),
    ("daemon_events", texts::daemon_events),
    ("host_frames", texts::host_frames),
    ("screen", texts::screen),
];

/// Runs a target by its name.
///
/// # Panics
/// When there is none of that name, or the target found something.
pub fn run(name: &str, bytes: &[u8]) {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    let Some((_, target)) = found else { panic!("there is no target {name}") };
    target(bytes);
}

#[cfg(test)]
mod tests;
