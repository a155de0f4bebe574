//! Turns a `WorkspacePath` into an open handle that provably lies below a root, publishes files
//! whole, and walks directories by handle.
//!
//! The promise: every component was beneath the root when it was opened, it was reached by handle,
//! and never through a link that was not resolved here. Who may do something is not decided here,
//! only where; nothing here is asynchronous; and no path of a file leaves this crate.

mod dir;
mod error;
mod escape;
mod guard;
mod ignored;
mod lane;
mod place;
mod publish;
mod root;
mod sys;
mod traverse;
mod walk;

pub use dir::{Dir, DirEntry, FileId, Kind, Meta, OpenFile};
pub use error::{ConfineError, Reason};
pub use lane::{Guard, LaneKey, Ticket, register};
pub use place::Place;
pub use publish::{Mode, Pending, PublishOptions, Published, Replace};
pub use root::{Access, Root, RootOptions};
pub use traverse::{Entry, Flow, Report, Skipped, Traverse};

#[cfg(test)]
mod tests;
