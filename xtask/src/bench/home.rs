//! Scratch homes with their daemons, and the model server: everything here ends with the value that
//! holds it.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use anyhow::{Context as _, bail};
use rustix::{
    fd::OwnedFd,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use serde_json::Value;
use stdx::clock::Clock;

use super::{http::Wire, machine};

/// The name and only model of each provider in a home's configuration.
pub(crate) const MODEL: &str = "stand-in";

/// What all measures share.
pub(crate) struct World {
    scratch: tempfile::TempDir,
    built: PathBuf,
    next: AtomicU32,
    /// Tells how long things take.
    pub(crate) clock: Clock,
}

impl World {
    /// Makes a scratch directory; the programs are those built beside this one.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("stead-bench.").tempdir()?;
        let own = std::env::current_exe()?;
        let built = own.parent().context("this program lies nowhere")?.to_owned();
        Ok(Self { scratch, built, next: AtomicU32::new(0), clock: Clock::system() })
    }

    /// Returns a built program.
    pub(crate) fn program(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.built.join(name);
        if !path.exists() {
            bail!("{name} is not built; ./dev bench builds it");
        }
        Ok(path)
    }

    /// Returns the scratch directory.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }

    /// Makes a new directory.
    pub(crate) fn dir(&self) -> anyhow::Result<PathBuf> {
        let dir = self.scratch.path().join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        machine::make_dir(&dir)?;
        Ok(dir)
    }

    /// Takes the milliseconds that something takes.
    pub(crate) fn ms<T>(
        &self,
        what: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<(f64, T)> {
        let started = self.clock.monotonic();
        let done = what()?;
        Ok(((self.clock.monotonic() - started).as_secs_f64() * 1_000.0, done))
    }
}

/// Directories of one daemon, and its configuration.
pub(crate) struct Home {
    program: PathBuf,
    dir: PathBuf,
}

impl Home {
    /// Makes an empty home whose configuration knows these providers: name, dialect, base URL.
    pub(crate) fn new(world: &World, providers: &[(&str, &str, &str)]) -> anyhow::Result<Self> {
        let home = Self { program: world.program("stead")?, dir: world.dir()? };
        machine::make_dir(&home.work())?;
        let mut config = String::new();
        for (name, dialect, url) in providers {
            writeln!(config, "[providers.{name}]\napi = \"{dialect}\"\nbase_url = \"{url}\"")?;
            writeln!(config, "models = [{{ id = \"{MODEL}\", context_window = 1000000 }}]")?;
        }
        machine::write(&home.dir.join("config.toml"), config.as_bytes())?;
        Ok(home)
    }

    /// Returns the state directory.
    pub(crate) fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// Returns the daemon's socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.join("run/daemon.sock")
    }

    /// Returns an empty directory for agents to work in.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// Prepares a command line of the program in this home.
    pub(crate) fn stead(&self, arguments: &[&str]) -> Command {
        let mut command = machine::command(&self.program);
        command
            .args(arguments)
            .env("HOME", &self.dir)
            .env("STEAD_HOME", self.state())
            .env("STEAD_RUNTIME_DIR", self.dir.join("run"))
            .env("STEAD_CONFIG", self.dir.join("config.toml"));
        command
    }

    /// Starts the daemon as people do.
    pub(crate) fn start(&self) -> anyhow::Result<Daemon> {
        let printed = machine::output(&mut self.stead(&["daemon", "start", "--json"]))?;
        let registration: Value =
            serde_json::from_slice(&printed).context("daemon start --json")?;
        let pid = registration["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        Daemon::at(pid.context("the registration has no pid")?, self.socket())
    }
}

/// A daemon that runs. It is killed when this is dropped.
pub(crate) struct Daemon {
    pub(crate) pid: u32,
    socket: PathBuf,
    handle: OwnedFd,
}

impl Daemon {
    fn at(pid: u32, socket: PathBuf) -> anyhow::Result<Self> {
        let raw = Pid::from_raw(pid.try_into()?).context("pid 0")?;
        Ok(Self { pid, socket, handle: pidfd_open(raw, PidfdFlags::empty())? })
    }

    /// Connects to it.
    pub(crate) fn connect(&self) -> anyhow::Result<Wire<std::os::unix::net::UnixStream>> {
        Wire::unix(&self.socket).with_context(|| self.socket.display().to_string())
    }
}

impl Daemon {
    /// Kills it and waits for its end. Gone already is as good.
    pub(crate) fn kill(&self) {
        pidfd_send_signal(&self.handle, Signal::KILL).ok();
        let mut fds = [rustix::event::PollFd::new(&self.handle, rustix::event::PollFlags::IN)];
        let limit = rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 };
        rustix::event::poll(&mut fds, Some(&limit)).ok();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The model server as a process of its own. It is killed when this is dropped.
pub(crate) struct ModelProcess {
    child: Child,
    /// Where it answers, without a path.
    pub(crate) url: String,
}

impl ModelProcess {
    /// Starts one that plays so many calls of `bash true` and a last word.
    pub(crate) fn instant(world: &World, calls: usize) -> anyhow::Result<Self> {
        let mut command = machine::command(world.program("model-server")?);
        command.args(["--instant", &calls.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut url = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut url)?;
        }
        let process = Self { child, url: url.trim().to_owned() };
        if process.url.is_empty() {
            bail!("the model server did not start");
        }
        Ok(process)
    }
}

impl Drop for ModelProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Returns a path as text.
pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}
