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
    /// Removes jobs with their files and worktrees, and sessions after asking; what runs is ended first
    #[command(after_help = RM_SAVES)]
    Rm(Rm),
    /// Starts ended jobs again, with the same command, place and environment
    Respawn(Which),
    /// Lets the hosts of jobs go on as this build of the program, after it was replaced; programs do not notice
    Upgrade(Which),
    /// Lets go of every terminal that looks at a job
    Detach(Named),
    /// Types a text into a job's terminal, and Enter behind it; a session gets it as an answer or a message
    Send {
        #[command(flatten)]
        named: Named,
        /// What to type
        #[arg(required = true, value_hint = ValueHint::Other)]
        text: Vec<String>,
        /// Do not press Enter
        #[arg(short = 'n', long)]
        no_enter: bool,
    },
    /// Waits until a job or a session's run is done, or until it is blocked
    #[command(after_help = WAIT_ENDS)]
    Wait(Wait),
    /// Tells why a job or session is in the state it is in: what was heard, and how it was weighed
    Explain {
        /// Its id, its name, or a unique part of either
        #[arg(value_hint = ValueHint::Other)]
        job: String,
        #[command(flatten)]
        json: Json,
    },
    /// Calls a job or session something else
    Rename {
        #[command(flatten)]
        named: Named,
        /// What to call it
        #[arg(required = true, value_hint = ValueHint::Other)]
        name: Vec<String>,
    },
    /// Keeps a job or session in lists for as long as it is there
    Pin {
        /// Its id, its name, or a unique part of either
        #[arg(value_hint = ValueHint::Other)]
        job: String,
        /// No longer
        #[arg(long)]
        off: bool,
    },
}

/// Whether a person is asked.
#[derive(Debug, Clone, Copy, ClapArgs)]
pub(crate) struct Asks {
    /// Do not ask, also where only a part of a name is given
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Which job, for what changes it.
#[derive(Debug, ClapArgs)]
pub(crate) struct Named {
    /// Its id, its name, or a unique part of either; after asking where it is a part of a name
    #[arg(value_hint = ValueHint::Other)]
    pub(crate) job: String,
    #[command(flatten)]
    pub(crate) asks: Asks,
}

/// Which jobs, for what changes them.
#[derive(Debug, ClapArgs)]
pub(crate) struct Which {
    /// Their ids or names, or unique parts of either; after asking where it is a part of a name
    #[arg(required = true, value_hint = ValueHint::Other)]
    pub(crate) jobs: Vec<String>,
    #[command(flatten)]
    pub(crate) asks: Asks,
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
}

/// What `stead rm --help` shows at its end.
const RM_SAVES: &str = "Of a worktree, what is in no other branch is saved in its repository first,
below refs/stead/saved/: commits, changes, and new files. It is said how to get
it back. Not saved are files that git ignores and empty directories. What cannot
be saved is not removed.";

/// `stead bg`
#[derive(Debug, ClapArgs)]
pub(crate) struct Bg {
    /// What to ask in a new session; without it, the program after `--` is started
    #[arg(value_hint = ValueHint::Other, conflicts_with = "command", value_name = "PROMPT")]
    pub(crate) words: Vec<String>,
    /// The words are a prompt, also where they are the name of a program
    #[arg(long, conflicts_with = "command")]
    pub(crate) prompt: bool,
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
    #[arg(long, value_name = "NAME[=VALUE]", value_hint = ValueHint::Other, requires = "command", conflicts_with = "words")]
    pub(crate) env: Vec<String>,
    /// The session file that the program writes, which no other program may write meanwhile
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "command", conflicts_with = "words")]
    pub(crate) session_file: Option<PathBuf>,
    /// Do not keep what the program shows
    #[arg(long, requires = "command", conflicts_with = "words")]
    pub(crate) no_record: bool,
    /// Work in a git worktree of its own, on a new branch; named after the job when no name is given
    #[arg(long, value_name = "BRANCH", value_hint = ValueHint::Other, requires = "command", conflicts_with = "words",
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
  stead bg -- claude \"fix the build\"        a program in a terminal of its own
  stead bg --name web -C site -- npm run dev
  stead bg --env API_KEY -- ./agent         with a variable of here
  stead bg --worktree -- codex \"add tests\"  in a git worktree of its own
  stead bg \"why does the build fail?\"       a session's run

Programs outlive this terminal and the daemon; a run ends with the daemon.";

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
    /// Until which state
    #[arg(long, value_enum, default_value = "done")]
    pub(crate) until: Until,
    /// For how many seconds at most; as long as it takes when absent
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// What `stead wait --help` shows at its end.
const WAIT_ENDS: &str = "Exit codes:
  0    it is done, or with --until blocked it is blocked
  1    it has ended otherwise: failed, stopped, or done and never blocked
  124  the time of --timeout is over

Done is what has ended well: a program with code 0, an agent's turn, a run. What
is blocked goes on once somebody has acted, and so is still waited for unless
--until blocked is given. Who waits at a terminal is told how it is meanwhile.";

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Until {
    /// Its turn or its program has ended well
    Done,
    /// Somebody must act before it goes on
    Blocked,
}
