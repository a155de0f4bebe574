//! A job that is watched from its first byte and, at any moment, by whoever comes late.
//!
//! A recorder gets all output and no snapshot: what it has is the run that nobody interrupted. Whoever comes
//! later gets a snapshot and then the same output as the recorder, up to the program's end. So it is known to
//! the byte where each snapshot stands in the run, whatever the program draws meanwhile, and nothing has to
//! be quiet or stopped for the comparison.

#![expect(clippy::disallowed_methods, reason = "gives up on what a program never shows")]

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    path::PathBuf,
    time::{Duration, Instant},
};

use pty::frame::{self, Decoder, Frame, Kind};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};

use super::xterm::{Screen, Size, Xterm};
use crate::home::Home;

/// How long a screen is waited for before the test says what it saw instead.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a person waits before a key is pressed again.
const INSISTENCE: Duration = Duration::from_secs(1);

/// Somebody who is connected to the job's host.
struct Viewer {
    /// What the host takes it for.
    role: &'static str,
    stream: UnixStream,
    decoder: Decoder,
    snapshot: Vec<u8>,
    /// How much of the snapshot is still to come; none before it is announced.
    n_awaited: Option<usize>,
    /// The output after the snapshot.
    output: Vec<u8>,
    /// The host has answered what it was asked.
    is_answered: bool,
    /// It has been told how the program ended.
    is_over: bool,
    /// A terminal that shows what comes, and answers the program for the one who types.
    screen: Option<Screen>,
}

/// What somebody who came late has got.
pub(super) struct Late {
    pub(super) name: String,
    pub(super) snapshot: Vec<u8>,
    /// Where the snapshot stands in the run.
    pub(super) at: usize,
}

/// All that was shown.
pub(super) struct Run {
    pub(super) size: Size,
    pub(super) output: Vec<u8>,
    pub(super) late: Vec<Late>,
}

/// The job and its audience.
pub(super) struct Stage<'a> {
    pub(super) xterm: &'a mut Xterm,
    size: Size,
    socket: PathBuf,
    recorder: Viewer,
    /// Whoever types, if anybody does.
    writer: Option<Viewer>,
    late: Vec<Viewer>,
    /// What the recorder's terminal shows.
    shown: String,
    /// How much of the output had come when somebody last typed.
    n_typed: usize,
}

impl Viewer {
    fn connect(socket: &PathBuf, role: &'static str, (cols, rows): Size) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut viewer = Self {
            role,
            stream,
            decoder: Decoder::default(),
            snapshot: Vec::new(),
            n_awaited: (role == "tail").then_some(0),
            output: Vec::new(),
            is_answered: false,
            is_over: false,
            screen: None,
        };
        let hello = json!({"role": role, "cols": cols, "rows": rows, "scrollback": "replace"});
        viewer.say(Kind::Hello, hello.to_string().as_bytes());
        viewer
    }

    fn say(&mut self, kind: Kind, payload: &[u8]) {
        self.stream.write_all(&frame::encode(kind, payload)).unwrap();
    }

    /// Reads once what has come, and returns what is to be shown of it.
    fn read(&mut self) -> Vec<u8> {
        let mut buffer = vec![0; 64 << 10];
        let n_bytes = self.stream.read(&mut buffer).unwrap();
        self.is_over |= n_bytes == 0;
        self.decoder.push(&buffer[..n_bytes]);
        let mut shown = Vec::new();
        while let Some(Frame { kind, payload }) = self.decoder.take().unwrap() {
            match kind {
                Kind::Resync => {
                    assert_eq!(self.n_awaited, None, "{}: was given a second snapshot", self.role);
                    let told: Value = serde_json::from_slice(&payload).unwrap();
                    self.n_awaited =
                        Some(usize::try_from(told["bytes"].as_u64().unwrap()).unwrap());
                }
                Kind::Data => {
                    let n_here = self.n_awaited.unwrap().min(payload.len());
                    self.n_awaited = self.n_awaited.map(|n_awaited| n_awaited - n_here);
                    self.snapshot.extend_from_slice(&payload[..n_here]);
                    self.output.extend_from_slice(&payload[n_here..]);
                    shown.extend_from_slice(&payload);
                }
                Kind::Reply => self.is_answered = true,
                Kind::Exit => self.is_over = true,
                Kind::Hello
                | Kind::Resize
                | Kind::Detached
                | Kind::Control
                | Kind::Focus
                | Kind::State => {}
            }
        }
        shown
    }
}

