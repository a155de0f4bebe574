//! The words of the commands that run inside jobs, and of those that join agents to them.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};

use super::Json;

/// `stead report`
#[derive(Debug, ClapArgs)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct Report {
    /// How the job is
    #[arg(value_enum)]
    pub(crate) state: SaidArg,
    /// What it says, or waits for
    #[arg(short, long, value_name = "TEXT", value_hint = ValueHint::Other)]
    pub(crate) message: Option<String>,
    /// The report's number among those of its source; one with a lower number than the last is ignored
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    pub(crate) seq: Option<u64>,
    /// Who reports
    #[arg(long, value_name = "NAME", default_value = "report", value_hint = ValueHint::Other)]
    pub(crate) source: String,
}

/// What `stead report --help` shows at its end.
const REPORT_EXAMPLES: &str = "Inside a job only, by its program or what it starts:
  stead report working -m \"running the tests\"
  stead report blocked -m \"may I push?\"
  stead report done";

/// How a job says that it is.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SaidArg {
    /// It works
    Working,
    /// It goes on once somebody has acted
    Blocked,
    /// It stands at its prompt
    Idle,
    /// Its turn has ended
    Done,
}

/// `stead hooks`
#[derive(Debug, Subcommand)]
pub(crate) enum Hooks {
    /// Lets an agent report how it is when it runs as a job; shows the change unless told to write it
    Install(Hook),
    /// Takes that back, and nothing else
    Remove(Hook),
    /// Says whether it is there
    Status {
        /// Which agent; all when absent
        #[arg(value_enum)]
        agent: Option<HookAgent>,
        /// The agent's configuration, where it is not in its usual place
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "agent")]
        config: Option<PathBuf>,
        #[command(flatten)]
        json: Json,
    },
}

/// `stead hooks install` and `remove`
#[derive(Debug, ClapArgs)]
pub(crate) struct Hook {
    /// Which agent
    #[arg(value_enum)]
    pub(crate) agent: HookAgent,
    /// Write the change
    #[arg(long)]
    pub(crate) write: bool,
    /// The agent's configuration, where it is not in its usual place
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// An agent that can be told to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookAgent {
    /// Claude Code, by hooks in settings.json
    ClaudeCode,
    /// Codex, by notify in config.toml
    Codex,
}
