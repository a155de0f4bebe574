//! The seam to a workspace, and to any source of tools: what can be asked, and of what shape answers are.
//!
//! Traits and their values only. Nothing here does I/O, knows a wire, a session or a model. The law of
//! the seam: for every workspace W, `client(server(W))` answers like W.

pub mod call;
pub mod catalog;
pub mod copy;
pub mod fake;
pub mod grant;
pub mod joined;
pub mod law;
pub mod primitive;
pub mod source;
pub mod tree;
