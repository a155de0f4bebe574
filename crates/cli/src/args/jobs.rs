//! The commands about jobs as they were typed.

use std::{path::PathBuf, time::Duration};

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
    Upgrade(Upgrade),
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

/// `stead upgrade`
#[derive(Debug, ClapArgs)]
pub(crate) struct Upgrade {
    /// Their ids or names, or unique parts of either; after asking where it is a part of a name
    #[arg(required_unless_present = "all", conflicts_with = "all", value_hint = ValueHint::Other)]
    pub(crate) jobs: Vec<String>,
    /// All jobs that run
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) asks: Asks,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// `stead rm`
#[derive(Debug, ClapArgs)]
pub(crate) struct Rm {
    /// Their ids or names, or unique parts of either; after asking where it is a part of a name
    #[arg(required_unless_present = "ended", conflicts_with = "ended", value_hint = ValueHint::Other)]
    pub(crate) jobs: Vec<String>,
    /// All jobs that have ended and are not pinned, after asking; no sessions
    #[arg(long)]
    pub(crate) ended: bool,
    #[command(flatten)]
    pub(crate) asks: Asks,
    #[command(flatten)]
    pub(crate) json: Json,
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
    #[arg(help_heading = "For prompts", long, conflicts_with = "command")]
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
    #[arg(help_heading = "For programs", long, value_name = "NAME[=VALUE]", value_hint = ValueHint::Other, requires = "command", conflicts_with = "words")]
    pub(crate) env: Vec<String>,
    /// The session file that the program writes, which no other program may write meanwhile
    #[arg(help_heading = "For programs", long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "command", conflicts_with = "words")]
    pub(crate) session_file: Option<PathBuf>,
    /// Do not keep what the program shows
    #[arg(help_heading = "For programs", long, requires = "command", conflicts_with = "words")]
    pub(crate) no_record: bool,
    /// Work in a git worktree of its own, on a new branch; --worktree=BRANCH names it, else it is named after the job
    #[arg(help_heading = "For programs", long, value_name = "BRANCH", value_hint = ValueHint::Other, requires = "command", conflicts_with = "words",
        num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) worktree: Option<String>,
    /// A workspace by its name, for a session; stead workspace list has them
    #[arg(help_heading = "For prompts", short, long, value_name = "NAME", value_hint = ValueHint::Other, conflicts_with_all = ["dir", "command"])]
    pub(crate) workspace: Option<String>,
    /// Which model, as PROVIDER/MODEL, for a session
    #[arg(help_heading = "For prompts", short, long, value_name = "PROVIDER/MODEL", value_hint = ValueHint::Other, conflicts_with = "command")]
    pub(crate) model: Option<String>,
    /// How much a session asks before it acts
    #[arg(help_heading = "For prompts", long, value_enum, conflicts_with = "command")]
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
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Ls {
    /// Also those that ended more than two days ago
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Only those that work in this directory or below it, or in a worktree of a repository there or around it
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
    /// Only those that work in this directory or below it, or in a worktree of a repository there or around it; new
    /// ones begin in it
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
    /// For how many seconds at most, such as 0.5; 0 looks once; as long as it takes when absent
    #[arg(long, value_name = "SECONDS", value_parser = seconds, value_hint = ValueHint::Other)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Reads a number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|number: &f64| 0.0 <= *number);
    let number = number.ok_or_else(|| "it is no number of seconds".to_owned())?;
    // What is beyond all counting is as long as it takes.
    Ok(Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX))
}

/// What `stead wait --help` shows at its end.
const WAIT_ENDS: &str = "Exit codes:
  0    it is done, or with --until blocked it is blocked
  1    it has ended otherwise: failed, stopped, or done and never blocked
  124  the time of --timeout is over, and with --timeout 0 at once

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
