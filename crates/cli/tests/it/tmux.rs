//! A person's shell inside tmux, a terminal that somebody else wrote: what it shows can be looked at, and it
//! tells which modes programs have left on.

#![expect(
    clippy::disallowed_methods,
    reason = "starts tmux and waits for what it shows, as a person would"
)]

use std::{
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use crate::home::{Home, write};

/// How long a screen is waited for before the test says what it saw instead.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What the shell shows when it has nothing to do.
pub(crate) const PROMPT: &str = "ready>";

/// A shell in a window of 80 columns and 24 lines.
pub(crate) struct Tmux {
    socket: String,
}

impl Tmux {
    pub(crate) fn new(home: &Home) -> Self {
        // One that ends may still hold its name while the next begins.
        static N_STARTED: AtomicU32 = AtomicU32::new(0);
        let name = format!("tmux-{}.sock", N_STARTED.fetch_add(1, Ordering::Relaxed));
        let socket = home.path(&name).to_str().unwrap().to_owned();
        let (program, start) = (home.command(&[]), home.path("start.sh"));
        write(&start, &format!("PS1='{PROMPT} '\n"));
        let tmux = Self { socket };
        let mut command = tmux.command(&["-f", "/dev/null", "new-session", "-d", "-x80", "-y24"]);
        command.env_clear().current_dir(home.work());
        for (name, value) in program.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command
            .env("LC_ALL", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .env("ENV", &start)
            .env("STEAD", program.get_program());
        let started = command.arg("exec sh").output().unwrap();
        assert!(started.status.success(), "{started:?}");
        tmux.wait_for(PROMPT);
        tmux
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-S", &self.socket]).args(args);
        command
    }

    /// Runs one of tmux's commands and returns what it says.
    pub(crate) fn tmux(&self, args: &[&str]) -> String {
        let ended = self.command(args).output().unwrap();
        assert!(ended.status.success(), "{args:?}: {ended:?}");
        String::from_utf8(ended.stdout).unwrap()
    }

    /// Types text as it is.
    pub(crate) fn type_in(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Types keys by tmux's names for them.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a line into the shell, and waits for the prompt after it.
    #[track_caller]
    pub(crate) fn line(&self, line: &str, prompt: &str) {
        self.type_in(line);
        self.keys(&["Enter"]);
        self.wait_until(line, |screen| screen.trim_end().ends_with(prompt));
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until the screen is as it should be. tmux tells nobody when it changes.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{what:?} never came:\n{screen}");
        }
    }

    /// Returns the modes that programs switch.
    pub(crate) fn modes(&self) -> String {
        let flags = [
            "alternate_on",
            "cursor_flag",
            "insert_flag",
            "keypad_cursor_flag",
            "keypad_flag",
            "mouse_any_flag",
            "mouse_sgr_flag",
            "origin_flag",
            "wrap_flag",
            "scroll_region_upper",
            "scroll_region_lower",
            "pane_title",
        ];
        let format = flags.map(|flag| format!("{flag}=#{{{flag}}}")).join(" ");
        self.tmux(&["display-message", "-p", &format])
    }

    /// Waits until the modes are these.
    #[track_caller]
    pub(crate) fn wait_for_modes(&self, expected: &str) {
        self.wait_until_modes(expected, |modes| modes == expected);
    }

    /// Waits until the modes are as they should be.
    #[track_caller]
    pub(crate) fn wait_until_modes(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        loop {
            let modes = self.modes();
            if is_so(&modes) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{what}\n{modes}{}", self.screen());
        }
    }

    /// Returns the terminal's modes as `stty` prints them, without going through the shell.
    pub(crate) fn stty(&self) -> String {
        let name = self.tmux(&["display-message", "-p", "#{pane_tty}"]);
        let told = Command::new("stty").args(["-g", "-F", name.trim_end()]).output().unwrap();
        assert!(told.status.success(), "{told:?}");
        String::from_utf8(told.stdout).unwrap()
    }

    /// Returns the process that the shell runs in the foreground.
    pub(crate) fn shell_child(&self) -> u32 {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        children(shell.trim_end().parse().unwrap())[0]
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.command(&["kill-server"]).output().ok();
    }
}

/// Returns the children of a process.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    listed.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}
