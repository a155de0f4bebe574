//! A home of a test's own: state, sockets and configuration in a temporary directory, and the daemon in
//! it ended with the test.

#![expect(
    clippy::disallowed_methods,
    reason = "starts the program and writes its files, as a person would"
)]

use std::{
    fs,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// A home.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    /// Makes a home without configuration.
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("stead-it-").tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Self { dir }
    }

    /// Makes a home whose default model plays a script.
    pub(crate) fn scripted(script: &Value) -> Self {
        let home = Self::new();
        let path = home.path("script.json");
        write(&path, &script.to_string());
        let config = format!(
            "default_model = \"s/m\"\n[providers.s]\napi = \"scripted\"\nscript = {:?}\nmodels = [{{ id = \"m\" }}]\n",
            path.to_str().unwrap()
        );
        write(&home.path("config.toml"), &config);
        home
    }

    /// Returns a path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the directory that commands start in.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// Returns a command with nothing of the caller's environment but `PATH`.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let program =
            std::env::var_os("STEAD_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_stead").into());
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("user"))
            .env("STEAD_HOME", self.path("state"))
            .env("STEAD_RUNTIME_DIR", self.path("run"))
            .env("STEAD_CONFIG", self.path("config.toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn stead(&self, args: &[&str]) -> Ended {
        ended(&self.command(args).output().unwrap())
    }

    /// Runs a line of a shell to its end, in which `$0` is the program.
    pub(crate) fn shell(&self, line: &str) -> Ended {
        let of_program = self.command(&[]);
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).arg(of_program.get_program());
        shell.current_dir(self.work()).env_clear().stdin(Stdio::null());
        for (name, value) in of_program.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        ended(&shell.output().unwrap())
    }

    /// Runs a command to its end with a text on its standard input.
    pub(crate) fn stead_with(&self, args: &[&str], input: &str) -> Ended {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // One that needs no input may have ended already.
        child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
        ended(&child.wait_with_output().unwrap())
    }

    /// Writes a file of the work directory.
    pub(crate) fn write(&self, name: &str, text: &str) {
        write(&self.work().join(name), text);
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A test that never started a daemon has none to stop.
        self.command(&["daemon", "stop"]).output().ok();
    }
}

/// Writes a file that nobody else reads, as configurations must be.
pub(crate) fn write(path: &Path, text: &str) {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn ended(output: &Output) -> Ended {
    Ended {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout.clone()).unwrap(),
        err: String::from_utf8(output.stderr.clone()).unwrap(),
    }
}

impl Ended {
    /// Checks the exit code and shows everything when it is another one.
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Reads standard output as JSON, one value a line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
