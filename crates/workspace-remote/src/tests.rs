//! The crate at its boundary: `client(server(W))` beside W, over lines that hold and lines that break.

mod rig;
mod frames;
mod laws;
mod witness;
mod cuts;
mod speed;
mod slow;
mod calls;
mod channels;
mod lines;
mod transcripts;
mod untaken;
mod crowds;
mod sockets;
mod conformance;
mod copies;

pub(crate) use self::sockets::Trust;
