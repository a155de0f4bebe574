//! Tests at the loop's boundary: a script speaks, fake tools act, a journal keeps everything.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test picks what it looks for")]

mod approvals;
mod calls;
mod ends;
mod logs;
mod pieces;
mod plain;
mod restart;
mod rig;
mod stage;
mod words;
