//! Who keeps programs in terminals: the program measured and its peers, each told to do the same.
//!
//! Not here: what is measured of them.

use std::{path::PathBuf, process::Command};

use anyhow::Context as _;
use api::job::{DispatchJob, JobRow};
use testkit::process::Watched;

use super::{
    PATIENCE,
    cue::{Born, Cues},
    terminal::{Free, Outer},
};
use crate::bench::{
    home::{Daemon, Home, World},
    http::{Request, Wire},
    machine,
    report::Measure,
};

/// Lines of scrollback that all are told to keep.
pub(super) const HISTORY_LINES: usize = 10_000;

/// Who keeps a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Stead,
    Tmux,
    Dtach,
    Shpool,
}

impl Kind {
    pub(super) const PEERS: [Self; 3] = [Self::Tmux, Self::Dtach, Self::Shpool];
    pub(super) const ALL: [Self; 4] = [Self::Stead, Self::Tmux, Self::Dtach, Self::Shpool];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stead => "stead",
            Self::Tmux => "tmux",
            Self::Dtach => "dtach",
            Self::Shpool => "shpool",
        }
    }

    /// Tells whether one process keeps all programs.
    pub(super) fn is_one_server(self) -> bool {
        matches!(self, Self::Tmux | Self::Shpool)
    }
}

/// A keeper at work. All that it keeps ends with it.
pub(super) struct Keeper {
    pub(super) kind: Kind,
    dir: PathBuf,
    pub(super) cues: Cues,
    home: Option<(Home, Daemon)>,
    jobs: Vec<Job>,
    n_named: usize,
    server: Option<std::process::Child>,
}

/// A program that is kept.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// What its keeper calls it.
    pub(super) name: String,
    /// The process that holds its terminal.
    pub(super) holder: u32,
    program: u32,
}

impl Keeper {
    /// Starts a keeper that keeps nothing yet.
    pub(super) fn new(world: &World, kind: Kind) -> anyhow::Result<Self> {
        let home = match kind {
            Kind::Stead => {
                let home = Home::new(world, &[])?;
                let daemon = home.start()?;
                Some((home, daemon))
            }
            Kind::Tmux | Kind::Dtach | Kind::Shpool => None,
        };
        let (dir, cues) = (world.dir()?, Cues::new(world)?);
        let mut keeper = Self { kind, dir, cues, home, jobs: Vec::new(), n_named: 0, server: None };
        match kind {
            Kind::Tmux => {
                // A server that ends with its last program would be met while it ends.
                let config = format!(
                    "set -g status off\nset -g exit-empty off\nset -g history-limit {HISTORY_LINES}\n"
                );
                machine::write(&keeper.dir.join("conf"), config.as_bytes())?;
            }
            Kind::Shpool => {
                let config = format!(
                    "nodaemonize = true\noutput_spool_lines = {HISTORY_LINES}\nprompt_prefix = \"\"\n"
                );
                machine::write(&keeper.dir.join("conf"), config.as_bytes())?;
                keeper.server =
                    Some(keeper.command(&["daemon"]).stderr(std::process::Stdio::null()).spawn()?);
                machine::wait_for_path(&keeper.dir.join("socket"), PATIENCE)?;
            }
            Kind::Stead | Kind::Dtach => {}
        }
        Ok(keeper)
    }

    /// Starts all of these keepers that are there; says which are not.
    pub(super) fn all(
        world: &World,
        kinds: &[Kind],
        measure: &mut Measure,
    ) -> anyhow::Result<Vec<Self>> {
        let mut keepers = Vec::new();
        for kind in kinds {
            if is_there(*kind, measure) {
                keepers.push(Self::new(world, *kind)?);
            }
        }
        Ok(keepers)
    }

    /// Returns the home of the program measured, and its daemon.
    pub(super) fn home(&mut self) -> anyhow::Result<&mut (Home, Daemon)> {
        self.home.as_mut().context("this keeper has no home")
    }

