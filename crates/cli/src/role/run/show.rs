//! Where a run is shown: to a person, or to a program as JSON lines.
//!
//! It prints; what is said is made in [`super::tell`].

use std::{io, time::Duration};

use serde_json::{Value, json};

use super::{
    drive::Ended,
    follow::Told,
    tell::{Piece, Teller},
};
use crate::print::{self, Look};

/// Who watches.
#[derive(Debug)]
pub(crate) struct Show {
    to: To,
    look: Look,
    live_line: bool,
    silent: bool,
}

#[derive(Debug)]
enum To {
    Person(Box<Teller>),
    Program,
}

impl Show {
    /// Shows it to a person.
    pub(crate) fn person(look: Look, thinking: bool) -> Self {
        Self {
            to: To::Person(Box::new(Teller::new(look, thinking))),
            look,
            live_line: false,
            silent: false,
        }
    }

    /// Prints every chunk as a line of JSON.
    pub(crate) fn json() -> Self {
        Self { to: To::Program, look: Look::of_process(), live_line: false, silent: false }
    }

    /// Returns how output looks.
    pub(crate) fn look(&self) -> Look {
        self.look
    }

    /// Tells whether a program watches.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.to, To::Program)
    }

    /// Begins or ends to listen without a word, to what was shown before.
    pub(crate) fn catch_up(&mut self, silent: bool) {
        self.silent = silent;
        if let (To::Person(teller), false) = (&mut self.to, silent) {
            teller.turn_page();
        }
    }

    /// Shows what the stream told.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub(crate) fn told(&mut self, told: &Told, now: Duration) -> io::Result<()> {
        match (&mut self.to, told) {
            (To::Person(teller), Told::Chunk(chunk)) if self.silent => {
                teller.take(chunk, now);
                Ok(())
            }
            (To::Program, _) if self.silent => Ok(()),
            (To::Program, Told::Session(value) | Told::Chunk(value)) => line(value),
            (To::Person(teller), Told::Chunk(chunk)) => {
                let pieces = teller.take(chunk, now);
                self.print(pieces)
            }
            _ => Ok(()),
        }
    }

    /// Tells a person at the terminal a line that is no part of the run.
    pub(crate) fn notice(&mut self, line: &str) {
        if self.look.err.terminal && !self.is_json() {
            self.clear_live_line();
            print::err(&format!("\n{line}\n"));
        }
    }

    /// Ends what is open.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        let mut pieces = Vec::new();
        if let To::Person(teller) = &mut self.to {
            teller.close(&mut pieces);
        }
        self.print(pieces)?;
        self.clear_live_line();
        Ok(())
    }

    /// Prints the last line of a program's output.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub(crate) fn end(&self, ended: &Ended) -> io::Result<()> {
        line(&json!({
            "type": "stead-end", "session_id": ended.session,
            "state": vocab::live::state_word(&ended.state), "run": ended.state, "usage": ended.usage,
        }))
    }

    fn print(&mut self, pieces: Vec<Piece>) -> io::Result<()> {
        for piece in pieces {
            self.clear_live_line();
            match piece {
                Piece::Out(text) => print::write_out(&text)?,
                Piece::Err(text) => print::err(&text),
                Piece::Live(text) => {
                    print::err(&text);
                    self.live_line = true;
                }
            }
        }
        Ok(())
    }

    fn clear_live_line(&mut self) {
        if std::mem::take(&mut self.live_line) {
            print::err("\r\x1b[2K");
        }
    }
}

fn line(value: &Value) -> io::Result<()> {
    print::write_out(&format!("{value}\n"))
}
