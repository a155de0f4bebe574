//! A recording on a terminal, at the pace at which it happened.
//!
//! Space pauses; `q` and Ctrl-C end it. However it ends, the terminal is given back as it was. Not here:
//! the terminal's size, which is the person's.

use std::{io, os::fd::BorrowedFd, os::fd::OwnedFd, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Signal, getpid, kill_process},
    termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr},
};
use sandbox::signals;
use screen::{Depth, Levels, Mirror, Size};
use stdx::clock::Clock;
use vocab::outcome::{Effect, Failure};

use crate::{
    guard::Guard,
    record::{Event, Player, Reader, RecordingError, What},
};

/// How it is played.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How many times faster than it happened. Above zero.
    pub speed: f64,
    /// What a longer silence is shortened to, before the speed.
    pub idle: Option<Duration>,
}

/// How a replay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All of it was shown.
    Whole,
    /// The person has seen enough, or nobody reads it any more.
    Left,
    /// Ctrl-C, or a signal that asks to end.
    Interrupted,
}

/// A recording could not be played.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The terminal cannot be used.
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
}

impl ReplayError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Recording(error) => error.code(),
            Self::Terminal(_) => "terminal_unusable",
        }
    }

    /// Returns what changed: nothing that stays.
    #[must_use]
    pub fn effect(&self) -> Effect {
        Effect::NotStarted
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        Self::new(error.code(), error.effect(), error.to_string())
    }
}

impl From<Errno> for ReplayError {
    fn from(errno: Errno) -> Self {
        Self::Terminal(errno.into())
    }
}

/// Plays all that a reader has left. `guard` is that of a terminal that `out` is, and none where it is something
/// else.
///
/// # Errors
/// When the recording cannot be read or the terminal cannot be used.
pub fn run(
    reader: &mut Reader,
    options: Options,
    keys: BorrowedFd<'_>,
    out: BorrowedFd<'_>,
    guard: Option<&Guard>,
) -> Result<Ended, ReplayError> {
    let watched = [Signal::INT, Signal::TERM, Signal::HUP, Signal::TSTP, Signal::CONT];
    let signals = signals::watch(&watched)?;
    let is_seen = guard.is_some();
    let keys = Some(keys).filter(|keys| is_seen && isatty(keys));
    let raw = Some(Raw::enter(keys, out, guard)?);
    let clock = Clock::system();
    let due = clock.monotonic();
    let player = Player::default();
    let mut show = Show { keys, out, guard, raw, signals, clock, due, player };
    let mut ended = if is_seen { show.write(screen::KEEP_TITLE)? } else { None };
    if ended.is_none() {
        ended = show.play(reader, options)?;
    }
    show.leave()?;
    Ok(ended.unwrap_or(Ended::Whole))
}

/// A replay that goes on.
struct Show<'a> {
    keys: Option<BorrowedFd<'a>>,
    out: BorrowedFd<'a>,
    guard: Option<&'a Guard>,
    raw: Option<Raw<'a>>,
    signals: OwnedFd,
    clock: Clock,
    /// When the last event was shown, or should have been.
    due: Duration,
    player: Player,
}

