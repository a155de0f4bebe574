//! A job: a program in a terminal that outlives the terminal it was started from.
//!
//! Each job has a host, a process of its own that holds the terminal, keeps the mirror of its screen and
//! lets clients look and type; [`attach`] is the client of a person's terminal, which
//! its [`guard`] gives back when the client is killed. What a job is lies in its files ([`job`]); how a host is talked to are
//! frames ([`frame`]) with the words of [`hello`]; who wants one thing of it asks with [`ask`].
//!
//! Not here: which jobs there are and what state they are in (the daemon's), what a screen means, and
//! any asynchronous runtime.

pub mod attach;
pub mod ask;
pub mod follow;
pub mod frame;
pub mod guard;
pub mod hello;
pub mod host;
pub mod job;
pub mod record;
pub mod replay;
mod text;
mod tty;
