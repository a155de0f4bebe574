//! The AI-free host: who calls, where state lives, one instance, the hub of events, keys, workspaces,
//! and the ordered drain.
//!
//! It names no model, no prompt and no message, and imports no HTTP. A bare daemon starts, serves its
//! own capabilities and drains.

pub mod caller;
pub mod host;
pub mod hub;
pub mod jobs;
pub mod paths;
pub mod roster;
pub mod secrets;
pub mod single;
pub mod workspaces;
