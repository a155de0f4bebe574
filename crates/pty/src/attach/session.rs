//! One connection to a host, shown on a terminal: what the program writes goes there, what is typed goes to
//! the program.
//!
//! While the terminal is stuck the host is not read, which resynchronises a client that falls behind; keys
//! are read all the same. Not here: taking the terminal and giving it back.

use std::os::fd::OwnedFd;

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::Signal,
};
use sandbox::signals;
use vocab::outcome::{Effect, Failure};

use super::{
    By, Options, Outcome,
    crop::Crop,
    keys::{Heard, Keys},
    link::Link,
    terminal::{Read, Terminal},
};
use crate::{
    frame::{Frame, Kind},
    hello::{self, Detached, Hello, PROTOCOL, Reason, Resize, Role},
    job::ExitRecord,
};

/// How much is read from the terminal at once; the kernel keeps no more for it.
const READ_BYTES: usize = 4 << 10;

/// How a connection has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// For good.
    Out(Outcome),
    /// The client is to stop until it is told to go on.
    Stop,
    /// The client was stopped, and somebody else had the terminal meanwhile.
    Again,
}

pub(super) struct Session<'a> {
    terminal: &'a Terminal,
    signals: &'a OwnedFd,
    link: Link,
    keys: Keys,
    role: Role,
    size: (u32, u32),
    /// What the terminal has not taken yet, from `n_shown` on.
    shown: Vec<u8>,
    n_shown: usize,
    /// A snapshot has come before.
    is_drawn: bool,
    exit: Option<ExitRecord>,
    crop: Crop,
}

/// What is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Signals,
    Input,
    Link,
    Output,
}

impl<'a> Session<'a> {
    /// Says hello.
    pub(super) fn begin(
        mut link: Link,
        terminal: &'a Terminal,
        signals: &'a OwnedFd,
        options: &Options,
    ) -> Self {
        let (cols, rows) = terminal.size();
        let hello = Hello {
            // It is said apart, before the terminal is taken.
            within: None,
            role: options.role,
            cols: Some(cols),
            rows: Some(rows),
            protocol: PROTOCOL,
            features: hello::FEATURES.iter().map(|feature| (*feature).to_owned()).collect(),
            steal: options.steal,
            scrollback: options.scrollback,
            terminal: Some(options.terminal.told(terminal.cell())),
        };
        link.say(Kind::Hello, &hello::to_json(&hello));
        let keys = Keys::new(options.detach.clone());
        let (role, size, shown) = (options.role, (cols, rows), Vec::new());
        Self {
            terminal,
            signals,
            link,
            keys,
            role,
            size,
            shown,
            n_shown: 0,
            is_drawn: false,
            exit: None,
            crop: Crop::default(),
        }
    }

    /// Shows the job until something ends that.
    ///
    /// # Errors
    /// When the host refuses this client, or says what cannot be understood.
    pub(super) fn show(&mut self) -> Result<End, Failure> {
        loop {
            let ready = self.wait()?;
            if ready.contains(&Source::Signals)
                && let Some(end) = self.take_signals()
            {
                return Ok(end);
            }
            if ready.contains(&Source::Input)
                && let Some(outcome) = self.hear()
            {
                return Ok(End::Out(outcome));
            }
            self.link.flush();
            if ready.contains(&Source::Link) && self.is_shown() {
                self.link.read();
            }
            if let Some(outcome) = self.write_frames()? {
                return Ok(End::Out(outcome));
            }
        }
    }

    /// Leaves, with everything typed that was.
    pub(super) fn finish(self) {
        self.link.finish();
    }

    fn is_shown(&self) -> bool {
        self.shown.is_empty()
    }

