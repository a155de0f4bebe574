//! What tests and benches stand on: peers whose answers are planned, files that fail, private homes.
//!
//! The product never depends on this crate, and nothing here uses a crate of the product: what a peer
//! accepts is written from the vendors' side, and the program is known by its command line alone, so
//! that our own misunderstandings show.

pub mod faulty_vfs;
pub mod home;
pub mod model_server;
pub mod process;
pub mod reduce;
