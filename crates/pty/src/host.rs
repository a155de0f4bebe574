//! The host of one job: one process, one thread, one loop.
//!
//! It holds the terminal, reads all that the program writes as soon as it is written, and hands it to
//! whoever looks. Nothing a client does or leaves undone holds it up or ends it; while nothing happens it
//! sleeps without a timer. The program's end is its own.
//!
//! Not here: who started it, what the program is for, and any file but the job's own.

mod birth;
mod client;
mod control;
mod crowd;
mod door;
mod ending;
mod handed;
mod output;
mod queue;
mod record;
mod terminal;
mod typed;
mod upgrade;
mod verdict;

use std::{collections::VecDeque, io, mem::MaybeUninit, os::fd::OwnedFd, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Signal,
};
use sandbox::{Scope, scope::Child, signals};
use screen::{Mirror, Size};
use stdx::{clock::Clock, lock::Lock, writer_lock::WriterLock};
use vocab::{
    limits::HOST_INPUT_BYTES_MAX,
    outcome::{Effect, Failure},
};

pub use upgrade::{CAN_RESUME, RESUME, can_resume, resume};

use self::{
    client::Flow, crowd::Crowd, door::Door, ending::End, output::Paper, terminal::Pty,
    verdict::Watch,
};
use crate::{
    job::{ExitRecord, JobFiles},
    record::{Recorder, Told},
};

/// What a terminal is until somebody has looked at it.
const SIZE_UNSEEN: (u16, u16) = (120, 30);

/// How much is read from a client at once. On the stack, so that an idle host's heap holds no buffer.
const READ_BYTES: usize = 16 << 10;

/// A job's host at work.
struct Host {
    files: JobFiles,
    clock: Clock,
    pty: Pty,
    mirror: Mirror,
    program: Program,
    crowd: Crowd,
    door: Door,
    signals: OwnedFd,
    /// What was typed and is not read by the program yet.
    input: VecDeque<u8>,
    /// The size that the program was told last.
    size_told: Size,
    paper: Paper,
}

/// The program and how far it is.
struct Program {
    child: Child,
    /// None once what is left of it is left alone.
    scope: Option<Scope>,
    end: End,
    /// Held for as long as it lives: two programs that write one session lose what one of them said.
    _writer: Option<WriterLock>,
    watch: Watch,
}

/// What woke the loop up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Program,
    Output,
    Door,
    Signals,
    Client(u64),
}

/// Takes the lock of a job's host, which says that the job has one.
///
/// # Errors
/// When another host has it, or the system says no.
pub fn lock(files: &JobFiles) -> Result<Lock, Failure> {
    let lock = files.lock().map_err(|error| unusable(&error))?;
    lock.ok_or_else(|| Failure::not_started("locked", format!("job {} has a host", files.id())))
}

/// Runs a job to its end and returns how that was. `ready` is called once its socket listens and its
/// program runs. `handed` is the job's lock where whoever has started this process took it.
///
/// # Errors
/// When the job cannot be started, which its exit record tells as well, or the system refuses to wait.
pub fn run(
    files: &JobFiles,
    handed: Option<Lock>,
    ready: impl FnOnce(),
) -> Result<ExitRecord, Failure> {
    run_by(Clock::system(), (files, handed), || (), ready)
}

/// Does so, and calls `begins` before anything of the program can run: a host that dies without having called it
/// has started nothing.
///
/// # Errors
/// As [`run`].
pub fn run_telling(
    files: &JobFiles,
    handed: Option<Lock>,
    begins: impl FnOnce(),
    ready: impl FnOnce(),
) -> Result<ExitRecord, Failure> {
    run_by(Clock::system(), (files, handed), begins, ready)
}

