//! What a job's program writes from now on, as it writes it: raw on a terminal, which is given back as it
//! was, and as plain text into a file or a pipe.
//!
//! Nothing is typed and no size is given. Not here: attaching, which shows the screen and types.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{Signal, getpid, kill_process},
    termios::tcgetattr,
};
use sandbox::signals;
use screen::{Levels, Mirror, Size};
use vocab::outcome::{Effect, Failure};

use crate::{
    ask::{AskError, Line},
    frame::{Frame, Kind},
    guard::Guard,
    hello::{self, Control, Reply, Resync, Role, State},
    job::ExitRecord,
    text,
};

mod plain;

use plain::Plain;

/// How following ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// With the job.
    Job(ExitRecord),
    /// The host was killed, or let go.
    Host,
    /// Nobody reads it any more.
    Left,
    /// Ctrl-C, or a signal that asks to end.
    Interrupted,
}

/// A job cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// Its host does not answer.
    #[error(transparent)]
    Host(#[from] AskError),
    /// What is shown cannot be written, or the system refuses to wait.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl FollowError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Host(error) => error.code(),
            Self::Output(_) => "output_failed",
        }
    }

    /// Returns what changed: nothing, since nobody is asked to do anything.
    #[must_use]
    pub fn effect(&self) -> Effect {
        Effect::NotStarted
    }
}

impl From<FollowError> for Failure {
    fn from(error: FollowError) -> Self {
        Self::new(error.code(), error.effect(), error.to_string())
    }
}

impl From<Errno> for FollowError {
    fn from(errno: Errno) -> Self {
        Self::Output(errno.into())
    }
}

/// Shows the screen's text as it is, then what comes, until the job ends. Where what came was not read in time
/// and is lost, `on_gap` is called and the screen's text as it is then follows.
///
/// `guard` is that of a terminal that `out` is, and none where it is something else.
///
/// # Errors
/// When the job has no host, or what is shown cannot be written.
pub fn run(
    socket: &Path,
    out: BorrowedFd<'_>,
    guard: Option<&Guard>,
    on_gap: &mut dyn FnMut(),
) -> Result<Ended, FollowError> {
    let mut watched = vec![Signal::INT, Signal::TERM, Signal::HUP];
    if guard.is_some() {
        // A terminal is given back before a stop; what goes elsewhere needs no such care.
        watched.extend([Signal::TSTP, Signal::CONT]);
    }
    let signals = signals::watch(&watched)?;
    let mut line = Line::connect(socket, Role::Tail)?;
    let mut tail = Tail {
        out,
        on_gap,
        guard,
        mirror: None,
        plain: Plain::default(),
        text: Text::Unasked,
        size: Size::clamped(80, 24),
        snapshot: None,
        is_inside_line: false,
        exit: None,
    };
    tail.enter(&mut line)?;
    let ended = tail.serve(&mut line, &signals);
    tail.leave()?;
    ended
}

/// What has become of the screen's text, after which the output goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Unasked,
    /// It was asked for, and the answer has not come.
    Asked,
    Shown,
}

/// Output that is followed.
struct Tail<'a> {
    out: BorrowedFd<'a>,
    /// Is told that something was lost.
    on_gap: &'a mut dyn FnMut(),
    /// The guard of the terminal, if it is one.
    guard: Option<&'a Guard>,
    /// What a terminal was told, so that it can be taken back.
    mirror: Option<Mirror>,
    plain: Plain,
    text: Text,
    /// The job's size.
    size: Size,
    /// A snapshot that comes in place of what was lost: so much of it, of so many bytes.
    snapshot: Option<(Vec<u8>, usize)>,
    /// The last line of text that was written goes on.
    is_inside_line: bool,
    exit: Option<ExitRecord>,
}

