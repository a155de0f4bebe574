//! The commands about jobs as they were typed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};

use super::{Json, ModeArg};

/// The commands about jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum Jobs {
    /// Starts a program in a terminal of its own, or a session's run, in the background
    #[command(after_help = BG_EXAMPLES)]
    Bg(Bg),
    /// Lists jobs and sessions: what runs, what waits for you, what has ended in the last two days
    Ls(Ls),
    /// Ends jobs with all they have started, or the live run of a session
    Stop(Which),
    /// Removes jobs with their files and worktrees; one that runs is ended first
    #[command(after_help = RM_SAVES)]
    Rm(Rm),
    /// Starts ended jobs again, with the same command, place and environment
    Respawn(Which),
    /// Lets the hosts of jobs go on as this build of the program, after it was replaced; programs do not notice
    Upgrade(Which),
    /// Lets go of every terminal that looks at a job
    Detach {
        /// Its id, its name, or a unique part of either
        #[arg(value_hint = ValueHint::Other)]
        job: String,
    },
    /// Types a text into a job's terminal, and Enter behind it
    Send {
        /// Its id, its name, or a unique part of either
        #[arg(value_hint = ValueHint::Other)]
        job: String,
        /// What to type
        #[arg(required = true, value_hint = ValueHint::Other)]
        text: Vec<String>,
        /// Do not press Enter
        #[arg(short = 'n', long)]
        no_enter: bool,
    },
    /// Waits until a job is done, or waits for somebody; 1 when it ends otherwise
    Wait(Wait),
    /// Tells why a job is in the state it is in: what was heard, and how it was weighed
    Explain {
        /// Its id, its name, or a unique part of either
        #[arg(value_hint = ValueHint::Other)]
        job: String,
        #[command(flatten)]
        json: Json,
    },
    /// Calls a job something else
    Rename {
        /// Its id, its name, or a unique part of either
        #[arg(value_hint = ValueHint::Other)]
        job: String,
        /// What to call it
        #[arg(required = true, value_hint = ValueHint::Other)]
        name: Vec<String>,
    },
    /// Keeps a job in lists for as long as it is there
    Pin {
        /// Its id, its name, or a unique part of either
        #[arg(value_hint = ValueHint::Other)]
        job: String,
        /// No longer
        #[arg(long)]
        off: bool,
    },
}

/// Which jobs.
#[derive(Debug, ClapArgs)]
pub(crate) struct Which {
    /// Their ids or names, or unique parts of either
    #[arg(required = true, value_hint = ValueHint::Other)]
    pub(crate) jobs: Vec<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// `stead rm`
#[derive(Debug, ClapArgs)]
pub(crate) struct Rm {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Give the work in their worktrees up instead of saving it, after asking
    #[arg(long)]
    pub(crate) discard: bool,
    /// Do not ask
    #[arg(short, long, requires = "discard")]
    pub(crate) yes: bool,
}

/// What `stead rm --help` shows at its end.
const RM_SAVES: &str =
    "Of a worktree, what is in no other branch is saved in its repository first, below
refs/stead/saved/: commits, changes, and new files. It is said how to get it back. Not
saved are files that git ignores and empty directories. What cannot be saved is not removed.";

/// `stead bg`
#[derive(Debug, ClapArgs)]
pub(crate) struct Bg {
    /// What to ask in a new session; without it, the program after `--` is started
    #[arg(value_hint = ValueHint::Other, conflicts_with = "command")]
    pub(crate) prompt: Vec<String>,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<String>,
    /// What to call it
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    pub(crate) name: Option<String>,
    /// Where it works; here when absent
    #[arg(short = 'C', long = "dir", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// A variable that the program sees besides the usual ones; with its value of here when none is given
    #[arg(long, value_name = "NAME[=VALUE]", value_hint = ValueHint::Other, requires = "command", conflicts_with = "prompt")]
    pub(crate) env: Vec<String>,
    /// The session file that the program writes, which no other program may write meanwhile
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "command", conflicts_with = "prompt")]
    pub(crate) session_file: Option<PathBuf>,
    /// Do not keep what the program shows
    #[arg(long, requires = "command", conflicts_with = "prompt")]
    pub(crate) no_record: bool,
    /// Work in a git worktree of its own, on a new branch; named after the job when no name is given
    #[arg(long, value_name = "BRANCH", value_hint = ValueHint::Other, requires = "command", conflicts_with = "prompt",
        num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) worktree: Option<String>,
    /// A workspace of the configuration, for a session
    #[arg(short, long, value_name = "NAME", value_hint = ValueHint::Other, conflicts_with_all = ["dir", "command"])]
    pub(crate) workspace: Option<String>,
    /// Which model, as PROVIDER/MODEL, for a session
    #[arg(short, long, value_name = "PROVIDER/MODEL", value_hint = ValueHint::Other, conflicts_with = "command")]
    pub(crate) model: Option<String>,
    /// How much a session asks before it acts
    #[arg(long, value_enum, conflicts_with = "command")]
    pub(crate) mode: Option<ModeArg>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// What `stead bg --help` shows at its end.
const BG_EXAMPLES: &str = "Examples:
  stead bg -- claude \"fix the build\"        a program in a terminal that outlives yours
  stead bg --name web -C site -- npm run dev
  stead bg --env API_KEY -- ./agent         with a variable of here
  stead bg --worktree -- codex \"add tests\"  in a git worktree of its own; stead rm saves its work
  stead bg \"why does the build fail?\"       a session's run; it ends with the daemon";

/// `stead ls`
#[derive(Debug, ClapArgs)]
pub(crate) struct Ls {
    /// Also those that ended more than two days ago
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Only those that work in this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// `stead view`
#[derive(Debug, ClapArgs)]
pub(crate) struct View {
    /// Also those that ended more than two days ago
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Only those that work in this directory, where new ones begin as well
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
}

/// `stead wait`
#[derive(Debug, ClapArgs)]
pub(crate) struct Wait {
    /// Its id, its name, or a unique part of either
    #[arg(value_hint = ValueHint::Other)]
    pub(crate) job: String,
    /// For what
    #[arg(long, value_enum, default_value = "done")]
    pub(crate) until: Until,
    /// For how many seconds; as long as it takes when absent
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Until {
    /// Its turn or its program has ended well
    Done,
    /// Somebody must act before it goes on
    Blocked,
}