fn run_by(
    clock: Clock,
    (files, handed): (&JobFiles, Option<Lock>),
    begins: impl FnOnce(),
    ready: impl FnOnce(),
) -> Result<ExitRecord, Failure> {
    let record = files.read()?;
    files.check_socket()?;
    let lock = handed.map_or_else(|| lock(files), Ok)?;
    if files.read_exit()?.is_some() {
        return Err(Failure::not_started("job_ended", format!("job {} has ended", files.id())));
    }
    let writer = birth::hold_session(&record, clock.now())?;
    let signals = watch().map_err(|error| unusable(&error))?;
    let door = Door::open(files.socket(), lock).map_err(|error| unusable(&error))?;
    // On a full disk it is looked for in the usual place.
    files.note_socket().ok();
    let size = Size::clamped(SIZE_UNSEEN.0, SIZE_UNSEEN.1);
    let born = Pty::open(size).map_err(|error| unusable(&error)).and_then(|pty| {
        // From here on nobody can say any more that it did not begin, but this process itself.
        files.mark_begun().map_err(|error| unusable(&error))?;
        begins();
        let (child, scope) = birth::start(files, &record, &pty)?;
        let watch = Watch::new(files, Some(&record), &clock);
        let (scope, end) = (Some(scope), End::default());
        Ok((pty, Program { child, scope, end, watch, _writer: writer }))
    });
    let (pty, program) = match born {
        Ok(born) => born,
        Err(failure) => {
            let at = clock.now().as_millis();
            // One that was started again and did not begin ended as it did before.
            let written = match files.put_exit_back() {
                Ok(true) => Ok(()),
                Ok(false) | Err(_) => {
                    let failure = Some(failure.clone());
                    let (code, signal, stopped) = (None, None, false);
                    files.write_exit(&ExitRecord { code, signal, at, stopped, failure })
                }
            };
            door.close();
            written?;
            return Err(failure);
        }
    };
    // It has begun, so that this is not how it ended last. A record that stays is no hindrance.
    files.drop_exit_before().ok();
    let recorder = Recorder::new(files, &clock, record.record, None);
    let (mirror, paper) = (Mirror::new(size), Paper::new(recorder));
    let (crowd, input) = (Crowd::default(), VecDeque::new());
    let files = files.clone();
    let host = Host {
        files,
        clock,
        pty,
        mirror,
        program,
        crowd,
        door,
        signals,
        input,
        size_told: size,
        paper,
    };
    ready();
    host.serve_to_the_end()
}

/// Returns what tells the signals that a host hears.
fn watch() -> io::Result<OwnedFd> {
    signals::watch(&[Signal::TERM, Signal::INT, Signal::HUP, Signal::USR1])
}

fn unusable(error: &io::Error) -> Failure {
    Failure::not_started("host_failed", format!("the host cannot be set up: {error}"))
}

impl Host {
    /// Serves, and closes the door behind it.
    fn serve_to_the_end(mut self) -> Result<ExitRecord, Failure> {
        let exit = self.serve().map_err(|error| {
            let text = format!("the host cannot wait: {error}");
            Failure::new("host_failed", Effect::Indeterminate, text)
        });
        self.door.close();
        exit
    }

    /// Serves until the program has ended and that is written down.
    fn serve(&mut self) -> io::Result<ExitRecord> {
        loop {
            for (source, flags) in self.wait()? {
                self.meet(source, flags);
            }
            self.hear_those_who_wait();
            self.take_turns();
            if let Some(exit) = self.try_to_end() {
                self.say_farewell(&exit)?;
                return Ok(exit);
            }
        }
    }

