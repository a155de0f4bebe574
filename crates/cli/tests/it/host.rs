//! A job's host from outside: started as its starter does, talked to over its socket, and killed.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    process::{Child, ChildStdout},
    time::Duration,
};

use pty::{
    frame::{self, Decoder, Kind},
    job::{JobFiles, JobRecord},
};
use serde_json::{Value, json};
use stdx::proc_id::ProcId;
use vocab::ids::JobId;

use crate::home::Home;

mod logs;
mod upgrade;

/// A host that was started, and its readiness pipe.
pub(crate) struct Host {
    pub(crate) child: Child,
    pipe: BufReader<ChildStdout>,
    pub(crate) files: JobFiles,
}

fn job(home: &Home, script: &str) -> JobFiles {
    job_of(home, &["sh", "-c", script])
}

fn job_of(home: &Home, command: &[&str]) -> JobFiles {
    let id = JobId::generate();
    let files = JobFiles::new(&home.path("state"), &home.path("run"), &id);
    stdx::state_file::ensure_dir(&home.path("state")).unwrap();
    let path = "/usr/local/bin:/usr/bin:/bin".to_owned();
    let record = JobRecord {
        id,
        name: "test".into(),
        cwd: home.work(),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        env: BTreeMap::from([("PATH".into(), path)]),
        env_names: Vec::new(),
        token: "0123456789abcdef0123456789abcdef".into(),
        session_file: None,
        worktree: None,
        origin: "bg".into(),
        agent: false,
        asked: pty::job::Asked::default(),
        created_at: 0,
        daemon_socket: None,
        stead_version: "0".into(),
        record: true,
    };
    files.create(&record).unwrap();
    files
}

fn host(home: &Home, files: JobFiles) -> (Host, String) {
    let mut child = home.command(&["host", files.id().as_str(), "--detach"]).spawn().unwrap();
    let mut pipe = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    pipe.read_line(&mut line).unwrap();
    if line == "begins\n" {
        line.clear();
        pipe.read_line(&mut line).unwrap();
    }
    (Host { child, pipe, files }, line)
}

/// Starts the host of a job that runs a script.
pub(crate) fn ready(home: &Home, script: &str) -> Host {
    ready_of(home, &["sh", "-c", script])
}

/// Starts the host of a job that runs a command.
pub(crate) fn ready_of(home: &Home, command: &[&str]) -> Host {
    let (host, line) = host(home, job_of(home, command));
    assert_eq!(line, "ready\n");
    host
}

impl Host {
    /// Returns the job's id.
    pub(crate) fn id(&self) -> String {
        self.files.id().to_string()
    }

