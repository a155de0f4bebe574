//! The command line as it was typed.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use vocab::message::Mode;

use crate::{exit, print};

/// A home for coding agents: sessions behind a daemon on this machine.
#[derive(Debug, Parser)]
#[command(name = "stead", version, about, long_about = None, max_term_width = 80)]
#[command(
    after_help = "Start here: stead demo\n\nExit codes: 0 ok, 1 failed, 2 usage, 3 not found, \
\n4 refused, 5 daemon unreachable, 130 interrupted."
)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows a whole story with no key and no network: a scripted model, real tools, a scratch repository
    Demo(Demo),
    /// Sends a prompt to an agent that works in a directory, and streams its answer
    Run(Run),
    /// Lists, shows and deletes sessions
    #[command(subcommand)]
    Sessions(Sessions),
    /// Runs, starts, watches and stops the daemon
    #[command(subcommand)]
    Daemon(Daemon),
    /// Stores, asks about and forgets the keys of providers
    #[command(subcommand)]
    Secrets(Secrets),
    /// Lists the configured and known providers
    Providers(Json),
    /// Lists the models that can be asked
    Models(Models),
    /// Gathers what a bug report needs
    #[command(subcommand)]
    Debug(Debug),
    /// Prints the completions of a shell
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Writes the man pages into a directory
    Man {
        /// Where to; it must exist.
        dir: PathBuf,
    },
}

/// Output for programs.
#[derive(Debug, Clone, Copy, ClapArgs)]
pub(crate) struct Json {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `stead demo`
#[derive(Debug, ClapArgs)]
pub(crate) struct Demo {
    /// Keep the scratch repository here instead of in a new temporary directory; it must not exist or be empty
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Run the same scripted turns in a repository that is there already, as it is
    #[arg(long, value_name = "DIR", conflicts_with = "dir")]
    pub(crate) repository: Option<PathBuf>,
}

/// `stead run`
#[derive(Debug, ClapArgs)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    /// What to ask; `-`, or none at all, reads it from standard input
    pub(crate) prompt: Vec<String>,
    /// Which model, as PROVIDER/MODEL
    #[arg(short, long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// A workspace of the configuration
    #[arg(short, long, value_name = "NAME", conflicts_with = "dir")]
    pub(crate) workspace: Option<String>,
    /// The directory to work in; the current one when nothing is named
    #[arg(short = 'C', long = "dir", value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Go on with a session, by its id or a unique part of id or title; without a prompt, answer what it waits for
    #[arg(short, long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Answer everything that the session waits for, without asking
    #[arg(long, value_enum, requires = "session", conflicts_with_all = ["prompt", "files", "model", "workspace", "dir", "mode"])]
    pub(crate) answer: Option<AnswerArg>,
    /// What to tell the model with `--answer no`
    #[arg(long, value_name = "TEXT", requires = "answer")]
    pub(crate) reason: Option<String>,
    /// How much to ask before acting
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArg>,
    /// Attach a picture or file
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print one JSON event per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the model's thinking
    #[arg(long)]
    pub(crate) thinking: bool,
}

/// What `stead run --help` shows at its end.
const RUN_EXAMPLES: &str = "Examples:
  stead run \"why does the build fail?\"       in the current directory
  stead run -m anthropic/claude-sonnet-4-5 \"…\"
  git diff | stead run \"review this\"         standard input joins the prompt
  stead run -s 3fa2 \"now add a test\"         goes on with a session
  stead run -s 3fa2                          answers what it waits for
  stead run -s 3fa2 --answer no --reason \"use npm\"
  stead run --mode auto --json \"…\"            for programs: an event a line";

/// An answer to everything that waits.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum AnswerArg {
    /// It may run
    Yes,
    /// It may not
    No,
}

/// How much to ask before acting.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ModeArg {
    /// Every change asks
    Ask,
    /// File tools run; what runs programs asks
    AcceptEdits,
    /// Nothing asks
    Auto,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Ask => Self::Ask,
            ModeArg::AcceptEdits => Self::AcceptEdits,
            ModeArg::Auto => Self::Auto,
        }
    }
}

/// `stead sessions`
#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// Lists sessions, latest activity first
    List {
        /// Only those whose title holds this text
        #[arg(short, long, value_name = "TEXT")]
        query: Option<String>,
        /// How many
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
        #[command(flatten)]
        json: Json,
    },
    /// Shows a session with its messages
    Show {
        /// Its id, or a unique part of id or title
        session: String,
        #[command(flatten)]
        json: Json,
    },
    /// Deletes sessions with all they hold; a live run is stopped first
    Rm {
        /// Their ids, or unique parts of id or title
        #[arg(required = true)]
        sessions: Vec<String>,
    },
}

/// `stead daemon`
#[derive(Debug, Subcommand)]
pub(crate) enum Daemon {
    /// Runs in the foreground until it is stopped
    Run {
        /// The loopback port; any free one when absent
        #[arg(long)]
        port: Option<u16>,
        /// Say on standard output when it is ready, then detach
        #[arg(long, hide = true)]
        detach: bool,
    },
    /// Starts it in the background, unless one is there
    Start(Json),
    /// Says whether it lives, where, and how large it is
    Status(Json),
    /// Prints its log
    Logs {
        /// Go on printing what comes
        #[arg(short, long)]
        follow: bool,
        /// How many lines of the end
        #[arg(short = 'n', long, default_value_t = 200)]
        lines: usize,
    },
    /// Stops it; runs are aborted and their programs ended
    Stop {
        /// Leave background jobs running
        #[arg(long)]
        keep_jobs: bool,
    },
}

/// `stead secrets`
#[derive(Debug, Subcommand)]
pub(crate) enum Secrets {
    /// Stores a provider's key, read from a prompt or from standard input
    Set {
        /// The provider's name
        provider: String,
    },
    /// Tells by its exit code whether a key is stored: 0 yes, 3 no
    Has {
        /// The provider's name
        provider: String,
    },
    /// Forgets a provider's key
    Rm {
        /// The provider's name
        provider: String,
    },
}

/// `stead models`
#[derive(Debug, ClapArgs)]
pub(crate) struct Models {
    /// Only those of one provider
    pub(crate) provider: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// `stead debug`
#[derive(Debug, Subcommand)]
pub(crate) enum Debug {
    /// Writes versions, configuration without secrets, the log and facts of this machine into one file
    Bundle {
        /// Where to; a new file in the current directory when absent
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Prints what clap refused, or the help it was asked for.
pub(crate) fn refuse(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if error.use_stderr() {
        print::err(&text);
        return ExitCode::from(exit::USAGE);
    }
    print::out(&text)
}