impl Show<'_> {
    /// Shows event after event; returns why it ended early.
    fn play(
        &mut self,
        reader: &mut Reader,
        options: Options,
    ) -> Result<Option<Ended>, ReplayError> {
        let mut last = None;
        while let Some(event) = reader.read()? {
            let gap = event.at.saturating_sub(*last.get_or_insert(event.at));
            last = Some(event.at);
            let gap = options.idle.map_or(gap, |most| gap.min(most)).as_secs_f64() / options.speed;
            self.due += Duration::try_from_secs_f64(gap).unwrap_or_default();
            if let Some(ended) = self.wait()? {
                return Ok(Some(ended));
            }
            self.player.follow(&event);
            if let Some(bytes) = shown(&event)
                && let Some(ended) = self.write(bytes)?
            {
                return Ok(Some(ended));
            }
        }
        Ok(None)
    }

    /// Waits until the next event is due, longer while it is paused; returns why it ends now.
    fn wait(&mut self) -> Result<Option<Ended>, ReplayError> {
        let mut paused_at = None;
        loop {
            let left = self.due.saturating_sub(self.clock.monotonic());
            let timeout = Timespec::try_from(left).unwrap_or_default();
            let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
            if let Some(keys) = &self.keys {
                fds.push(PollFd::new(keys, PollFlags::IN));
            }
            match poll(&mut fds, paused_at.is_none().then_some(&timeout)) {
                Ok(0) => return Ok(None),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let told = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
            let (is_signal, is_key) = (told(0), told(1));
            if is_signal && self.is_told_to_end()? {
                return Ok(Some(Ended::Interrupted));
            }
            if !is_key {
                continue;
            }
            match self.read_key()? {
                None => {}
                Some(Key::Pause) => match paused_at.take() {
                    None => paused_at = Some(self.clock.monotonic()),
                    Some(at) => self.due += self.clock.monotonic().saturating_sub(at),
                },
                Some(Key::Leave) => return Ok(Some(Ended::Left)),
                Some(Key::Interrupt) => return Ok(Some(Ended::Interrupted)),
            }
        }
    }

    /// Takes the signals that have come, and tells whether one of them asks for the end.
    fn is_told_to_end(&mut self) -> Result<bool, ReplayError> {
        while let Some(number) = signals::taken(&self.signals)? {
            match Signal::from_named_raw(number) {
                Some(Signal::TSTP) => self.stop()?,
                Some(Signal::CONT) => self.enter()?,
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Gives the terminal back and stops until somebody lets this process go on, which is told by a signal of its
    /// own. That time is none of the recording's.
    fn stop(&mut self) -> Result<(), ReplayError> {
        let begun = self.clock.monotonic();
        self.leave()?;
        // It cannot fail for a process itself, and going on at once would do no harm.
        kill_process(getpid(), Signal::STOP).ok();
        self.due += self.clock.monotonic().saturating_sub(begun);
        Ok(())
    }

    /// Takes the terminal again, which somebody else has had meanwhile, and shows what was seen last.
    fn enter(&mut self) -> Result<(), ReplayError> {
        if self.guard.is_none() {
            return Ok(());
        }
        // What it was like is known where it was not given back.
        self.raw = match self.raw.take() {
            Some(raw) => Some(raw.again()?),
            None => Some(Raw::enter(self.keys, self.out, self.guard)?),
        };
        let seen = self.player.mirror().map(|mirror| self.fitting(mirror)).unwrap_or_default();
        self.write(screen::KEEP_TITLE)?;
        self.write(&seen).map(drop)
    }

    /// Returns what rebuilds a screen in a terminal of the person's size.
    fn fitting(&self, mirror: &Mirror) -> Vec<u8> {
        let seen = mirror.snapshot(Depth::Screen);
        let Ok(size) = tcgetwinsize(self.out) else { return seen };
        let mut fitting = Mirror::new(mirror.size());
        fitting.feed(&seen);
        fitting.resize(Size::clamped(size.ws_col, size.ws_row));
        fitting.snapshot(Depth::Screen)
    }

    /// Gives the terminal back as it was.
    fn leave(&mut self) -> Result<(), ReplayError> {
        if self.guard.is_some() {
            let levels = self.player.mirror().map_or(Levels::UNKNOWN, Mirror::levels);
            self.write(&screen::resets(levels))?;
            self.write(b"\r\n")?;
        }
        self.raw = None;
        Ok(())
    }

    fn read_key(&mut self) -> Result<Option<Key>, ReplayError> {
        let Some(keys) = self.keys else { return Ok(None) };
        let mut buffer = [0; 256];
        match rustix::io::read(keys, &mut buffer) {
            Ok(0) | Err(Errno::IO) => Ok(Some(Key::Leave)),
            Ok(n_bytes) => Ok(Key::of(&buffer[..n_bytes])),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Writes all of it; returns why that makes no sense any more.
    fn write(&mut self, mut bytes: &[u8]) -> Result<Option<Ended>, ReplayError> {
        while !bytes.is_empty() {
            match rustix::io::write(self.out, bytes) {
                Ok(n_bytes) => bytes = &bytes[n_bytes..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    poll(&mut [PollFd::new(&self.out, PollFlags::OUT)], None)?;
                }
                // The pipe's reader or the terminal is gone.
                Err(Errno::PIPE | Errno::IO) => return Ok(Some(Ended::Left)),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(None)
    }
}

/// Returns what of an event a terminal is told.
fn shown(event: &Event) -> Option<&[u8]> {
    match &event.what {
        What::Output(bytes) => Some(bytes),
        What::Keyframe(keyframe) if keyframe.is_jump && !keyframe.is_fresh => {
            Some(&keyframe.snapshot)
        }
        What::Keyframe(_)
        | What::Size { .. }
        | What::Marker(_)
        | What::Exit(_)
        | What::Gap { .. } => None,
    }
}

/// A key that means something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Pause,
    Leave,
    Interrupt,
}

impl Key {
    /// Reads one key press. What is replayed may make a terminal answer questions, or spell keys as numbers.
    fn of(bytes: &[u8]) -> Option<Self> {
        let (letter, is_control) = match bytes {
            [byte @ (0x03 | 0x1c)] => (byte + 0x60, true),
            [byte] => (*byte, false),
            [0x1b, b'[', spelled @ .., last @ (b'u' | b'~')] => {
                let spelled = std::str::from_utf8(spelled).ok()?;
                let mut numbers = spelled.split(';').map(|number| {
                    // After a colon stand other letters of the key, or whether it was released.
                    let mut parts = number.split(':').map(|part| part.parse::<u16>().unwrap_or(0));
                    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
                });
                let (first, second) = (numbers.next()?, numbers.next().unwrap_or((1, 0)));
                let (code, (modifiers, event)) = match (last, first.0) {
                    (b'~', 27) => (numbers.next()?.0, second),
                    (b'u', code) => (code, second),
                    _ => return None,
                };
                // Caps lock and num lock change nothing.
                let held = modifiers.saturating_sub(1) & !0b1100_0000;
                if event == 3 || !matches!(held, 0 | 4) {
                    return None;
                }
                (u8::try_from(code).ok()?, held == 4)
            }
            _ => return None,
        };
        match (letter, is_control) {
            (b' ', false) => Some(Self::Pause),
            (b'q', false) => Some(Self::Leave),
            (b'c' | b'|', true) => Some(Self::Interrupt),
            _ => None,
        }
    }
}

/// A terminal whose keys come one by one and are not shown, and which has a guard. Dropping it takes that back.
struct Raw<'a> {
    keys: Option<(BorrowedFd<'a>, Termios)>,
    guard: Option<&'a Guard>,
}

impl<'a> Raw<'a> {
    fn enter(
        keys: Option<BorrowedFd<'a>>,
        out: BorrowedFd<'a>,
        guard: Option<&'a Guard>,
    ) -> io::Result<Self> {
        let Some(guard) = guard else { return Ok(Self { keys: None, guard: None }) };
        let before = tcgetattr(keys.unwrap_or(out))?;
        let mut raw = before.clone();
        if keys.is_some() {
            raw.make_raw();
        }
        guard.arm(&before, &raw, &screen::resets(Levels::UNKNOWN))?;
        let entered = Self { keys: keys.map(|keys| (keys, before)), guard: Some(guard) };
        if let Some(keys) = keys {
            tcsetattr(keys, OptionalActions::Drain, &raw)?;
        }
        Ok(entered)
    }
}

impl Raw<'_> {
    /// Makes the terminal raw again.
    fn again(self) -> io::Result<Self> {
        if let Some((keys, before)) = &self.keys {
            let mut raw = before.clone();
            raw.make_raw();
            tcsetattr(keys, OptionalActions::Now, &raw)?;
        }
        Ok(self)
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        if let Some((keys, before)) = &self.keys {
            // What the terminal answered meanwhile is not for whoever reads next.
            tcsetattr(keys, OptionalActions::Flush, before).ok();
        }
        if let Some(guard) = self.guard {
            guard.disarm();
        }
    }
}

#[cfg(test)]
mod tests;
