//! git as a hardened child: an environment from nothing, no hook, no monitor, no pager, nobody to ask, and
//! bounds on time and output.
//!
//! A repository's configuration can name programs. Hooks and the file monitor are turned off for every
//! call; filters run, since without them what is saved would not be what git stores. Output goes to
//! sealed memory, so that nobody has to read along while git works.
//!
//! Not here: what is asked for.

mod memory;

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{fd::AsFd as _, unix::ffi::OsStringExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags},
    io::Errno,
};
use sandbox::{
    Environment, Host, Plan, PlanError, Policy, RunError, Scope,
    report::ExitStatus,
    scope::{Child, Stdio, reap_leftovers_of},
};
use stdx::clock::Clock;
use vocab::{
    ids::ArtifactId,
    limits::{CHILD_GRACE_MS, WORKTREE_GIT_BYTES_MAX, WORKTREE_GIT_MS_MAX, WORKTREE_WHY_CHARS_MAX},
};

use self::memory::{given, sealed, written};

/// What git's environment has of ours: where programs are, and where a person's configuration is.
const NAMES: &[&str] = &["PATH", "HOME", "XDG_CONFIG_HOME"];

/// What every call sees besides: nobody answers, nothing is fetched, nothing is written on the side, and
/// messages are the ones that are known here.
const FIXED: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ADVICE", "0"),
    ("GIT_EDITOR", "false"),
];

/// What every call overrides of the repository's configuration: programs that would be run, and settings
/// by which something would be left out or refused.
const OVERRIDES: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.safecrlf=false",
    "add.ignoreErrors=false",
    "submodule.recurse=false",
];

/// git did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It is not there, or this machine cannot start it.
    #[error("git cannot be started: {0}")]
    Plan(#[from] PlanError),
    /// It did not begin.
    #[error("git did not begin: {0}")]
    Begin(#[from] RunError),
    /// Its streams could not be made.
    #[error("git cannot be given its streams: {0}")]
    Streams(io::Error),
    /// It said no.
    #[error("git {step}: {why}")]
    Failed {
        /// What was asked for.
        step: String,
        /// Its last words.
        why: String,
    },
}

impl GitError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Plan(error) => error.code(),
            Self::Begin(_) | Self::Streams(_) | Self::Failed { .. } => "git_failed",
        }
    }

    /// Returns the next step, where somebody can take one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        let is_missing = matches!(self, Self::Plan(PlanError::ProgramMissing { .. }));
        is_missing.then_some("install git, or leave --worktree out")
    }
}

impl From<Errno> for GitError {
    fn from(errno: Errno) -> Self {
        Self::Streams(errno.into())
    }
}

/// How one call ended.
#[derive(Debug)]
pub(crate) struct Answer {
    status: Option<ExitStatus>,
    pub(crate) out: Vec<u8>,
    said: Vec<u8>,
}

/// How marks begin that say whose a process is.
#[derive(Debug, Clone)]
struct Mark {
    /// Those of everybody who works for the same owner, one after the other.
    all: String,
    /// Those of whoever works for it now.
    own: String,
}

/// git with what it is given every time.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    environment: Environment,
    limit: Duration,
    /// How the marks of its processes begin, where they say whose they are.
    mark: Option<Mark>,
}

impl Git {
    /// Takes what it needs of an environment.
    pub(crate) fn new(all: &[(OsString, OsString)]) -> Self {
        let mut environment = Environment::empty();
        let own = all.iter().filter(|(name, _)| NAMES.iter().any(|known| name == known));
        for (name, value) in own {
            // One that cannot be carried is missing, and git says what it lacks.
            environment.set(name, value).ok();
        }
        for (name, value) in FIXED {
            // Constants, which the filter lets through.
            environment.set(name, value).ok();
        }
        let limit = Duration::from_millis(WORKTREE_GIT_MS_MAX);
        Self { environment, limit, mark: None }
    }

    /// Lets the marks of its processes say whose they are, so that they are found when whoever started them died.
    pub(crate) fn marked(self, owner: &str) -> Self {
        let all = format!("git-{owner}-");
        let own = format!("{all}{}-", ArtifactId::generate());
        Self { mark: Some(Mark { all, own }), ..self }
    }

    /// Ends what was left running by whoever worked for the same owner before. Returns how many that were. What
    /// nobody can tell apart from others' is left alone.
    pub(crate) fn end_leftovers(&self) -> usize {
        let Some(mark) = &self.mark else { return 0 };
        reap_leftovers_of(&mark.all, &mark.own, Duration::from_millis(CHILD_GRACE_MS)).len()
    }

    #[cfg(test)]
    pub(crate) fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Begins some work with it.
    pub(crate) fn work(&self) -> Work<'_> {
        Work {
            git: self,
            scope: Scope::open(&format!(
                "{}{}",
                self.mark.as_ref().map_or("git-", |mark| mark.own.as_str()),
                ArtifactId::generate()
            )),
        }
    }
}

/// Several calls that belong together. What they have left running ends with it.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    git: &'a Git,
    scope: Scope,
}

impl Work<'_> {
    /// Turns to a directory; git finds out by itself which repository it is in.
    pub(crate) fn at(&self, cwd: &Path) -> Place<'_> {
        let environment = self.git.environment.clone();
        Place { work: self, cwd: cwd.to_owned(), environment, options: Vec::new() }
    }
}

/// git turned to a repository.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    work: &'a Work<'a>,
    cwd: PathBuf,
    environment: Environment,
    options: Vec<OsString>,
}