impl<'a> Stage<'a> {
    /// Starts a program in a job and lets it begin once somebody watches.
    pub(super) fn new(home: &Home, xterm: &'a mut Xterm, size: Size, command: &[&str]) -> Self {
        // A program of its own holds the door, so that the recorder and the size are there first.
        let gate = [
            "bg",
            "--json",
            "--env",
            "LC_ALL=C.UTF-8",
            "--",
            "sh",
            "-c",
            "read x; exec \"$@\"",
            "sh",
        ];
        let told = home.stead(&[&gate[..], command].concat()).with(0).out;
        let row: Value = serde_json::from_str(&told).unwrap();
        let socket = home.path("run").join(format!("host-{}.sock", row["id"].as_str().unwrap()));
        // The size comes with whoever attaches first, and everyone else gets a snapshot when it changes.
        let mut writer = Viewer::connect(&socket, "attach", size);
        writer.screen = Some(xterm.open(size));
        while writer.n_awaited != Some(0) {
            writer.read();
        }
        let mut recorder = Viewer::connect(&socket, "tail", size);
        recorder.screen = Some(xterm.open(size));
        recorder.say(Kind::Control, json!({"op": "status"}).to_string().as_bytes());
        while !recorder.is_answered {
            recorder.read();
        }
        let mut stage = Self {
            xterm,
            size,
            socket,
            recorder,
            writer: Some(writer),
            late: Vec::new(),
            shown: String::new(),
            n_typed: 0,
        };
        stage.keys("\r");
        stage
    }