    /// Prepares a command line of the keeper's own.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = match self.kind {
            Kind::Stead => match &self.home {
                Some((home, _)) => home.stead(&[]),
                None => machine::command("stead"),
            },
            Kind::Tmux => {
                let mut command = machine::command("tmux");
                command.arg("-S").arg(self.dir.join("socket"));
                command.arg("-f").arg(self.dir.join("conf"));
                command
            }
            Kind::Dtach => machine::command("dtach"),
            Kind::Shpool => {
                let mut command = machine::command("shpool");
                command.arg("--socket").arg(self.dir.join("socket"));
                command.arg("--config-file").arg(self.dir.join("conf"));
                command
            }
        };
        if self.kind != Kind::Stead {
            command.env("HOME", &self.dir);
        }
        command.env("SHELL", "/bin/sh").env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command.args(arguments);
        command
    }

    /// Returns the command line that starts a program in the background, and what it will be called.
    pub(super) fn starting(&mut self, program: &[String]) -> (Command, String) {
        let name = format!("job{}", self.n_named);
        self.n_named += 1;
        let (columns, lines) = super::terminal::SIZE;
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let command = match self.kind {
            Kind::Stead => {
                let mut command = self.command(&["bg", "--json", "--"]);
                command.args(program);
                command
            }
            Kind::Tmux => {
                let mut command =
                    self.command(&["new-session", "-d", "-s", &name, "-x", &columns, "-y", &lines]);
                command.args(program);
                command
            }
            Kind::Dtach => {
                let mut command = self.command(&["-n"]);
                command.arg(self.dir.join(&name)).args(program);
                command
            }
            Kind::Shpool => {
                self.command(&["attach", "--background", "--cmd", &program.join(" "), &name])
            }
        };
        (command, name)
    }

    /// Returns the command line of a program of ours.
    pub(super) fn program(&self, kind: &str, more: &str) -> anyhow::Result<Vec<String>> {
        let own = std::env::current_exe()?.display().to_string();
        let words = ["bench", "--job", kind, &self.cues.dir(), more].map(str::to_owned);
        Ok([own].into_iter().chain(words).collect())
    }

    /// Starts a program of ours and waits until it is there.
    pub(super) fn start(&mut self, kind: &str, more: &str) -> anyhow::Result<Job> {
        let program = self.program(kind, more)?;
        let name = match &self.home {
            Some((home, daemon)) => dispatch(&mut daemon.connect()?, home, &program)?,
            None => {
                let (mut command, name) = self.starting(&program);
                match self.kind {
                    // It asks its terminal for its size.
                    Kind::Shpool => Free::open()?.start(&mut command)?.ended()?,
                    Kind::Stead | Kind::Tmux | Kind::Dtach => {
                        machine::output(&mut command).map(drop)?
                    }
                }
                name
            }
        };
        self.adopt(name)
    }

    /// Takes a program that was started otherwise.
    pub(super) fn adopt(&mut self, name: String) -> anyhow::Result<Job> {
        let Born { program, parent } = self.cues.born()?;
        let job = Job { name, holder: parent, program };
        self.jobs.push(job.clone());
        Ok(job)
    }

    /// Prepares the client that shows a program.
    pub(super) fn attaching(&self, job: &Job) -> Command {
        match self.kind {
            Kind::Stead => self.command(&["attach", &job.name]),
            Kind::Tmux => self.command(&["attach-session", "-t", &job.name]),
            Kind::Dtach => {
                let mut command = self.command(&["-a"]);
                command.arg(self.dir.join(&job.name)).args(["-E", "-z", "-r", "winch"]);
                command
            }
            Kind::Shpool => self.command(&["attach", "--force", &job.name]),
        }
    }

    /// Shows a program on a new terminal.
    pub(super) fn attach(&self, job: &Job) -> anyhow::Result<Outer> {
        Free::open()?.start(&mut self.attaching(job))
    }

    /// Shows a program for a moment, which gives its terminal the size of ours.
    pub(super) fn look_once(&self, job: &Job) -> anyhow::Result<()> {
        let mut outer = self.attach(job)?;
        outer.first()?;
        outer.hang_up()
    }

    /// Ends one program and waits for the end of whoever held it alone.
    pub(super) fn end(&mut self, job: &Job) -> anyhow::Result<()> {
        self.jobs.retain(|other| other.program != job.program);
        let holder = Watched::of(job.holder);
        if let Some(program) = Watched::of(job.program) {
            program.kill();
            anyhow::ensure!(program.gone(PATIENCE), "a program does not end");
        }
        if let Some(holder) = holder.filter(|_| !self.kind.is_one_server()) {
            anyhow::ensure!(holder.gone(PATIENCE), "the keeper of a program that ended stays");
        }
        Ok(())
    }

    /// Returns the processes that keep what is kept, each once.
    pub(super) fn holders(&self) -> Vec<u32> {
        let mut holders: Vec<u32> = self.jobs.iter().map(|job| job.holder).collect();
        holders.sort_unstable();
        holders.dedup();
        holders
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        for job in std::mem::take(&mut self.jobs) {
            // One that does not end is killed below, or ends with its keeper.
            self.end(&job).ok();
        }
        if self.kind == Kind::Tmux {
            machine::output(&mut self.command(&["kill-server"])).ok();
        }
        if let Some(server) = &mut self.server {
            server.kill().ok();
            server.wait().ok();
        }
    }
}

/// Asks a daemon to keep a program; returns what it is called.
pub(super) fn dispatch<S: std::io::Read + std::io::Write>(
    wire: &mut Wire<S>,
    home: &Home,
    program: &[String],
) -> anyhow::Result<String> {
    let wish = DispatchJob {
        command: program.to_vec(),
        cwd: home.work(),
        env: [("TERM".to_owned(), "xterm-256color".to_owned())].into(),
        record: true,
        ..DispatchJob::default()
    };
    let mut body = Vec::new();
    wire.ask(&Request::json("/jobs", &serde_json::to_vec(&wish)?), &mut body)?;
    let row: JobRow = serde_json::from_slice(&body)?;
    Ok(row.id)
}

/// Tells whether a keeper is on this machine, and in which version; says so if not.
pub(super) fn is_there(kind: Kind, measure: &mut Measure) -> bool {
    let argument = match kind {
        Kind::Stead => return true,
        Kind::Tmux => "-V",
        Kind::Dtach => "--help",
        Kind::Shpool => "version",
    };
    match machine::output(machine::command(kind.name()).arg(argument)) {
        Ok(said) => {
            let said = String::from_utf8_lossy(&said);
            measure.note(format!("beside {}", said.lines().next().unwrap_or_default()));
            true
        }
        Err(error) => {
            measure.not_run(format!(
                "{} is not there: {error:#}; ./dev bench installs it",
                kind.name()
            ));
            false
        }
    }
}
