//! What the standard library lacks and every room needs: a clock that tests can hold, secrets that
//! cannot be printed, the identity of a process, where a program is, private files published atomically, kernel locks,
//! a heap that shrinks.
//!
//! Nothing of the domain lives here: no session, no tool, no wire.

pub mod clock;
pub mod lock;
pub mod memory;
pub mod mounts;
pub mod paths;
pub mod proc_id;
pub mod program;
pub mod secret;
pub mod state_file;
pub mod writer_lock;