impl Tail<'_> {
    /// Takes the terminal, if it is one, and asks for what stands on the screen.
    fn enter(&mut self, line: &mut Line) -> Result<(), FollowError> {
        if let Some(guard) = self.guard {
            // Nothing is done to its modes; what the program writes is.
            let modes = tcgetattr(self.out)?;
            guard.arm(&modes, &modes, &screen::resets(Levels::UNKNOWN))?;
            self.mirror = Some(Mirror::new(Size::clamped(80, 24)));
            self.write(screen::KEEP_TITLE)?;
        }
        // Its answer stands where the text ends and the output goes on.
        if self.text != Text::Asked {
            self.text = Text::Asked;
            line.say(Kind::Control, &Control::Snapshot { whole: true })?;
        }
        Ok(())
    }

    /// Gives the terminal back as it was.
    fn leave(&mut self) -> Result<(), FollowError> {
        if let Some(mirror) = self.mirror.take() {
            self.write(&screen::resets(mirror.levels()))?;
        }
        if let Some(guard) = self.guard {
            guard.disarm();
        }
        Ok(())
    }

    /// Takes the signals that have come, and tells whether one of them asks for the end.
    fn is_told_to_end(&mut self, line: &mut Line, signals: &OwnedFd) -> Result<bool, FollowError> {
        while let Some(number) = signals::taken(signals)? {
            match Signal::from_named_raw(number) {
                Some(Signal::TSTP) => {
                    self.leave()?;
                    // It cannot fail for a process itself, and going on at once would do no harm.
                    kill_process(getpid(), Signal::STOP).ok();
                }
                // Somebody else has had the terminal meanwhile.
                Some(Signal::CONT) => {
                    self.leave()?;
                    self.enter(line)?;
                }
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    fn serve(&mut self, line: &mut Line, signals: &OwnedFd) -> Result<Ended, FollowError> {
        loop {
            while let Some(frame) = line.take()? {
                if let Some(ended) = self.meet(&frame)? {
                    return Ok(ended);
                }
            }
            // A reader that is gone shows as an error, also while nothing is written.
            let mut fds = [
                PollFd::new(signals, PollFlags::IN),
                PollFd::new(&self.out, PollFlags::empty()),
                PollFd::new(&line.stream, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let told = fds.map(|fd| !fd.revents().is_empty());
            match told {
                [true, ..] if self.is_told_to_end(line, signals)? => {
                    return Ok(Ended::Interrupted);
                }
                [_, true, _] => return Ok(Ended::Left),
                [.., true] if !line.read()? => {
                    return Ok(self.exit.take().map_or(Ended::Host, Ended::Job));
                }
                _ => {}
            }
        }
    }

    /// Does what a frame says; returns why it is the last.
    fn meet(&mut self, frame: &Frame) -> Result<Option<Ended>, FollowError> {
        match frame.kind {
            // What came before is on the screen already.
            Kind::Data if self.snapshot.is_some() => return self.begin_anew(&frame.payload),
            Kind::Data if self.text == Text::Shown => return self.show(&frame.payload),
            // A terminal is redrawn by the snapshot; a text would only be what stands there once more.
            Kind::Resync if self.text == Text::Shown && self.mirror.is_none() => {
                let told = hello::from_json(&frame.payload);
                let Resync { bytes } =
                    told.map_err(|failure| AskError::Malformed(failure.message))?;
                self.snapshot = Some((Vec::new(), bytes));
            }
            Kind::State => {
                if let Ok(State { cols, rows, .. }) = hello::from_json(&frame.payload) {
                    self.size = Size::clamped(cols, rows);
                }
            }
            Kind::Reply if self.text != Text::Shown => {
                self.text = Text::Shown;
                let reply = hello::from_json(&frame.payload);
                if let Ok(Reply::Snapshot { text }) = reply {
                    return self.show(text.replace('\n', "\r\n").as_bytes());
                }
            }
            Kind::Exit => self.exit = hello::from_json(&frame.payload).ok(),
            Kind::Detached => {
                return Ok(Some(self.exit.take().map_or(Ended::Host, Ended::Job)));
            }
            Kind::Data
            | Kind::Reply
            | Kind::Resync
            | Kind::Hello
            | Kind::Resize
            | Kind::Control
            | Kind::Focus => {}
        }
        Ok(None)
    }

    /// Takes the screen in place of what was lost, and goes on with its text.
    fn begin_anew(&mut self, bytes: &[u8]) -> Result<Option<Ended>, FollowError> {
        let Some((mut snapshot, n_bytes)) = self.snapshot.take() else { return Ok(None) };
        let (more, rest) = bytes.split_at(bytes.len().min(n_bytes - snapshot.len()));
        snapshot.extend_from_slice(more);
        if snapshot.len() < n_bytes {
            self.snapshot = Some((snapshot, n_bytes));
            return Ok(None);
        }
        let mut screen = Mirror::new(self.size);
        screen.feed(&snapshot);
        self.plain = Plain::default();
        let line_end = if self.is_inside_line { "\n" } else { "" };
        let ended = self.write(format!("{line_end}{}", text::whole(&screen)).as_bytes())?;
        (self.on_gap)();
        if ended.is_some() { Ok(ended) } else { self.show(rest) }
    }

    fn show(&mut self, bytes: &[u8]) -> Result<Option<Ended>, FollowError> {
        let Some(mirror) = &mut self.mirror else {
            let plain = self.plain.feed(bytes);
            self.is_inside_line = plain.last().map_or(self.is_inside_line, |last| *last != b'\n');
            return self.write(&plain);
        };
        mirror.feed(bytes);
        mirror.take_answers();
        mirror.take_events();
        self.write(bytes)
    }

    /// Writes all of it; returns why that makes no sense any more.
    fn write(&self, mut bytes: &[u8]) -> Result<Option<Ended>, FollowError> {
        while !bytes.is_empty() {
            match rustix::io::write(self.out, bytes) {
                Ok(n_bytes) => bytes = &bytes[n_bytes..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    poll(&mut [PollFd::new(&self.out, PollFlags::OUT)], None)?;
                }
                Err(Errno::PIPE | Errno::IO) => return Ok(Some(Ended::Left)),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(None)
    }
}
