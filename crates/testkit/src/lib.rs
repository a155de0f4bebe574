//! Peers for tests and benches: real servers whose answers are planned.
//!
//! The product never depends on this crate. Nothing here knows how the product speaks to a peer; what
//! a peer accepts is written from the vendors' side, so that our own misunderstandings show.

pub mod model_server;
pub mod reduce;