    /// Asks the host what it knows.
    pub(crate) fn status(&self) -> Value {
        Client::of(self, "control").status()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// One connection, read by kind.
pub(crate) struct Client(UnixStream, Decoder);

impl Client {
    pub(crate) fn of(host: &Host, role: &str) -> Self {
        let stream = UnixStream::connect(host.files.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut client = Self(stream, Decoder::default());
        client.send(Kind::Hello, &json!({"role": role, "cols": 80, "rows": 24}));
        client
    }

    pub(crate) fn send(&mut self, kind: Kind, payload: &Value) {
        self.0.write_all(&frame::encode(kind, payload.to_string().as_bytes())).unwrap();
    }

    /// Waits for a text in data frames, or for the payload of another kind.
    #[track_caller]
    pub(crate) fn wait(&mut self, kind: Kind, text: &str) -> String {
        let mut seen = String::new();
        loop {
            while let Some(frame) = self.1.take().unwrap() {
                if frame.kind == kind {
                    seen.push_str(&String::from_utf8_lossy(&frame.payload));
                }
                if frame.kind == kind && seen.contains(text) {
                    return seen;
                }
            }
            let mut buffer = [0; 4_096];
            let n_bytes = self.0.read(&mut buffer).unwrap();
            assert!(0 < n_bytes, "{text:?} never came: {seen:?}");
            self.1.push(&buffer[..n_bytes]);
        }
    }

    fn status(&mut self) -> Value {
        self.send(Kind::Control, &json!({"op": "status"}));
        serde_json::from_str(&self.wait(Kind::Reply, "}")).unwrap()
    }
}

#[test]
fn a_host_says_that_it_is_ready_and_ends_with_its_program() {
    let home = Home::new();
    let mut host = ready(&home, "echo hi; read x; echo got:$x");
    // Its starter's pipe ends: nobody can wait for it longer than for that line.
    assert_eq!(host.pipe.read(&mut [0]).unwrap(), 0);
    let mut client = Client::of(&host, "attach");
    client.wait(Kind::Data, "hi");
    client.0.write_all(&frame::encode(Kind::Data, b"abc\r")).unwrap();
    client.wait(Kind::Data, "got:abc");
    client.wait(Kind::Exit, "\"code\":0");
    assert_eq!(host.child.wait().unwrap().code(), Some(0));
    assert_eq!(host.files.read_exit().unwrap().unwrap().code, Some(0));
    assert!(!host.files.socket().exists());
}

#[test]
fn a_host_opens_nothing_but_its_jobs_files() {
    let home = Home::new();
    let host = ready(&home, "ls /proc/$PPID/fd -l; cat");
    let shown = Client::of(&host, "attach").wait(Kind::Data, "/dev/ptmx");
    let state = home.path("state");
    // Nothing that belongs to the daemon was made either.
    let made: Vec<_> = stdx::state_file::names(&state, None, 2).unwrap();
    assert_eq!(made, ["jobs"], "{shown}");
    assert!(!shown.contains("stead.db") && !shown.contains("config.toml"), "{shown}");
    let maps = host.child.id();
    let leads = stdx::proc_id::Stat::of(maps).unwrap();
    assert_eq!(leads.group, maps, "it leads a group and session of its own");
}

#[test]
fn a_host_that_is_killed_leaves_its_record_and_no_program() {
    let home = Home::new();
    let mut host = ready(&home, "trap '' HUP TERM INT; echo deaf; while :; do sleep 0.1; done");
    let mut client = Client::of(&host, "attach");
    client.wait(Kind::Data, "deaf");
    while !host.files.screen().exists() {
        client.status();
    }
    let worker = u32::try_from(client.status()["workerPid"].as_u64().unwrap()).unwrap();
    let worker = ProcId::of(worker).unwrap();
    let handle = rustix::process::pidfd_open(
        rustix::process::Pid::from_raw(i32::try_from(worker.pid).unwrap()).unwrap(),
        rustix::process::PidfdFlags::empty(),
    );
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    if let Ok(handle) = handle {
        let mut fds = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut fds, None).unwrap();
    }
    assert!(!worker.is_alive());
    assert!(host.files.read().is_ok());
    assert_eq!(host.files.read_exit().unwrap(), None);
    let screen = stdx::state_file::read(&host.files.screen(), 1 << 20).unwrap().unwrap();
    assert_eq!(String::from_utf8(screen).unwrap(), "deaf\n");
    // Nothing of it stands in the way of another host for the same job.
    let (again, line) = self::host(&home, host.files.clone());
    assert_eq!(line, "ready\n");
    Client::of(&again, "attach").wait(Kind::Data, "deaf");
}

#[test]
fn a_host_that_is_told_to_end_ends_its_program_first() {
    let home = Home::new();
    let mut host = ready(&home, "trap 'exit 9' TERM; echo on; while :; do sleep 0.1; done");
    Client::of(&host, "attach").wait(Kind::Data, "on");
    let pid = rustix::process::Pid::from_child(&host.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(host.child.wait().unwrap().code(), Some(0));
    let exit = host.files.read_exit().unwrap().unwrap();
    assert_eq!((exit.code, exit.stopped), (Some(9), true));
}

#[test]
fn a_host_that_cannot_begin_says_why_on_its_pipe() {
    let home = Home::new();
    let check = |files: JobFiles, code: &str, exit: i32| {
        let (mut host, line) = host(&home, files);
        let failure: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(failure["code"], code, "{line}");
        assert_eq!(host.child.wait().unwrap().code(), Some(exit));
    };
    let missing = job(&home, "true");
    missing.remove().unwrap();
    check(missing, "job_not_found", 3);
    let files = job(&home, "true");
    let mut record = files.read().unwrap();
    record.command = vec!["no-such-program".into()];
    files.create(&record).unwrap();
    check(files.clone(), "program_missing", 3);
    assert_eq!(files.read_exit().unwrap().unwrap().failure.unwrap().code, "program_missing");
    for words in [&["host"][..], &["host", "../x"], &["host", "01234567", "--loud"]] {
        assert!(home.stead(words).with(2).out.contains("usage"), "{words:?}");
    }
}
