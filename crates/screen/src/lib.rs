//! What a terminal program has drawn: a screen that is told bytes and can be rebuilt elsewhere.
//!
//! A [`Mirror`] reads a program's output as a terminal would. It keeps both screens, every mode and
//! 10,000 lines of scrollback, answers what the program asks while nobody is attached, and writes the
//! byte string after which another terminal shows the same and behaves the same.
//!
//! Not here: processes, sockets, clients, recordings, and what the text on the screen means. Pictures
//! (sixel, kitty graphics) and left and right margins are not kept.

mod answers;
mod control;
mod csi;
mod edit;
mod events;
mod flood;
mod history;
mod interpret;
mod keyboard;
mod labels;
mod links;
mod mirror;
mod modes;
mod osc;
mod paint;
mod print;
mod reflow;
mod resets;
mod sets;
mod sgr;
mod size;
mod snapshot;
mod status;
mod tail;
mod terminal;
mod text;
mod window;

pub use answers::{Audience, Persona, usual_color};
pub use events::{Event, Progress, PromptMark, Query};
pub use mirror::Mirror;
pub use resets::{FOCUS_IN, FOCUS_OUT, KEEP_TITLE, Levels, resets, retitle};
pub use size::Size;
pub use snapshot::Depth;
pub use status::{ProgramState, ProgramStatus};
pub use window::Window;

#[cfg(test)]
mod tests;
