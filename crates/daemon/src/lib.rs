//! The daemon's own state and rules.

pub mod caller;
