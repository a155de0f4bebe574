//! The command line as it was typed.

mod attach;
mod copy;
pub(crate) mod inside;
mod jobs;
mod logs;
mod refuse;
mod workspace;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, ValueHint};
use vocab::{message::Mode, outcome::Failure};

pub(crate) use attach::Attach;
pub(crate) use copy::Copy;
pub(crate) use jobs::{Asks, Bg, Jobs, Ls, Rm, Until, Upgrade, View, Wait, Which};
pub(crate) use logs::{Export, Logs, Place};
pub(crate) use refuse::refuse;
pub(crate) use workspace::{
    Add, Attach as AttachRuntime, Bounds, Permits, Place as ServedPlace, Serve, Wire, Workspace,
};

/// A home for coding agents: sessions behind a daemon on this machine.
#[derive(Debug, Parser)]
#[command(name = "stead", version, about, long_about = None, max_term_width = 80)]
#[command(after_help = format!("Start here: stead demo\n\nExit codes:\n  {EXIT_CODES}"))]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The exit codes in one sentence, for help and man page.
pub(crate) const EXIT_CODES: &str = "0 ok, 1 failed, 2 usage, 3 not found, 4 refused,\n  \
    5 daemon unreachable, 124 waited too long (wait alone), 130 interrupted.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows a whole story with no key and no network: a scripted model, real tools, a scratch repository
    Demo(Demo),
    /// Sends a prompt to an agent that works in a directory, and streams its answer
    Run(Run),
    #[command(flatten)]
    Jobs(Jobs),
    /// Shows everything that runs on one screen: what needs you, what works, what has ended
    View(View),
    /// Shows a job in this terminal and types into it, or a session; Ctrl-] and then d lets go of a job
    Attach(Attach),
    /// Lists, shows and deletes sessions
    #[command(subcommand)]
    Sessions(Sessions),
    /// Prints, follows, replays or exports what a job has shown, or what was said in a session
    Logs(Logs),
    /// Runs, starts, watches and stops the daemon
    #[command(subcommand)]
    Daemon(Daemon),
    /// Adds, lists, attaches and serves workspaces: the places where agents act
    #[command(subcommand)]
    Workspace(Workspace),
    /// Copies files and directories between workspaces and this machine
    Cp(Copy),
    /// Stores, asks about and forgets the keys of providers
    #[command(subcommand)]
    Secrets(Secrets),
    /// Lists the configured and known providers
    Providers(Json),
    /// Lists the models that can be asked
    Models(Models),
    /// Says from inside a job how it is
    Report(inside::Report),
    /// Lets agents report how they are
    #[command(subcommand)]
    Hooks(inside::Hooks),
    /// Gathers what a bug report needs
    #[command(subcommand)]
    Debug(Debug),
    /// Prints the completions of a shell
    #[command(after_help = COMPLETIONS_PLACES)]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Writes the man pages into a directory
    Man {
        /// Where to; it must exist.
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}

/// What `stead completions --help` shows at its end.
const COMPLETIONS_PLACES: &str = "Where to save it:
  bash        ~/.local/share/bash-completion/completions/stead
  zsh         ~/.zfunc/_stead, with fpath+=~/.zfunc before compinit in ~/.zshrc
  fish        ~/.config/fish/completions/stead.fish
  elvish      rc.elv: eval (stead completions elvish | slurp)
  powershell  $PROFILE: stead completions powershell | Out-String | iex";

/// Output for programs.
#[derive(Debug, Clone, Copy, Default, ClapArgs)]
pub(crate) struct Json {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `stead demo`
#[derive(Debug, ClapArgs)]
pub(crate) struct Demo {
    /// Keep the scratch repository here instead of in a new temporary directory; it must not exist or be empty
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Run the same scripted turns in a repository that is there already, as it is
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "dir")]
    pub(crate) repository: Option<PathBuf>,
}

/// `stead run`
#[derive(Debug, ClapArgs)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    /// What to ask; text from a pipe or a file joins it, and is all of it after `-` or without a word
    #[arg(value_hint = ValueHint::Other)]
    pub(crate) prompt: Vec<String>,
    /// Which model, as PROVIDER/MODEL; kept for the session
    #[arg(short, long, value_name = "PROVIDER/MODEL", value_hint = ValueHint::Other)]
    pub(crate) model: Option<String>,
    /// A workspace by its name, for a new session; stead workspace list has them
    #[arg(short, long, value_name = "NAME", value_hint = ValueHint::Other, conflicts_with = "dir")]
    pub(crate) workspace: Option<String>,
    /// The directory to work in, for a new session; the current one when nothing is named
    #[arg(short = 'C', long = "dir", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Go on with a session where it began, by its id or a unique part of id or title; without a prompt, answer what it waits for
    #[arg(short, long, value_name = "ID", value_hint = ValueHint::Other)]
    pub(crate) session: Option<String>,
    /// Answer everything that the session waits for, without asking
    #[arg(long, value_enum, requires = "session", conflicts_with_all = ["prompt", "files", "model", "workspace", "dir", "mode"])]
    pub(crate) answer: Option<AnswerArg>,
    /// What to tell the model with `--answer no`
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other, requires = "answer")]
    pub(crate) reason: Option<String>,
    /// How much to ask before acting; kept for the session, accept-edits in a new one
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArg>,
    /// Attach a picture or file
    #[arg(short = 'f', long = "file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Print one JSON event per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the model's thinking
    #[arg(long)]
    pub(crate) thinking: bool,
}

impl Run {
    /// Refuses what the table of flags cannot say in words that help.
    ///
    /// # Errors
    /// When a place is named for a session, which has one.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.session.is_none() || self.dir.is_none() && self.workspace.is_none() {
            return Ok(());
        }
        let flag = if self.dir.is_some() { "-C" } else { "-w" };
        let why = format!("{flag} does not go with --session: a session works where it began");
        Err(Failure::not_started("usage", why)
            .with_hint(format!("leave {flag} away, or begin a new session without --session")))
    }
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
        #[arg(short, long, value_name = "TEXT", value_hint = ValueHint::Other)]
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
        #[arg(value_hint = ValueHint::Other)]
        session: String,
        #[command(flatten)]
        json: Json,
    },
    /// Deletes sessions with all they hold, after asking; a live run is stopped first
    Rm {
        /// Their ids, titles, or unique parts of either; without a terminal no part of a title unless -y is given
        #[arg(required = true, value_hint = ValueHint::Other)]
        sessions: Vec<String>,
        /// Do not ask, also where only a part of a title is given
        #[arg(short, long)]
        yes: bool,
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
    /// Stops it after asking, with jobs and the runs of sessions; says how many of them end
    Stop {
        /// Leave jobs running, for the next daemon to find; runs end all the same
        #[arg(long)]
        keep_jobs: bool,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

/// `stead secrets`
#[derive(Debug, Subcommand)]
pub(crate) enum Secrets {
    /// Stores a provider's key, read from a prompt or from standard input
    Set {
        /// The provider's name
        #[arg(value_hint = ValueHint::Other)]
        provider: String,
    },
    /// Tells by its exit code whether a key is stored: 0 yes, 3 no
    Has {
        /// The provider's name
        #[arg(value_hint = ValueHint::Other)]
        provider: String,
    },
    /// Forgets a provider's key
    Rm {
        /// The provider's name
        #[arg(value_hint = ValueHint::Other)]
        provider: String,
    },
}

/// `stead models`
#[derive(Debug, ClapArgs)]
pub(crate) struct Models {
    /// Only those of one provider
    #[arg(value_hint = ValueHint::Other)]
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
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
}
