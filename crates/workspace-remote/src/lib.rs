//! The remote workspace protocol: a pipe between two workspaces. `client(server(W))` answers like W.
//!
//! Executes nothing itself, logs no payload, and lets no connection see another's ids. Who may connect is
//! decided before a transport comes here.

pub mod frame;
pub mod codec;
pub mod protocol;
pub mod line;
pub mod transport;
pub mod offer;
pub mod connection;
pub mod server;
pub mod client;
pub mod tls;
pub mod door;
pub mod dial;

#[cfg(test)]
mod tests;
