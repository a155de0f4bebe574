//! xterm.js in a process of its own: a terminal that others wrote, in another language, and that tells
//! everything it knows of itself.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts an interpreter named by the caller"
)]

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// Columns and lines.
pub(super) type Size = (u16, u16);

/// The process, and what lies beside its script.
pub(super) struct Xterm {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    _dir: tempfile::TempDir,
}

/// One of its terminals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Screen(u64);

/// What a terminal makes of bytes.
pub(super) struct Made {
    /// What it writes to the program.
    pub(super) answers: Vec<u8>,
    /// The text that it shows.
    pub(super) screen: String,
}

impl Xterm {
    /// Starts it; without node the test says so and passes, unless it is required.
    pub(super) fn start() -> Option<Self> {
        let var = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let Some((node, modules)) = var("STEAD_TEST_NODE").zip(var("STEAD_TEST_NODE_MODULES"))
        else {
            assert!(
                std::env::var_os("STEAD_TEST_REQUIRE").is_none(),
                "STEAD_TEST_NODE must name a node binary and STEAD_TEST_NODE_MODULES a folder with @xterm/headless"
            );
            println!("skipped: STEAD_TEST_NODE and STEAD_TEST_NODE_MODULES are not set");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        // Packages are looked up beside the script.
        std::os::unix::fs::symlink(modules, dir.path().join("node_modules")).unwrap();
        fs::write(dir.path().join("xterm.mjs"), include_str!("xterm.mjs")).unwrap();
        let mut child = Command::new(node)
            .arg("xterm.mjs")
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Some(Self { child, requests, answers, _dir: dir })
    }

    /// Opens a terminal.
    pub(super) fn open(&mut self, size: Size) -> Screen {
        self.opened(size, false)
    }

    /// Opens a terminal with all that xterm.js alone does otherwise.
    pub(super) fn open_plain(&mut self, size: Size) -> Screen {
        self.opened(size, true)
    }

    fn opened(&mut self, (columns, lines): Size, plain: bool) -> Screen {
        let request = json!({"op": "open", "columns": columns, "lines": lines, "plain": plain});
        let opened = self.ask(&request);
        Screen(opened["terminal"].as_u64().unwrap())
    }

    /// Lets a terminal read.
    pub(super) fn write(&mut self, Screen(terminal): Screen, bytes: &[u8]) -> Made {
        let data = STANDARD.encode(bytes);
        let made = self.ask(&json!({"op": "write", "terminal": terminal, "data": data}));
        Made {
            answers: STANDARD.decode(made["answers"].as_str().unwrap()).unwrap(),
            screen: made["screen"].as_str().unwrap().to_owned(),
        }
    }

    /// Returns everything that a terminal knows of itself, one line for each thing.
    pub(super) fn tell(&mut self, Screen(terminal): Screen) -> Vec<String> {
        let told = self.ask(&json!({"op": "tell", "terminal": terminal}));
        serde_json::from_value(told["told"].clone()).unwrap()
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.requests.write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Xterm {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
