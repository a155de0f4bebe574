//! Going on as another build: the host becomes the other program, in the same process, with the terminal,
//! the program's identity, the socket and the clients in its hands. Nobody notices but by the version.
//!
//! The other build is asked before whether it can, since what begins to run cannot be taken back. One that
//! cannot read what it is handed loses what clients had not read, and what the screen's recording does
//! not hold; the job goes on.

use std::{
    collections::VecDeque,
    ffi::OsString,
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
    path::Path,
    time::Duration,
};

use rustix::fs::{Mode, OFlags};
use sandbox::{Environment, Host as Machine, Plan, Policy, Scope, replace, scope};
use screen::{Audience, Depth, Mirror, Size};
use stdx::{clock::Clock, lock::Lock};
use vocab::{
    limits::{HOST_PROBE_MS_MAX, HOST_SNAPSHOT_BYTES_MAX},
    outcome::{Effect, Failure},
};

use super::{
    Host, Program, SIZE_UNSEEN, birth,
    client::{Client, Flow},
    crowd::{self, Crowd},
    door::Door,
    ending::End,
    handed::{self, Connection, Handed},
    output::Paper,
    queue::Queue,
    terminal::Pty,
    verdict::Watch,
    watch,
};
use crate::{
    frame::Decoder,
    hello::Reply,
    job::{ExitRecord, JobFiles},
    record::{self, Reader, Recorder},
};

/// The flag that makes a host say whether it could go on for another one.
pub const CAN_RESUME: &str = "--can-resume";

/// The flag before what a host is given that goes on for another one.
pub const RESUME: &str = "--resume";

/// What the host says that can go on, before the versions of what it understands.
const CAN: &str = "resumes";

/// Returns what a host says when it is asked whether it could go on for another one.
#[must_use]
pub fn can_resume() -> String {
    let versions = handed::VERSIONS.iter().map(|version| format!(" {version}"));
    format!("{CAN}{}\n", versions.collect::<String>())
}

impl Host {
    /// Becomes another build of the program. Returns only if that failed, and why.
    pub(super) fn upgrade(&mut self, asker: u64, path: &Path) -> Failure {
        if !self.program.end.is_running() || self.program.end.is_stopped() {
            return Failure::not_started("job_ended", "the job is about to end");
        }
        let program = match replace::open_program(path) {
            Ok(program) => program,
            Err(error) => {
                let text = format!("{} cannot be run: {error}", path.display());
                return Failure::not_started("program_unusable", text);
            }
        };
        if let Err(failure) = ask_whether_it_can(&program, path) {
            return failure;
        }
        let Some(slave) = self.pty.program_end() else {
            return Failure::not_started("job_ended", "the job's terminal is closed");
        };
        let handed = Handed { began: self.paper.recorder.hand_over(), ..self.handed(asker) };
        let memory = match handed.write() {
            Ok(memory) => memory,
            Err(error) => return Failure::not_started("upgrade_failed", error.to_string()),
        };
        let mut kept = vec![
            memory.as_fd(),
            self.pty.as_fd(),
            slave.as_fd(),
            self.door.as_fd(),
            self.door.lock().as_fd(),
        ];
        let staying = self.crowd.clients.iter().filter(|client| client.flow != Flow::Gone);
        kept.extend(staying.map(|client| client.stream.as_fd()));
        let numbers: Vec<String> = kept.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
        let pid = self.program.child.id().pid.to_string();
        let id = self.files.id().to_string();
        let words = ["host", &id, RESUME, &pid, &numbers.join(",")].map(OsString::from);
        let error = replace::replace(&program, &words, &kept);
        Failure::not_started("upgrade_failed", format!("{} cannot be run: {error}", path.display()))
    }

    fn handed(&self, asker: u64) -> Handed {
        let mut snapshot = self.mirror.snapshot(Depth::Replace);
        if HOST_SNAPSHOT_BYTES_MAX < snapshot.len() {
            snapshot = self.mirror.snapshot(Depth::Screen);
        }
        let staying = self.crowd.clients.iter().filter(|client| client.flow != Flow::Gone);
        Handed {
            from: env!("CARGO_PKG_VERSION").to_owned(),
            asker,
            size: handed::numbers(self.mirror.size()),
            terminal: handed::terminal(self.mirror.persona()),
            began: record::Began::default(),
            writer: self.crowd.writer,
            is_asked: self.crowd.is_asked,
            n_seen: self.crowd.n_seen,
            known: Some(self.program.watch.known()),
            clients: staying.map(connection).collect(),
            snapshot,
            input: self.input.iter().copied().collect(),
        }
    }

