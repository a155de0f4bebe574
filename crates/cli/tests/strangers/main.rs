//! Proofs by strangers: the AI SDK reads and drives our streams, and clients that only know the wire
//! read them in pieces.
//!
//! The daemon is the real program over loopback, the models are the testkit's vendor.

#[cfg(test)]
mod chat;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod crowd;
#[cfg(test)]
mod dialects;
#[cfg(test)]
mod dice;
#[cfg(test)]
mod node;
#[cfg(test)]
mod parked;
#[cfg(test)]
mod positions;
#[cfg(test)]
mod reading;
