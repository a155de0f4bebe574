//! Jobs beside other programs that keep terminals: each keeps the same programs, on this machine, in this
//! run, by turns.

mod adopt;
mod attach;
mod cue;
mod day;
mod dispatch;
mod echo;
mod idle;
mod keeper;
mod memory;
mod output;
pub(super) mod program;
mod terminal;

use std::time::Duration;

pub(super) use self::{
    adopt::adopt, attach::attach, day::day, dispatch::dispatch, echo::echo, idle::idle,
    memory::memory, output::output,
};

/// When something that does not come is given up on.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long everything is left alone before it counts as idle: longer than a second of silence, after
/// which what was written goes to disk and memory is given back.
const QUIET: Duration = Duration::from_millis(2_500);
