//! The terminal face: everything that runs on one screen, by what needs a person.
//!
//! A state, what changes it, and what is drawn of it are values; one loop joins them to a terminal and a
//! daemon. Never calls anything but `api::client`, and the program that shows a job in a terminal.

pub mod call;
pub mod change;
pub mod clean;
mod editor;
mod input;
pub mod list;
mod msg;
mod question;
pub mod run;
mod state;
mod terminal;
mod text;
mod transcript;
mod update;
mod view;
mod words;

#[cfg(test)]
mod testing;