impl Place<'_> {
    /// Says which repository it is, so that nothing in the directory decides that.
    pub(crate) fn of(mut self, git_dir: &Path) -> Self {
        self.options.push(joined("--git-dir=", git_dir));
        self
    }

    /// Says where its files are, and goes there.
    pub(crate) fn over(mut self, work_tree: &Path) -> Self {
        self.options.push(joined("--work-tree=", work_tree));
        self.cwd = work_tree.to_owned();
        self
    }

    /// Goes to another directory.
    pub(crate) fn moved_to(mut self, cwd: &Path) -> Self {
        self.cwd = cwd.to_owned();
        self
    }

    /// Sets a variable.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        // A value that cannot be carried holds a NUL byte, which no path of a file system does.
        self.environment.set(name, value).ok();
        self
    }

    /// Allows to fetch what a partial clone lacks.
    pub(crate) fn that_fetches(mut self) -> Self {
        self.environment.remove("GIT_NO_LAZY_FETCH");
        self
    }

    /// Asks, and demands success.
    pub(crate) fn ok(&self, args: &[&dyn AsRef<OsStr>]) -> Result<Vec<u8>, GitError> {
        self.ok_with(args, &[])
    }

    /// Asks with an input, and demands success.
    pub(crate) fn ok_with(
        &self,
        args: &[&dyn AsRef<OsStr>],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let answer = self.ask(args, input)?;
        if answer.status == Some(ExitStatus::Exited(0)) {
            return Ok(answer.out);
        }
        Err(failed(args, &answer))
    }

    /// Asks for one line.
    pub(crate) fn line(&self, args: &[&dyn AsRef<OsStr>]) -> Result<String, GitError> {
        let out = self.ok(args)?;
        let line = String::from_utf8(out).map_err(|error| GitError::Failed {
            step: step(args),
            why: format!("its answer is no text: {error}"),
        })?;
        Ok(chomp(&line).to_owned())
    }

    /// Asks for one path.
    pub(crate) fn path(&self, args: &[&dyn AsRef<OsStr>]) -> Result<PathBuf, GitError> {
        let mut out = self.ok(args)?;
        // A name may end in a line end of its own; only git's goes.
        if out.last() == Some(&b'\n') {
            out.pop();
        }
        Ok(OsString::from_vec(out).into())
    }

    /// Asks for one line that there may not be: git says so with code 1.
    pub(crate) fn maybe(&self, args: &[&dyn AsRef<OsStr>]) -> Result<Option<String>, GitError> {
        let answer = self.ask(args, &[])?;
        match answer.status {
            Some(ExitStatus::Exited(0)) => {
                Ok(Some(chomp(&String::from_utf8_lossy(&answer.out)).to_owned()))
            }
            Some(ExitStatus::Exited(1)) => Ok(None),
            _ => Err(failed(args, &answer)),
        }
    }

    fn ask(&self, args: &[&dyn AsRef<OsStr>], input: &[u8]) -> Result<Answer, GitError> {
        let cwd = rustix::fs::open(
            &self.cwd,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let overrides = OVERRIDES.iter().flat_map(|setting| ["-c", setting]);
        let policy = Policy::new("git", cwd, self.environment.clone())
            .args(["--no-pager"])
            .args(overrides)
            .args(&self.options)
            .args(args.iter().map(AsRef::as_ref));
        let plan = Plan::realize(policy, &Host::probe())?;
        let (stdout, out) = sealed(WORKTREE_GIT_BYTES_MAX)?;
        let (stderr, said) = sealed(WORKTREE_GIT_BYTES_MAX)?;
        let streams = Stdio { stdin: given(input)?, stdout, stderr };
        let Work { git, scope } = self.work;
        let child = scope.launch(&plan, &streams)?;
        let status = wait(&child, git.limit);
        if status.is_none() {
            // With whatever it has started; nothing more of this work begins then.
            scope.end(Duration::ZERO);
        }
        Ok(Answer { status, out: written(&out)?, said: written(&said)? })
    }
}

/// Waits for the end of a child; none when it takes too long.
fn wait(child: &Child, limit: Duration) -> Option<ExitStatus> {
    let clock = Clock::system();
    let began = clock.monotonic();
    loop {
        if let Some(status) = child.try_wait() {
            return Some(status);
        }
        let left = limit.checked_sub(clock.monotonic().saturating_sub(began))?;
        let left = Timespec::try_from(left).ok()?;
        // Interrupted or readable: the next look tells.
        poll(&mut [PollFd::new(&child.as_fd(), PollFlags::IN)], Some(&left)).ok();
    }
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

fn chomp(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}

fn step(args: &[&dyn AsRef<OsStr>]) -> String {
    let word = args.first().map(|word| word.as_ref().to_string_lossy().into_owned());
    word.unwrap_or_default()
}

/// Makes a failure of what git has said last.
fn failed(args: &[&dyn AsRef<OsStr>], answer: &Answer) -> GitError {
    let said = String::from_utf8_lossy(&answer.said);
    // Its errors come last; what stands before them is how it went.
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let of_error = |line: &&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    let mut told: Vec<&str> = lines.clone().filter(of_error).collect();
    if told.is_empty() {
        told = lines.clone().next_back().into_iter().collect();
    }
    let told = told.join("; ").replace("fatal: ", "").replace("error: ", "");
    let mut why: String = told.chars().filter(|c| !c.is_control()).collect();
    if WORKTREE_WHY_CHARS_MAX < why.chars().count() {
        why = why.chars().take(WORKTREE_WHY_CHARS_MAX - 1).chain(['…']).collect();
    }
    match answer.status {
        None => why = "it was not done in time, and was ended".to_owned(),
        Some(status) if why.is_empty() => why = status.to_string(),
        Some(_) => {}
    }
    GitError::Failed { step: step(args), why }
}

#[cfg(test)]
mod tests;
