//! Git's ignore rules, from files read by handle.
//! Placeholder.