    /// Listens under its name again, for those who find nobody there.
    pub(super) fn open_door_again(&mut self) {
        self.welcome();
        // Where the directory cannot be made either, those who are here already stay.
        self.door.open_again().ok();
    }
}

fn connection(client: &Client) -> Connection {
    let (unread, n_skipped) = client.decoder.unread();
    let (unsent, is_behind) = client.queue.unsent();
    Connection {
        id: client.id,
        role: client.role,
        size: client.size.map(handed::numbers),
        sorter: client.sorter.clone(),
        told: client.told.clone(),
        follows: client.follows,
        within: client.within.clone(),
        flow: client.flow,
        is_behind,
        n_skipped,
        unread: unread.to_vec(),
        unsent,
    }
}

/// Asks a build whether it can go on for this one.
fn ask_whether_it_can(program: &OwnedFd, path: &Path) -> Result<(), Failure> {
    let refused = |why: &str| {
        let text = format!("{} cannot go on for this host: {why}", path.display());
        Failure::not_started("upgrade_refused", text)
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root =
        rustix::fs::open("/", flags, Mode::empty()).map_err(|errno| refused(&errno.to_string()))?;
    // The very file that is become, whatever its name leads to by then.
    let file = format!("/proc/self/fd/{}", program.as_raw_fd());
    let policy = Policy::new(file, root, Environment::empty())
        .args(["host", CAN_RESUME])
        .timeout(Duration::from_millis(HOST_PROBE_MS_MAX))
        .grace(Duration::ZERO);
    let plan = Plan::realize(policy, &Machine::probe())?;
    let (report, said) = scope::capture(&plan, 256).map_err(|error| refused(&error.to_string()))?;
    if !report.status.is_success() {
        return Err(refused(&format!("asked for it, it {}", report.status)));
    }
    let said = String::from_utf8_lossy(&said);
    let mut words = said.split_ascii_whitespace();
    if words.next() != Some(CAN) {
        return Err(refused("it is another program"));
    }
    let mine = handed::VERSIONS.last().copied();
    if !words.any(|version| version.parse().ok() == mine) {
        return Err(refused("it does not understand this one's state"));
    }
    Ok(())
}

/// What a host is given that goes on for another one.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) memory: OwnedFd,
    pub(super) pty: Pty,
    pub(super) door: Door,
    pub(super) pid: u32,
    pub(super) streams: Vec<OwnedFd>,
}

/// Goes on for the build before, to the job's end. `words` are what stands behind [`RESUME`]: the program's
/// process id, and the numbers of the descriptors.
///
/// # Errors
/// When the words are not such, or the program is no child of this process; then the job is lost.
pub fn resume(files: &JobFiles, words: &[OsString]) -> Result<ExitRecord, Failure> {
    let usage = || Failure::not_started("usage", format!("{RESUME} is for hosts alone"));
    let [pid, numbers] = words else { return Err(usage()) };
    let pid = pid.to_str().and_then(|pid| pid.parse().ok()).ok_or_else(usage)?;
    let numbers = numbers.to_str().unwrap_or_default().split(',');
    let numbers: Result<Vec<i32>, _> = numbers.map(str::parse).collect();
    let fds = replace::inherited(&numbers.ok().ok_or_else(usage)?);
    let mut fds = fds.map_err(|error| super::unusable(&error))?.into_iter();
    let mut next = || fds.next().ok_or_else(usage);
    let (memory, master, slave, listener, lock) = (next()?, next()?, next()?, next()?, next()?);
    let pty = Pty::inherited(master, slave);
    let door = Door::inherited(listener, files.socket(), Lock::inherited(lock));
    go_on(files, Given { memory, pty, door, pid, streams: fds.collect() })
}