    /// Waits for something to happen, or for the next moment at which something is due.
    fn wait(&self) -> io::Result<Vec<(Source, PollFlags)>> {
        let n_sources = 4 + self.crowd.clients.len();
        let (mut sources, mut fds) = (Vec::with_capacity(n_sources), Vec::with_capacity(n_sources));
        sources.push(Source::Signals);
        fds.push(PollFd::new(&self.signals, PollFlags::IN));
        if self.program.end.is_running() {
            sources.push(Source::Program);
            fds.push(PollFd::new(&self.program.child, PollFlags::IN));
        }
        if !self.program.end.is_drained() {
            let mut flags = PollFlags::IN;
            flags.set(PollFlags::OUT, !self.input.is_empty());
            sources.push(Source::Output);
            fds.push(PollFd::new(&self.pty, flags));
        }
        let is_full = HOST_INPUT_BYTES_MAX <= self.input.len();
        for client in &self.crowd.clients {
            // Who has had its turn is listened to again once what it said is done.
            let is_held_back = (is_full && self.crowd.writer == Some(client.id))
                || self.crowd.waiting.contains(&client.id);
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, client.is_open() && !is_held_back);
            flags.set(PollFlags::OUT, !client.queue.is_empty());
            if flags.is_empty() {
                // One that has left while it is not listened to would wake us for ever.
                continue;
            }
            sources.push(Source::Client(client.id));
            fds.push(PollFd::new(&client.stream, flags));
        }
        // Those who have gone make room for those who wait.
        sources.push(Source::Door);
        fds.push(PollFd::new(&self.door, PollFlags::IN));
        let due = self.due().map(|due| due.saturating_sub(self.clock.monotonic()));
        let timeout = due.map(|due| Timespec::try_from(due).unwrap_or_default());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let told = sources.into_iter().zip(fds.iter().map(PollFd::revents));
        Ok(told.filter(|(_, flags)| !flags.is_empty()).collect())
    }

    /// Returns the next moment at which something is due; none while nothing is.
    fn due(&self) -> Option<Duration> {
        if !self.crowd.waiting.is_empty() {
            return Some(Duration::ZERO);
        }
        let dues = [self.program.end.due(), self.paper.due(), self.program.watch.due()];
        let held = self.crowd.clients.iter().map(|client| client.sorter.due());
        dues.into_iter().chain(held).flatten().min()
    }

    fn meet(&mut self, source: Source, flags: PollFlags) {
        match source {
            Source::Program => self.see_end(),
            Source::Output if flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) => {
                self.read_output();
            }
            Source::Output => {}
            Source::Door => self.welcome(),
            Source::Signals => match signals::taken(&self.signals).ok().flatten() {
                Some(signal) if signal == Signal::USR1.as_raw() => self.open_door_again(),
                Some(_) => self.terminate(),
                None => {}
            },
            Source::Client(id) => self.hear(id, flags),
        }
    }

    /// Does what the events of one round have left to be done once.
    fn take_turns(&mut self) {
        self.follow_what_was_asked();
        let size = self.mirror.size();
        if size != self.size_told {
            self.size_told = size;
            // A terminal that cannot be told is one whose program has ended.
            self.pty.resize(size).ok();
            self.record(Told::Size(size));
        }
        self.release_keys();
        self.flush_input();
        self.write_paper_when_due();
        self.judge_when_due();
        self.kill_when_due();
        for idx in 0..self.crowd.clients.len() {
            self.crowd.clients[idx].flush();
            if self.crowd.clients[idx].queue.wants_snapshot() {
                self.resync(idx, screen::Depth::Screen);
                self.crowd.clients[idx].flush();
            }
        }
        self.forget_the_gone();
    }

    fn flush_input(&mut self) {
        while !self.input.is_empty() {
            let n_typed = self.pty.write(self.input.as_slices().0);
            if n_typed == 0 {
                return;
            }
            self.input.drain(..n_typed);
        }
        self.input = VecDeque::new();
    }

    /// Hears one client.
    fn hear(&mut self, id: u64, flags: PollFlags) {
        let Some(client) = self.crowd.find(id) else { return };
        if flags.contains(PollFlags::IN) {
            let mut buffer = [MaybeUninit::uninit(); READ_BYTES];
            let bytes = client.read(&mut buffer).unwrap_or_default();
            client.decoder.push(bytes);
            self.read_frames(id);
        } else if flags.contains(PollFlags::NVAL) || !client.is_open() {
            client.flow = Flow::Gone;
        }
        // One that has left and is not listened to at the moment is found deaf when it is written to.
    }
}

#[cfg(test)]
mod tests;
