//! Sessions as they are listed and found. Faces name these words here, so that none of them needs to know
//! where sessions are stored; their meaning is the store's.

pub use store::rows::{Filter, Page, Place, Resolved, SessionRow};