/// Goes on with what was given.
pub(super) fn go_on(files: &JobFiles, given: Given) -> Result<ExitRecord, Failure> {
    let clock = Clock::system();
    let signals = watch().map_err(|error| super::unusable(&error))?;
    let (scope, child) = Scope::adopt_job(files.id().as_str(), given.pid).map_err(|error| {
        let text = format!("the program of job {} is not to be found: {error}", files.id());
        Failure::new("host_failed", Effect::Indeterminate, text)
    })?;
    let handed = Handed::read(&given.memory);
    // Where the job's directory was removed, its program goes on all the same.
    let record = files.read().ok();
    let is_recorded = record.as_ref().is_some_and(|record| record.record);
    let mut watch = Watch::new(files, record.as_ref(), &clock);
    // The kernel's part of it went with the build before; where another one came in between, the job goes on.
    let writer = record.and_then(|record| birth::hold_session(&record, clock.now()).ok().flatten());
    let began = handed.as_ref().ok().map(|handed| handed.began);
    let mut recorder = Recorder::new(files, &clock, is_recorded, began);
    let size_told = given.pty.size().unwrap_or(Size::clamped(SIZE_UNSEEN.0, SIZE_UNSEEN.1));
    let (mirror, crowd, input, told) = match handed {
        Ok(mut handed) => {
            if let Some(known) = handed.known.take() {
                watch.go_on(known);
            }
            let told = (Some(handed.asker), format!("the host went on from {}", handed.from));
            let (mirror, crowd, input) = restore(handed, given.streams);
            (mirror, crowd, input, told)
        }
        Err(error) => {
            recorder.is_not_fresh();
            let mirror = recorded(files, size_told);
            let told = (None, format!("the host went on without its state: {error}"));
            (mirror, Crowd::default(), VecDeque::new(), told)
        }
    };
    let mut paper = Paper::new(recorder);
    paper.dirty(clock.monotonic());
    let (scope, end) = (Some(scope), End::default());
    let program = Program { child, scope, end, watch, _writer: writer };
    let mut host = Host {
        files: files.clone(),
        clock,
        pty: given.pty,
        mirror,
        program,
        crowd,
        door: given.door,
        signals,
        input,
        size_told,
        paper,
    };
    let (asker, label) = told;
    host.mark(&label);
    // The build before may have been one that noted nothing.
    host.files.note_socket().ok();
    if !host.door.has_name() {
        host.open_door_again();
    }
    if let Some(client) = asker.and_then(|asker| host.crowd.find(asker)) {
        client.reply(&Reply::Done { ok: true });
    }
    host.read_what_waits();
    host.serve_to_the_end()
}

fn restore(handed: Handed, streams: Vec<OwnedFd>) -> (Mirror, Crowd, VecDeque<u8>) {
    let mut mirror = Mirror::new(Size::clamped(handed.size.0, handed.size.1));
    mirror.feed(&handed.snapshot);
    // What rebuilds it is nothing that the program says.
    mirror.take_answers();
    mirror.take_events();
    mirror.set_persona(crowd::persona(handed.terminal));
    if handed.writer.is_some() {
        mirror.set_audience(Audience::Client);
    }
    let clients = handed.clients.into_iter().zip(streams).map(|(told, stream)| {
        let mut client = Client::new(told.id, stream);
        client.decoder = Decoder::inherited(&told.unread, told.n_skipped);
        client.queue = Queue::inherited(&told.unsent, told.is_behind);
        client.role = told.role;
        client.size = told.size.map(|(columns, lines)| Size::clamped(columns, lines));
        client.sorter = told.sorter;
        client.told = told.told;
        client.follows = told.follows;
        client.within.clone_from(&told.within);
        client.flow = told.flow;
        client
    });
    let crowd = Crowd {
        clients: clients.collect(),
        writer: handed.writer,
        is_asked: handed.is_asked,
        n_seen: handed.n_seen,
        ..Crowd::default()
    };
    (mirror, crowd, handed.input.into())
}

/// Returns the screen as it was recorded, or a fresh one, in the size that the program knows.
fn recorded(files: &JobFiles, size: Size) -> Mirror {
    let reader = Reader::open(files).ok().flatten();
    let last = reader.and_then(|mut reader| record::last(&mut reader).ok().flatten());
    let mut mirror = last.unwrap_or_else(|| Mirror::new(size));
    mirror.resize(size);
    mirror
}

impl Host {
    /// Does what clients have said already that the build before had read and not yet done.
    fn read_what_waits(&mut self) {
        let ids: Vec<u64> = self.crowd.clients.iter().map(|client| client.id).collect();
        for id in ids {
            self.read_frames(id);
        }
    }
}
