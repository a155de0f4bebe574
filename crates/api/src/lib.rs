//! The HTTP wire: the table of routes, requests and responses, the run stream's vocabulary, problems,
//! and the typed client.
//!
//! Shapes only; no rule lives here, and no route reads a secret.

pub mod agent;
pub mod chat;
pub mod client;
pub mod daemon;
pub mod history;
pub mod job;
mod parts;
pub mod problem;
pub mod routes;
pub mod secret;
pub mod session;
pub mod sse;
pub mod stream;
pub mod ui;
pub mod workspace;
