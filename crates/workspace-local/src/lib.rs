//! A workspace that is a directory of this machine: the seven tools, the primitives, the artifacts.
//!
//! How files are reached is `confine`'s, how programs are run `sandbox`'s. Nothing here knows a wire, a
//! session or a model.

pub mod diff;
pub mod edit;
pub mod image;
pub mod slice;
pub mod truncate;
