//! A recording as an asciicast, the format of asciinema and its players, in both versions that are in use:
//! <https://docs.asciinema.org/manual/asciicast/v3/> and `/v2/`.
//!
//! Times are whole microseconds here and there, so that nothing is rounded and no error adds up. Not
//! here: files, and what a person is told meanwhile.

use std::{
    io::{self, Write},
    time::Duration,
};

use sandbox::report::signal_name;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Keyframe, Reader, RecordingError, What};
use crate::job::{ExitRecord, JobRecord};

/// What programs were told of their terminal.
const TERM: &str = "xterm-256color";

/// Which asciicast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Times since the beginning; the end is not told.
    V2,
    /// Times since the event before.
    V3,
}

/// A recording could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The export cannot be written.
    #[error("the export cannot be written: {0}")]
    Write(#[from] io::Error),
}

impl ExportError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Recording(error) => error.code(),
            Self::Write(_) => "export_failed",
        }
    }

    /// Returns what changed: a part of the export may be there.
    #[must_use]
    pub fn effect(&self) -> vocab::outcome::Effect {
        match self {
            Self::Recording(error) => error.effect(),
            Self::Write(_) => vocab::outcome::Effect::Indeterminate,
        }
    }
}

impl From<ExportError> for vocab::outcome::Failure {
    fn from(error: ExportError) -> Self {
        Self::new(error.code(), error.effect(), error.to_string())
    }
}

/// Writes all of a recording. `watch` is called now and then, to tell how far it is.
///
/// # Errors
/// When the recording cannot be read or the export cannot be written.
pub fn export(
    reader: &mut Reader,
    job: &JobRecord,
    version: Version,
    out: &mut dyn Write,
    watch: &mut dyn FnMut(&Reader),
) -> Result<(), ExportError> {
    let mut cast = Cast { out, version, size: (0, 0), last: Duration::ZERO, half: Vec::new() };
    let mut zero = None;
    while let Some(event) = reader.read()? {
        let first = zero.is_none();
        let at = event.at.saturating_sub(*zero.get_or_insert(event.at));
        match event.what {
            What::Keyframe(keyframe) => {
                watch(reader);
                if first {
                    cast.size = (keyframe.columns, keyframe.lines);
                    cast.header(&keyframe, job)?;
                }
                if keyframe.is_jump {
                    cast.jump(at, &keyframe)?;
                }
            }
            What::Output(bytes) => cast.output(at, &bytes)?,
            What::Size { columns, lines } => cast.resize(at, (columns, lines))?,
            What::Marker(text) => cast.event(at, "m", &text)?,
            What::Gap { n_bytes } => {
                cast.event(at, "m", &format!("{n_bytes} bytes were not recorded"))?;
            }
            What::Exit(exit) => cast.exit(at, &exit)?,
        }
    }
    let last = cast.last;
    cast.end_of_text(last)?;
    Ok(cast.out.flush()?)
}

/// A cast that is being written.
struct Cast<'a> {
    out: &'a mut dyn Write,
    version: Version,
    size: (u16, u16),
    /// When the last event was.
    last: Duration,
    /// The beginning of a character whose end has not come yet.
    half: Vec<u8>,
}

#[derive(Serialize)]
struct Header3<'a> {
    version: u8,
    term: Value,
    timestamp: i64,
    command: &'a str,
    title: &'a str,
    env: Map<String, Value>,
}

#[derive(Serialize)]
struct Header2<'a> {
    version: u8,
    width: u16,
    height: u16,
    timestamp: i64,
    command: &'a str,
    title: &'a str,
    env: Map<String, Value>,
}

impl Cast<'_> {
    fn header(&mut self, keyframe: &Keyframe, job: &JobRecord) -> io::Result<()> {
        let (width, height) = self.size;
        let timestamp = keyframe.wall.div_euclid(1_000);
        let command = command_line(&job.command);
        let mut env = Map::new();
        if let Some(shell) = job.env.get("SHELL") {
            env.insert("SHELL".into(), shell.as_str().into());
        }
        let (command, title) = (command.as_str(), job.name.as_str());
        match self.version {
            Version::V3 => {
                let term = json!({"cols": width, "rows": height, "type": TERM});
                self.line(&Header3 { version: 3, term, timestamp, command, title, env })
            }
            Version::V2 => {
                env.insert("TERM".into(), TERM.into());
                self.line(&Header2 { version: 2, width, height, timestamp, command, title, env })
            }
        }
    }

    /// Shows the whole, where the events before do not lead to it.
    fn jump(&mut self, at: Duration, keyframe: &Keyframe) -> io::Result<()> {
        self.end_of_text(at)?;
        self.resize(at, (keyframe.columns, keyframe.lines))?;
        if keyframe.is_fresh {
            return Ok(());
        }
        self.output(at, &keyframe.snapshot)
    }

    fn resize(&mut self, at: Duration, size: (u16, u16)) -> io::Result<()> {
        if self.size == size {
            return Ok(());
        }
        self.size = size;
        self.event(at, "r", &format!("{}x{}", size.0, size.1))
    }

    /// Writes output as the text that it is. A character that is cut is carried on to where it ends.
    fn output(&mut self, at: Duration, bytes: &[u8]) -> io::Result<()> {
        self.half.extend_from_slice(bytes);
        let (text, n_taken) = whole_text(&self.half);
        self.half.drain(..n_taken);
        if text.is_empty() { Ok(()) } else { self.event(at, "o", &text) }
    }

    /// Writes what never became a character.
    fn end_of_text(&mut self, at: Duration) -> io::Result<()> {
        let half = std::mem::take(&mut self.half);
        if half.is_empty() {
            return Ok(());
        }
        self.event(at, "o", &String::from_utf8_lossy(&half))
    }

    fn exit(&mut self, at: Duration, exit: &ExitRecord) -> io::Result<()> {
        self.end_of_text(at)?;
        match self.version {
            Version::V2 => Ok(()),
            Version::V3 => self.event(at, "x", &status(exit).to_string()),
        }
    }

    fn event(&mut self, at: Duration, code: &str, data: &str) -> io::Result<()> {
        let time = match self.version {
            Version::V2 => at,
            Version::V3 => at.saturating_sub(self.last),
        };
        self.last = at;
        let data = serde_json::to_string(data)?;
        let (seconds, micros) = (time.as_secs(), time.subsec_micros());
        writeln!(self.out, "[{seconds}.{micros:06},\"{code}\",{data}]")
    }

    fn line(&mut self, header: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self.out, header)?;
        self.out.write_all(b"\n")
    }
}

/// Returns the text of some bytes, up to a character at their end that may go on, and how many those are.
/// What is no text becomes the sign for that.
fn whole_text(bytes: &[u8]) -> (String, usize) {
    let mut text = String::with_capacity(bytes.len());
    let mut n_taken = 0;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        n_taken += chunk.valid().len();
        let invalid = chunk.invalid();
        let is_last = n_taken + invalid.len() == bytes.len();
        let may_go_on =
            std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
        if is_last && may_go_on {
            break;
        }
        if !invalid.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            n_taken += invalid.len();
        }
    }
    (text, n_taken)
}

/// Returns the status that a shell would tell.
fn status(exit: &ExitRecord) -> i32 {
    let by_signal = |name: &String| (1..=64).find(|number| signal_name(*number) == name);
    exit.code.or_else(|| Some(128 + exit.signal.as_ref().and_then(by_signal)?)).unwrap_or(1)
}

/// Returns a command as a person would type it.
pub(super) fn command_line(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
