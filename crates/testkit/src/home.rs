//! A private home for the real program: directories of its own, an environment of its own, and the end
//! of every process that was born in it.
//!
//! It knows the program by its command line, its environment and its files. What the program answers
//! is for the tests to read.

#![expect(clippy::disallowed_methods, reason = "runs the program under test over files of its own")]
#![expect(clippy::unwrap_used, reason = "a home that cannot be made is a failed test")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::{
        fs::{DirBuilderExt as _, OpenOptionsExt as _},
        process::ExitStatusExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc,
    thread::JoinHandle,
    time::Duration,
};

use crate::process::{Watched, processes};

/// How long anything of a home may take before it is ended and the test fails.
pub const WITHIN: Duration = Duration::from_secs(60);

/// A private home. Dropping it ends every process that was born in it, then removes its files.
#[derive(Debug)]
pub struct Home {
    dir: tempfile::TempDir,
    program: PathBuf,
}

impl Home {
    /// Makes a home for the program at `built`; the variable `STEAD_BIN` names another one.
    #[must_use]
    pub fn new(built: &str) -> Self {
        let program = std::env::var_os("STEAD_BIN").map_or_else(|| built.into(), PathBuf::from);
        let dir = tempfile::Builder::new().prefix("home").tempdir().unwrap();
        let home = Self { dir, program };
        for dir in [home.user(), home.work(), home.root().join("config")] {
            fs::DirBuilder::new().mode(0o700).create(dir).unwrap();
        }
        home
    }

    /// Returns the directory that holds everything.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the program.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the state directory; the program makes it.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.root().join("state")
    }

    /// Returns the directory of sockets; the program makes it.
    #[must_use]
    pub fn runtime(&self) -> PathBuf {
        self.root().join("run")
    }

    /// Returns the user's home.
    #[must_use]
    pub fn user(&self) -> PathBuf {
        self.root().join("user")
    }

    /// Returns the directory that agents work in.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// Returns the configuration file.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root().join("config/config.toml")
    }

    /// Writes the configuration.
    pub fn configure(&self, text: &str) {
        private(&self.config(), text);
    }

    /// Writes a script, and a configuration whose only model plays it.
    pub fn play(&self, script: &str) {
        let path = self.root().join("config/script.json");
        private(&path, script);
        self.configure(&format!(
            "default_model = \"local/actor\"\n[providers.local]\napi = \"scripted\"\n\
             script = {path:?}\nmodels = [{{ id = \"actor\" }}]\n"
        ));
    }

    /// Writes a configuration whose only model is asked at `base_url` in Chat Completions.
    pub fn ask(&self, base_url: &str) {
        self.configure(&format!(
            "default_model = \"local/actor\"\n[providers.local]\napi = \"openai-chat\"\n\
             base_url = {base_url:?}\nmodels = [{{ id = \"actor\" }}]\n"
        ));
    }

    /// Returns the environment of everything that is born here, besides `PATH`.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        vec![
            ("HOME", self.user()),
            ("STEAD_HOME", self.state()),
            ("STEAD_RUNTIME_DIR", self.runtime()),
            ("STEAD_CONFIG", self.config()),
        ]
    }

    /// Puts any command into this home.
    #[must_use]
    pub fn inside(&self, mut command: Command) -> Command {
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.environment()).current_dir(self.work()).stdin(Stdio::null());
        command
    }

    /// Returns a command of the program.
    #[must_use]
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args);
        self.inside(command)
    }

    /// Runs a command of the program to its end.
    #[must_use]
    pub fn run(&self, args: &[&str]) -> Output {
        finish(self.command(args))
    }

    /// Runs a daemon in the foreground and waits until it is ready.
    ///
    /// # Errors
    /// When it ends before; the answer is how, and what it said.
    pub fn serve(&self) -> Result<Serving, (ExitStatus, String)> {
        Serving::of(self.command(&["daemon", "run"]))
    }

    /// Returns the processes that were born here and live.
    #[must_use]
    pub fn processes(&self) -> Vec<Watched> {
        processes(self.root())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What is ended may have started something in that moment, so it is looked for again.
        for _ in 0..10 {
            let left = self.processes();
            left.iter().for_each(Watched::kill);
            if left.is_empty() || !left.iter().all(|one| one.gone(Duration::from_secs(5))) {
                break;
            }
        }
    }
}

/// Writes a file that only its owner may read.
pub fn private(path: &Path, text: &str) {
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
}

/// Runs a command to its end, which comes by force when it takes too long.
#[must_use]
pub fn finish(mut command: Command) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let watched = Watched::of(child.id());
    let guard = std::thread::spawn(move || {
        if let Some(watched) = watched.filter(|watched| !watched.gone(WITHIN)) {
            watched.kill();
        }
    });
    let output = child.wait_with_output().unwrap();
    guard.join().unwrap();
    output
}

/// A daemon in the foreground. Dropping it ends it by force.
#[derive(Debug)]
pub struct Serving {
    child: Child,
    watched: Watched,
    said: Option<JoinHandle<String>>,
}

impl Serving {
    /// Starts the command and waits until it says that it is ready.
    ///
    /// # Errors
    /// When it ends before; the answer is how, and what it said.
    pub fn of(mut command: Command) -> Result<Self, (ExitStatus, String)> {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let watched = Watched::of(child.id()).unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let (ready, told) = mpsc::sync_channel(1);
        let said = std::thread::spawn(move || {
            let mut text = String::new();
            loop {
                let from = text.len();
                if lines.read_line(&mut text).unwrap_or(0) == 0 {
                    return text;
                }
                if text[from..].starts_with("stead: ready") {
                    break;
                }
            }
            ready.send(()).ok();
            lines.read_to_string(&mut text).ok();
            text
        });
        let mut serving = Self { child, watched, said: Some(said) };
        match told.recv_timeout(WITHIN) {
            Ok(()) => Ok(serving),
            Err(_) => {
                let status = serving.kill_after(Duration::from_secs(5));
                Err((status, serving.said()))
            }
        }
    }

    /// Returns its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a crash would.
    pub fn crash(mut self) -> ExitStatus {
        self.kill_after(Duration::ZERO)
    }

    /// Asks it to end, waits for that, and returns how it ended and what it said.
    #[must_use]
    pub fn terminate(mut self) -> (ExitStatus, String) {
        self.watched.signal(rustix::process::Signal::TERM);
        let status = self.kill_after(WITHIN);
        (status, self.said())
    }

    /// Waits for its end, which somebody else brings about.
    #[must_use]
    pub fn ended(mut self) -> (ExitStatus, String) {
        let status = self.kill_after(WITHIN);
        (status, self.said())
    }

    fn kill_after(&mut self, limit: Duration) -> ExitStatus {
        if !self.watched.gone(limit) {
            self.watched.kill();
        }
        self.child.wait().unwrap_or_else(|_| ExitStatus::from_raw(-1))
    }

    fn said(&mut self) -> String {
        self.said.take().and_then(|said| said.join().ok()).unwrap_or_default()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.kill_after(Duration::ZERO);
    }
}
