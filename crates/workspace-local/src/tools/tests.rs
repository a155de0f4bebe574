//! Each tool at its boundary, over real files.

mod bash;
mod edit;
mod listing;
mod read;
mod search;
mod write;
