//! The store: sessions, messages, parts, runs and the ordered facts about them, in SQLite.
//!
//! One thread writes and commits in groups; at most two read. Not here: business rules, publishing,
//! any call to the outside. No other crate holds SQL.

mod apply;
mod batch;
mod cursor;
mod encode;
mod error;
mod files;
mod finish;
mod migrate;
mod open;
mod reader;
mod remove;
mod retain;
pub mod rows;
mod sql;
mod store;
mod transcript;
mod writer;

pub use crate::{
    batch::{Appended, Batch, Change, Durability, NewFact, NewSession},
    cursor::{BadCursor, Cursor, Epoch},
    error::StoreError,
    open::{Opening, Options, Room, SetAside},
    retain::{Pruned, Retention},
    rows::Phase,
    store::Store,
};
