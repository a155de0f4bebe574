//! A workspace that is a directory of this machine: the seven tools, the primitives, the artifacts.
//!
//! How files are reached is `confine`'s, how programs are run `sandbox`'s. Nothing here knows a wire, a
//! session or a model.

pub mod artifact;
pub mod diff;
pub mod edit;
mod glob;
mod hash;
pub mod image;
mod lanes;
pub mod open;
mod output;
mod pattern;
mod pool;
mod primitive;
mod search;
mod serve;
mod site;
pub mod slice;
mod stop;
mod tools;
mod transfer;
pub mod truncate;
mod turn;

pub use open::{Listener, OpenError, Options, ProgramOptions, derived_id};
pub use serve::LocalWorkspace;
pub use tools::{all as specs, preview};

#[cfg(test)]
use tests::bench;
#[cfg(test)]
mod tests;
