//! Tests at the loop's boundary: a script speaks, fake tools act, a journal keeps everything.

mod approvals;
mod calls;
mod ends;
mod pieces;
mod plain;
mod restart;
mod rig;
mod words;