    /// Types.
    #[track_caller]
    pub(super) fn keys(&mut self, keys: &str) {
        self.n_typed = self.recorder.output.len();
        match &mut self.writer {
            Some(writer) => writer.say(Kind::Data, keys.as_bytes()),
            // As `stead send` does while nobody is attached.
            None => {
                let send = json!({"op": "send", "text": keys}).to_string();
                self.recorder.say(Kind::Control, send.as_bytes());
            }
        }
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub(super) fn see(&mut self, text: &str) {
        let begun = Instant::now();
        while !self.shown.contains(text) {
            let is_over = self.recorder.is_over || !self.read() || PATIENCE < begun.elapsed();
            assert!(!is_over || self.shown.contains(text), "{text:?} never came:\n{}", self.shown);
        }
    }

    /// Waits until a text is no longer on the screen.
    #[track_caller]
    pub(super) fn lose(&mut self, text: &str) {
        let begun = Instant::now();
        while self.shown.contains(text) {
            let is_over = self.recorder.is_over || !self.read() || PATIENCE < begun.elapsed();
            assert!(!is_over, "{text:?} never goes:\n{}", self.shown);
        }
    }

    /// Types, and types again every second, until a text is on the screen.
    #[track_caller]
    pub(super) fn insist(&mut self, keys: &str, text: &str) {
        let begun = Instant::now();
        while !self.shown.contains(text) {
            self.keys(keys);
            let typed = Instant::now();
            while !self.shown.contains(text) && typed.elapsed() < INSISTENCE {
                let is_over = self.recorder.is_over || !self.read_within(INSISTENCE);
                assert!(!is_over || begun.elapsed() < PATIENCE, "no {text:?}:\n{}", self.shown);
            }
        }
    }

    /// Waits until the program has written one of these since it was last typed into, and returns which.
    #[track_caller]
    pub(super) fn hear(&mut self, texts: &[&str]) -> usize {
        let begun = Instant::now();
        loop {
            let output = &self.recorder.output[self.n_typed..];
            let is_there =
                |text: &&str| output.windows(text.len()).any(|part| part == text.as_bytes());
            if let Some(which) = texts.iter().position(is_there) {
                return which;
            }
            let is_over = self.recorder.is_over || !self.read() || PATIENCE < begun.elapsed();
            assert!(!is_over, "{texts:?} never came:\n{}", self.shown);
        }
    }

    /// Lets somebody look from now on.
    pub(super) fn look(&mut self) {
        let viewer = Viewer::connect(&self.socket, "view", self.size);
        self.late.push(viewer);
        while self.late.last().is_some_and(|viewer| viewer.n_awaited != Some(0)) {
            assert!(self.read(), "no snapshot came:\n{}", self.shown);
        }
    }

    /// Lets somebody else type from now on; whoever did before stays and looks.
    pub(super) fn take(&mut self) {
        let mut viewer = Viewer::connect(&self.socket, "attach", self.size);
        viewer.screen = Some(self.xterm.open(self.size));
        self.late.extend(self.writer.replace(viewer));
        while self.writer.as_ref().is_some_and(|viewer| viewer.n_awaited != Some(0)) {
            assert!(self.read(), "no snapshot came:\n{}", self.shown);
        }
    }

    /// Lets whoever types go; the host answers the program from now on.
    pub(super) fn leave(&mut self) {
        self.writer = None;
    }

    /// Waits for the program's end and returns all that was shown.
    pub(super) fn end(mut self) -> (Run, &'a mut Xterm) {
        let begun = Instant::now();
        let all_over = |stage: &Self| {
            let others = stage.late.iter().chain(&stage.writer);
            others.chain([&stage.recorder]).all(|viewer| viewer.is_over)
        };
        while !all_over(&self) {
            let is_over = !self.read() || PATIENCE < begun.elapsed();
            assert!(!is_over, "the program does not end:\n{}", self.shown);
        }
        self.late.extend(self.writer.take());
        let output = self.recorder.output;
        let mut late = Vec::new();
        for (idx, viewer) in self.late.into_iter().enumerate() {
            assert!(output.ends_with(&viewer.output), "{idx}: not what the recorder got");
            let at = output.len() - viewer.output.len();
            late.push(Late {
                name: format!("{} {idx}", viewer.role),
                snapshot: viewer.snapshot,
                at,
            });
        }
        late.sort_by_key(|late| late.at);
        (Run { size: self.size, output, late }, self.xterm)
    }

    /// Reads whatever comes next; false when nothing does.
    fn read(&mut self) -> bool {
        self.read_within(PATIENCE)
    }

    fn read_within(&mut self, patience: Duration) -> bool {
        let mut viewers: Vec<&mut Viewer> = std::iter::once(&mut self.recorder)
            .chain(&mut self.writer)
            .chain(&mut self.late)
            .filter(|viewer| !viewer.is_over)
            .collect();
        let mut fds: Vec<_> =
            viewers.iter().map(|viewer| PollFd::new(&viewer.stream, PollFlags::IN)).collect();
        let n_ready = poll(&mut fds, Some(&patience.try_into().unwrap())).unwrap();
        let is_ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        for (idx, viewer) in viewers.iter_mut().enumerate().filter(|(idx, _)| is_ready[*idx]) {
            let shown = viewer.read();
            let Some(screen) = viewer.screen else { continue };
            let made = self.xterm.write(screen, &shown);
            if idx == 0 {
                self.shown = made.screen;
            } else if !made.answers.is_empty() && !viewer.is_over {
                viewer.say(Kind::Data, &made.answers);
            }
        }
        n_ready != 0
    }
}
