//! Turns a `WorkspacePath` into an open handle that provably lies below a root, publishes files
//! whole, and walks directories by handle.
//!
//! The promise: every component was beneath the root when it was opened, it was reached by handle,
//! and never through a link that was not resolved here. Who may do something is not decided here,
//! only where; nothing here is asynchronous; and no path of a file leaves this crate.

pub mod dir;
mod error;
mod escape;
mod guard;
mod ignored;
pub mod lane;
mod place;
pub mod publish;
mod root;
mod stage;
mod sys;
pub mod traverse;
mod walk;

pub use dir::{DirEntry, Kind, OpenFile};
pub use error::{ConfineError, Reason};
pub use place::Place;
pub use publish::{Pending, PublishOptions, Replace};
pub use root::{Access, Root, RootOptions};
pub use stage::Stage;
pub use walk::Made;

#[cfg(test)]
mod tests;