    fn wait(&self) -> Result<Vec<Source>, Failure> {
        let mut sources = vec![Source::Signals, Source::Input];
        let mut input = PollFlags::empty();
        input.set(PollFlags::IN, self.link.has_room());
        let mut fds = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::from_borrowed_fd(self.terminal.input(), input),
        ];
        let mut link = PollFlags::empty();
        link.set(PollFlags::IN, self.is_shown());
        link.set(PollFlags::OUT, self.link.has_unsent());
        // A host that has hung up would wake us for ever while the terminal is stuck.
        if !link.is_empty() {
            sources.push(Source::Link);
            fds.push(PollFd::new(&self.link, link));
        }
        if !self.is_shown() {
            sources.push(Source::Output);
            fds.push(PollFd::from_borrowed_fd(self.terminal.output(), PollFlags::OUT));
        }
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(errno) => {
                let why = format!("the client cannot wait: {errno}");
                return Err(Failure::new("attach_failed", Effect::Indeterminate, why));
            }
        }
        let told = sources.into_iter().zip(fds.iter().map(PollFd::revents));
        Ok(told.filter(|(_, flags)| !flags.is_empty()).map(|(source, _)| source).collect())
    }

    fn take_signals(&mut self) -> Option<End> {
        while let Ok(Some(number)) = signals::taken(self.signals) {
            match Signal::from_named_raw(number) {
                Some(Signal::WINCH) => self.resize(),
                Some(Signal::TSTP) => return Some(End::Stop),
                Some(Signal::CONT) => return Some(End::Again),
                Some(Signal::HUP) => return Some(End::Out(Outcome::TerminalGone)),
                _ => return Some(End::Out(Outcome::Interrupted)),
            }
        }
        None
    }

    fn resize(&mut self) {
        let size = self.terminal.size();
        if size != self.size {
            self.size = size;
            self.crop.resize(size);
            // One that only looks changes nothing by it, and gets a picture for its new size.
            let (cols, rows) = size;
            self.link.say(Kind::Resize, &hello::to_json(&Resize { cols, rows }));
        }
    }

    /// Reads what was typed, until the terminal has nothing more or the host has enough.
    fn hear(&mut self) -> Option<Outcome> {
        let mut buffer = [0; READ_BYTES];
        loop {
            let (mut typed, mut is_last) = (Vec::new(), false);
            let read = self.terminal.read(&mut buffer);
            let heard = match read {
                Read::Bytes(n_bytes) => {
                    is_last = n_bytes < READ_BYTES / 8;
                    self.keys.hear(buffer.get(..n_bytes).unwrap_or_default(), &mut typed)
                }
                Read::Nothing => {
                    self.keys.pause(&mut typed);
                    Heard::Passed
                }
                Read::End => return Some(Outcome::TerminalGone),
            };
            if self.role == Role::Attach && !typed.is_empty() {
                self.link.say(Kind::Data, &typed);
            }
            if heard == Heard::Detach {
                return Some(Outcome::Detached(By::Key));
            }
            // So little is a key, and all there is; but what may be half of one is looked at twice.
            let is_done = read == Read::Nothing || (is_last && self.keys.is_between());
            if is_done || !self.link.has_room() {
                return None;
            }
        }
    }

    /// Writes what the host has sent, as far as the terminal takes it.
    fn write_frames(&mut self) -> Result<Option<Outcome>, Failure> {
        loop {
            while !self.is_shown() {
                let rest = self.shown.get(self.n_shown..).unwrap_or_default();
                match self.terminal.write(rest) {
                    Ok(0) => return Ok(None),
                    Ok(n_bytes) if n_bytes == rest.len() => self.shown = Vec::new(),
                    Ok(n_bytes) => self.n_shown += n_bytes,
                    Err(_) => return Ok(Some(Outcome::TerminalGone)),
                }
            }
            match self.link.take() {
                Ok(Some(frame)) => {
                    if let Some(outcome) = self.take_frame(frame)? {
                        return Ok(Some(outcome));
                    }
                }
                Ok(None) if self.link.is_ended() => {
                    // One that had told how its program ended has ended with it.
                    return Ok(Some(self.exit.take().map_or(Outcome::HostGone, Outcome::ended)));
                }
                Ok(None) => match self.crop.paint() {
                    Some(painted) => (self.shown, self.n_shown) = (painted, 0),
                    None => return Ok(None),
                },
                Err(long) => {
                    return Err(Failure::new(long.code(), long.effect(), long.to_string()));
                }
            }
        }
    }

    fn take_frame(&mut self, frame: Frame) -> Result<Option<Outcome>, Failure> {
        match frame.kind {
            Kind::Data if self.crop.feed(&frame.payload) => {}
            Kind::Data => (self.shown, self.n_shown) = (frame.payload, 0),
            Kind::State => self.crop.hear(&frame.payload),
            Kind::Resync => {
                let is_painted = self.crop.begin(&frame.payload, self.size);
                if std::mem::replace(&mut self.is_drawn, true) && !is_painted {
                    (self.shown, self.n_shown) = (screen::retitle(), 0);
                }
            }
            Kind::Exit => self.exit = Some(hello::from_json(&frame.payload)?),
            Kind::Detached => {
                let Detached { reason, error } = hello::from_json(&frame.payload)?;
                return match (reason, self.exit.take()) {
                    (Reason::Exit, Some(exit)) => Ok(Some(Outcome::ended(exit))),
                    (Reason::Exit, None) => Ok(Some(Outcome::HostGone)),
                    (Reason::Takeover, _) => Ok(Some(Outcome::Detached(By::Takeover))),
                    (Reason::Request, _) => Ok(Some(Outcome::Detached(By::Request))),
                    (Reason::Refused, _) => Err(error.unwrap_or_else(|| {
                        Failure::not_started("refused", "the host refused this client")
                    })),
                };
            }
            // Said to hosts, or not asked for.
            Kind::Reply | Kind::Hello | Kind::Resize | Kind::Control | Kind::Focus => {}
        }
        Ok(None)
    }
}
