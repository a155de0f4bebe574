//! The tenant: sessions and their runs over time.
//!
//! It stores, then tells; it chooses models and places; it runs no tool, opens no file and parses no
//! wire itself. One live run per session, by construction.

pub mod answer;
pub mod deadline;
pub mod journal;
pub mod live;
pub mod mend;
pub mod models;
mod project;
pub mod rows;
mod repeat;
mod resume;
mod roster;
pub mod runs;
pub mod said;
pub mod sessions;
pub mod start;
mod scratch;
#[cfg(test)]
mod stage;
mod stop;
mod unstored;
mod work;
mod writer;
