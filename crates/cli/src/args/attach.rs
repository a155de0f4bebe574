//! `stead attach` as it was typed.

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use pty::hello::Scrollback;

/// `stead attach`
#[derive(Debug, ClapArgs)]
#[command(after_help = ATTACH_KEYS)]
pub(crate) struct Attach {
    /// Its id, its name, or a unique part of either; a session's too
    #[arg(value_hint = ValueHint::Other)]
    pub(crate) job: String,
    /// Only look: nothing is typed, and the job keeps its size
    #[arg(long, conflicts_with = "steal")]
    pub(crate) read_only: bool,
    /// Send the terminal away that types now, instead of leaving it to look
    #[arg(long)]
    pub(crate) steal: bool,
    /// What to do with lines that have scrolled away
    #[arg(long, value_enum, default_value_t = ScrollbackArg::Append)]
    pub(crate) scrollback: ScrollbackArg,
    /// The keys that let go of the job, as "ctrl-] d" or "ctrl-q"; none leaves it to `--steal` and signals
    #[arg(long, value_name = "KEYS", value_hint = ValueHint::Other)]
    pub(crate) detach_keys: Option<String>,
    /// The process that has started it, and with which it ends
    #[arg(long, value_name = "PID", value_hint = ValueHint::Other, hide = true)]
    pub(crate) parent: Option<u32>,
}

impl Attach {
    /// Returns what is meant by a job alone.
    pub(crate) fn to(job: &str) -> Self {
        let scrollback = ScrollbackArg::Append;
        Self {
            job: job.to_owned(),
            read_only: false,
            steal: false,
            scrollback,
            detach_keys: None,
            parent: None,
        }
    }
}

/// What `stead attach --help` shows at its end.
const ATTACH_KEYS: &str = "Keys:
  Ctrl-] d         let go; the job goes on
  Ctrl-] Ctrl-]    type Ctrl-] itself
  Ctrl-Z           let go, where the job is a known agent

--detach-keys KEYS, or STEAD_DETACH_KEYS, replaces all of them.";

/// What to do with lines that have scrolled away.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScrollbackArg {
    /// Write the job's below the terminal's own
    Append,
    /// Write the job's in place of the terminal's own
    Replace,
    /// Leave the job's out
    None,
}

impl From<ScrollbackArg> for Scrollback {
    fn from(scrollback: ScrollbackArg) -> Self {
        match scrollback {
            ScrollbackArg::Append => Self::Append,
            ScrollbackArg::Replace => Self::Replace,
            ScrollbackArg::None => Self::None,
        }
    }
}
