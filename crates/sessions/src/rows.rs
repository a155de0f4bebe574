//! Sessions as they are listed, found and read. Faces name these words here, so that none of them needs
//! to know where sessions are stored; their meaning is the store's.

pub use store::rows::{Filter, Fitting, MessagePage, Page, PageMark, Place, SessionRow};
