//! Hosts at work: real programs on real terminals, and clients over the socket.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    sync::mpsc,
    thread::JoinHandle,
    time::Duration,
};

use serde_json::{Value, json};

use super::*;
use crate::{
    frame::{self, Decoder, Frame, Kind},
    job::JobRecord,
};

mod bad_luck;
mod clock;
mod limits;
mod looking;
mod nested;
mod recording;
mod states;
mod typing;
mod upgrade;

/// Longer than anything here takes; a test that waits so long says what it has seen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A job with its host on a thread of the test.
struct Job {
    dir: tempfile::TempDir,
    files: JobFiles,
    thread: Option<JoinHandle<Result<ExitRecord, Failure>>>,
}

impl Job {
    /// Runs a script.
    fn sh(script: &str) -> Self {
        let job = Self::of(&["sh", "-c", script]);
        job.unwrap_or_else(|failure| panic!("{failure:?}"))
    }

    fn of(command: &[&str]) -> Result<Self, Failure> {
        Self::from(|record| {
            record.command = command.iter().map(|word| (*word).to_owned()).collect()
        })
    }

    fn from(change: impl FnOnce(&mut JobRecord)) -> Result<Self, Failure> {
        Self::prepared(change, |_| ())
    }

    /// Runs a job whose directory was prepared.
    fn prepared(
        change: impl FnOnce(&mut JobRecord),
        prepare: impl FnOnce(&JobFiles),
    ) -> Result<Self, Failure> {
        Self::by(Clock::system(), change, prepare)
    }

