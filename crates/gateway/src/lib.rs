//! The HTTP face of the daemon: the doors (Unix socket and loopback TCP), the perimeter that turns a
//! connection into a `Caller` before any body is read, the rows of `api::routes` with their handlers,
//! server-sent events, and the same rows as lines of JSON.
//!
//! No rule of the domain lives here: a handler decodes, calls and encodes. Nothing is kept between
//! requests, and no route reads a secret.

pub mod body;
pub mod decode;
pub mod listen;
pub mod mount;
pub mod perimeter;
pub mod refuse;
pub mod routes;
pub mod sse;

#[cfg(test)]
pub(crate) mod testing;
