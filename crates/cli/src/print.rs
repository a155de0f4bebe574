//! The doors to standard output and standard error, and what is known about the terminals behind them.
//!
//! What a model, a tool or a repository said passes [`clean`] before it reaches a terminal. Nothing
//! here knows a session.

pub(crate) mod clean;
pub(crate) mod markdown;
pub(crate) mod table;
pub(crate) mod width;
pub(crate) mod words;

use std::{
    io::{self, IsTerminal as _, Write as _},
    os::fd::AsFd,
    process::ExitCode,
};

use crate::{env, exit};

/// The width that is assumed where none can be asked for.
const WIDTH_DEFAULT: usize = 80;

/// Prints a result. A reader that closed the pipe has seen enough: that is no failure.
pub(crate) fn out(text: &str) -> ExitCode {
    match write_out(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            err(&format!("stead: standard output cannot be written: {error}\n"));
            ExitCode::from(exit::FAILED)
        }
    }
}

/// Prints a piece of a result, for those who stop when nobody reads any more.
pub(crate) fn write_out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Tells whether standard output is a pipe, a socket or a terminal whose reader is gone.
pub(crate) fn nobody_reads() -> bool {
    has_no_reader(io::stdout())
}

fn has_no_reader(out: impl AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut look = [PollFd::new(&out, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    // A pipe tells it as an error, a socket and a terminal as a hangup.
    let gone = PollFlags::ERR | PollFlags::HUP;
    poll(&mut look, Some(&at_once)).is_ok() && look[0].revents().intersects(gone)
}

/// Prints what is no result. When standard error is gone, there is nobody left to tell.
pub(crate) fn err(text: &str) {
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

/// Prints a value as one JSON document.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> ExitCode {
    match serde_json::to_string_pretty(value) {
        Ok(text) => out(&format!("{text}\n")),
        Err(error) => {
            err(&format!("stead: the answer cannot be written as JSON: {error}\n"));
            ExitCode::from(exit::FAILED)
        }
    }
}

/// Whether text may carry colors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Style(pub(crate) bool);

impl Style {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Makes it stand out.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Makes it stand back.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Marks code and names.
    pub(crate) fn code(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// Marks a failure.
    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    /// Marks what was added.
    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }
}

/// One stream: whether a person watches it, and with which colors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Face {
    /// Whether it is a terminal.
    pub(crate) terminal: bool,
    /// Its colors.
    pub(crate) style: Style,
}

/// How output looks: both streams and the width of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Standard output.
    pub(crate) out: Face,
    /// Standard error.
    pub(crate) err: Face,
    /// Columns.
    pub(crate) width: usize,
}

impl Look {
    /// Looks at the streams of this process.
    pub(crate) fn of_process() -> Self {
        let face = |terminal: bool| Face { terminal, style: Style(env::colors(terminal)) };
        let (out, err) = (io::stdout(), io::stderr());
        let size = |fd| rustix::termios::tcgetwinsize(fd).ok().map(|size| usize::from(size.ws_col));
        let width = size(rustix::stdio::stdout())
            .or_else(|| size(rustix::stdio::stderr()))
            .filter(|columns| *columns > 0)
            .unwrap_or(WIDTH_DEFAULT);
        Self { out: face(out.is_terminal()), err: face(err.is_terminal()), width }
    }

    /// Returns how wide a table may be: as wide as the terminal, or as it likes where there is none.
    pub(crate) fn table_width(&self) -> usize {
        if self.out.terminal { self.width } else { usize::MAX }
    }
}

/// Tells whether standard input is a terminal.
pub(crate) fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// The line on the readiness pipe, and with a pid the note in the file of turns, of a daemon that is busy
/// with its database: whoever waits for it may have to wait long, and must not end it.
pub(crate) const CHECKING: &str = "checking";

/// Says to the starter, and to those who wait for their turn, that the database is being checked.
pub(crate) fn checking_while_others_wait() {
    write_out(&format!("{CHECKING}\n")).ok();
    // Standard input is the starter's turn.
    let note = format!("{CHECKING} {}", std::process::id());
    rustix::io::pwrite(rustix::stdio::stdin(), note.as_bytes(), 0).ok();
}

/// Says to a person that the database is being checked.
pub(crate) fn checking() {
    err("stead: the database is being checked, since it was not closed cleanly or is of an older \
         version; with a large one this takes minutes\n");
}

/// Says to the starter that the daemon is ready, and lets go of its pipe.
pub(crate) fn ready_and_detach() -> std::io::Result<()> {
    let mut stdout = std::io::stdout();
    // The starter may be gone by now. Others may have found us already, so that is no reason to end.
    stdout.write_all(b"ready\n").and_then(|()| stdout.flush()).ok();
    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())?;
    // Standard input is the starter's turn: giving it up, without the note that stood on it, lets the
    // next starter look.
    rustix::fs::ftruncate(rustix::stdio::stdin(), 0).ok();
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(writer: impl AsFd, reader: impl Sized) {
        assert!(!has_no_reader(&writer));
        drop(reader);
        assert!(has_no_reader(&writer));
    }

    #[test]
    fn a_reader_that_is_gone_is_seen_on_a_pipe_and_on_a_socket() {
        let (reader, writer) = io::pipe().unwrap();
        check(writer, reader);
        let (writer, reader) = std::os::unix::net::UnixStream::pair().unwrap();
        check(writer, reader);
    }
}