    /// Runs a job whose host goes by a clock of the test.
    fn by(
        clock: Clock,
        change: impl FnOnce(&mut JobRecord),
        prepare: impl FnOnce(&JobFiles),
    ) -> Result<Self, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let id = vocab::ids::JobId::generate();
        let files = JobFiles::new(&dir.path().join("home"), &dir.path().join("run"), &id);
        let path = ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
        let mut record = JobRecord {
            id,
            name: "test".into(),
            cwd: "/".into(),
            command: Vec::new(),
            env: BTreeMap::from([path]),
            env_names: Vec::new(),
            token: "token-of-the-job".into(),
            session_file: None,
            worktree: None,
            origin: "bg".into(),
            agent: false,
            asked: crate::job::Asked::default(),
            created_at: 0,
            daemon_socket: None,
            stead_version: "0".into(),
            record: true,
        };
        change(&mut record);
        files.create(&record).unwrap();
        prepare(&files);
        let job = Self { dir, files, thread: None };
        job.host(clock)
    }

    /// Starts the host and waits until it is ready.
    fn host(mut self, clock: Clock) -> Result<Self, Failure> {
        let (sender, told) = mpsc::sync_channel(1);
        let files = self.files.clone();
        let ready = move || sender.send(()).unwrap();
        let thread = std::thread::spawn(move || run_by(clock, (&files, None), || (), ready));
        self.thread = Some(thread);
        match told.recv() {
            Ok(()) => Ok(self),
            Err(_) => Err(self.ended().unwrap_err()),
        }
    }

    fn ended(&mut self) -> Result<ExitRecord, Failure> {
        self.thread.take().unwrap().join().unwrap()
    }

    /// Waits for the end and returns the record that was written.
    #[track_caller]
    fn end(&mut self) -> ExitRecord {
        let told = self.ended().unwrap();
        assert!(!self.files.socket().exists());
        assert_eq!(self.files.read_exit().unwrap().as_ref(), Some(&told));
        told
    }

    fn screen(&self) -> String {
        let read = stdx::state_file::read(&self.files.screen(), 1 << 20).unwrap();
        String::from_utf8(read.unwrap()).unwrap()
    }

    fn client(&self, hello: Value) -> Client {
        let mut client = self.stranger();
        client.send(Kind::Hello, &hello);
        client
    }

    fn stranger(&self) -> Client {
        let stream = UnixStream::connect(self.files.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client { stream, decoder: Decoder::default(), seen: String::new(), frames: Vec::new() }
    }

    fn attach(&self) -> Client {
        self.client(json!({"role": "attach", "cols": 100, "rows": 20}))
    }

    fn control(&self) -> Client {
        self.client(json!({"role": "control"}))
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // A test that failed leaves no program behind.
        if let Some(thread) = self.thread.take()
            && let Ok(stream) = UnixStream::connect(self.files.socket())
        {
            let mut frames = frame::encode(Kind::Hello, br#"{"role":"control"}"#);
            frames.extend(frame::encode(Kind::Control, br#"{"op":"terminate"}"#));
            (&stream).write_all(&frames).ok();
            thread.join().ok();
        }
    }
}

/// One connection.
struct Client {
    stream: UnixStream,
    decoder: Decoder,
    /// All data so far.
    seen: String,
    /// All other frames that nobody has waited for.
    frames: Vec<Frame>,
}

impl Client {
    fn send(&mut self, kind: Kind, payload: &Value) {
        self.raw(&frame::encode(kind, payload.to_string().as_bytes()));
    }

    fn type_in(&mut self, keys: &str) {
        self.raw(&frame::encode(Kind::Data, keys.as_bytes()));
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Reads once; false at the end.
    #[track_caller]
    fn read(&mut self) -> bool {
        let mut buffer = vec![0; 64 << 10];
        let n_bytes = match self.stream.read(&mut buffer) {
            Ok(n_bytes) => n_bytes,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            Err(error) => panic!("{error}: {:?} {}", self.frames, self.seen),
        };
        self.decoder.push(&buffer[..n_bytes]);
        while let Some(frame) = self.decoder.take().unwrap() {
            if frame.kind == Kind::Data {
                self.seen.push_str(&String::from_utf8_lossy(&frame.payload));
            } else {
                self.frames.push(frame);
            }
        }
        n_bytes != 0
    }

    /// Waits for a text in what was not waited for before.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        loop {
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return;
            }
            assert!(self.read(), "{text:?} never came: {:?} {:?}", self.frames, self.seen);
        }
    }

    /// Waits for the next frame of a kind.
    #[track_caller]
    fn wait(&mut self, kind: Kind) -> Value {
        loop {
            if let Some(at) = self.frames.iter().position(|frame| frame.kind == kind) {
                return serde_json::from_slice(&self.frames.remove(at).payload).unwrap();
            }
            assert!(self.read(), "no {kind:?} came: {:?} {:?}", self.frames, self.seen);
        }
    }

    #[track_caller]
    fn ask(&mut self, operation: &Value) -> Value {
        self.send(Kind::Control, operation);
        self.wait(Kind::Reply)
    }

    /// Waits until the host lets go, and returns why.
    #[track_caller]
    fn let_go(&mut self) -> Value {
        let told = self.wait(Kind::Detached);
        while self.read() {}
        told
    }
}

#[test]
fn what_is_typed_is_read_and_the_end_is_written_down() {
    let mut job = Job::sh("echo hi; read x; echo got:$x");
    let mut client = job.attach();
    let mut state = client.wait(Kind::State);
    assert!(state.as_object_mut().unwrap().remove("since").is_some_and(|since| since.is_i64()));
    let expected = json!({
        "role": "attach", "writer": true, "cols": 100, "rows": 20, "state": "working", "protocol": 1,
        "state_source": "process",
    });
    assert_eq!(state, expected);
    client.wait(Kind::Resync);
    client.wait_for("hi");
    client.type_in("abc\r");
    client.wait_for("got:abc");
    let exit = client.wait(Kind::Exit);
    assert_eq!((&exit["code"], &exit["signal"]), (&json!(0), &Value::Null));
    assert_eq!(client.let_go(), json!({"reason": "exit"}));
    let exit = job.end();
    assert_eq!((exit.code, exit.stopped), (Some(0), false));
    assert_eq!(job.screen(), "hi\nabc\ngot:abc\n");
}

#[test]
fn a_program_sees_the_jobs_environment_and_its_terminal() {
    let job = Job::from(|record| {
        record.command = ["sh", "-c", "env; stty size; pwd; echo end"].map(str::to_owned).to_vec();
        record.env.insert("MY_API_KEY".into(), "named".into());
        record.env.insert("STEAD_REMOTE_TOKEN".into(), "own".into());
        // Whoever wrote the record: what nobody has named passes the job policy.
        record.env.insert("OTHER_API_KEY".into(), "unnamed".into());
        record.env_names = vec!["MY_API_KEY".into(), "STEAD_REMOTE_TOKEN".into()];
        record.daemon_socket = Some("/run/daemon.sock".into());
        record.cwd = "/usr".into();
    });
    let mut job = job.unwrap();
    assert_eq!(job.end().code, Some(0));
    let screen = job.screen();
    let id = job.files.id();
    for line in [
        "TERM=xterm-256color",
        "MY_API_KEY=named",
        "STEAD_JOB_TOKEN=token-of-the-job",
        "STEAD_DAEMON_SOCK=/run/daemon.sock",
        "30 120",
        "/usr",
        &format!("STEAD_JOB_ID={id}"),
        &format!("STEAD_JOB_DIR={}", job.files.dir().display()),
        &format!("STEAD_JOB_SOCK={}", job.files.socket().display()),
    ] {
        assert!(screen.lines().any(|shown| shown == line), "{line}: {screen}");
    }
    assert!(!screen.contains("OTHER_API_KEY"), "{screen}");
    assert!(!screen.contains("REMOTE_TOKEN") && !screen.contains("STEAD_RUN"), "{screen}");
    assert!(job.dir.path().exists());
}

#[test]
fn a_terminal_that_a_person_has_named_is_the_programs() {
    let job = Job::from(|record| {
        record.command = ["sh", "-c", "echo in:$TERM"].map(str::to_owned).to_vec();
        record.env.insert("TERM".into(), "dumb".into());
        record.env_names = vec!["TERM".into()];
    });
    let mut job = job.unwrap();
    assert_eq!(job.end().code, Some(0));
    assert_eq!(job.screen(), "in:dumb\n");
}

#[test]
fn operations_answer_in_the_order_they_were_asked() {
    let mut job = Job::sh("printf 'a\\nb\\033]2;title\\007'; read x; exit 7");
    job.attach().wait_for("title");
    let mut control = job.control();
    assert_eq!(control.ask(&json!({"op": "snapshot"})), json!({"text": "a\nb\n"}));
    let status = control.ask(&json!({"op": "status"}));
    assert_eq!((&status["alive"], &status["title"]), (&json!(true), &json!("title")));
    assert_eq!((&status["cols"], &status["rows"]), (&json!(100), &json!(20)));
    for bad in [json!({"op": "dance"}), json!([]), json!({"op": "send"})] {
        assert_eq!(control.ask(&bad)["error"]["code"], "frame_malformed", "{bad}");
    }
    assert_eq!(control.ask(&json!({"op": "send", "text": "go\r"})), json!({"ok": true}));
    assert_eq!(control.wait(Kind::Exit)["code"], 7);
    assert_eq!(job.end().code, Some(7));
}

#[test]
fn a_job_that_is_told_to_end_says_that_it_was_stopped() {
    let mut job = Job::sh("trap 'echo bye; exit 3' TERM; echo on; while :; do sleep 0.1; done");
    let mut client = job.attach();
    client.wait_for("on");
    assert_eq!(job.control().ask(&json!({"op": "terminate"})), json!({"ok": true}));
    client.wait_for("bye");
    assert_eq!(client.wait(Kind::Exit)["stopped"], true);
    let exit = job.end();
    assert_eq!((exit.code, exit.stopped), (Some(3), true));
}
