//! A decoder for event streams: bytes in, events out.
//!
//! It does no I/O and knows no vendor. It follows the HTML standard (any of the three line ends, data
//! of several lines, comments, a byte order mark), ignores `id` and `retry`, and bounds what it keeps.

use vocab::limits::{SSE_EVENT_BYTES_MAX, SSE_LINE_BYTES_MAX};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its name; empty when the stream gave none.
    pub name: String,
    /// Its data, lines joined by line feeds.
    pub data: String,
}

/// A line or an event is larger than any that a vendor sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub struct TooLarge {
    /// The limit that was met.
    pub limit: usize,
}

/// The state between two chunks.
#[derive(Debug)]
pub struct Decoder {
    line: Vec<u8>,
    name: String,
    /// Absent until the event has a data line.
    data: Option<String>,
    after_cr: bool,
    first_line: bool,
    line_max: usize,
    event_max: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::with_limits(SSE_LINE_BYTES_MAX, SSE_EVENT_BYTES_MAX)
    }
}

impl Decoder {
    /// Returns a decoder with limits of its own.
    #[must_use]
    pub fn with_limits(line_max: usize, event_max: usize) -> Self {
        Self {
            line: Vec::new(),
            name: String::new(),
            data: None,
            after_cr: false,
            first_line: true,
            line_max,
            event_max,
        }
    }

    /// Takes the next bytes and appends the events that they complete.
    ///
    /// # Errors
    /// When a line or an event is too large; the stream is of no more use then.
    pub fn feed(&mut self, mut chunk: &[u8], out: &mut Vec<Event>) -> Result<(), TooLarge> {
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_cr) && chunk[0] == b'\n' {
                chunk = &chunk[1..];
                continue;
            }
            let Some(at) = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.keep(chunk);
            };
            self.keep(&chunk[..at])?;
            self.after_cr = chunk[at] == b'\r';
            chunk = &chunk[at + 1..];
            self.end_line(out)?;
        }
        Ok(())
    }

    /// Ends the stream: what stands unfinished counts as an event, as some servers leave out the last
    /// line ends. The caller judges whether it is whole.
    pub fn finish(&mut self) -> Option<Event> {
        let mut out = Vec::new();
        // Nothing is kept any more, so a limit met here changes nothing.
        if self.end_line(&mut out).is_ok() {
            self.dispatch(&mut out);
        }
        out.pop()
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + bytes.len() > self.line_max {
            return Err(TooLarge { limit: self.line_max });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, out: &mut Vec<Event>) -> Result<(), TooLarge> {
        let line = std::mem::take(&mut self.line);
        let mut bytes = line.as_slice();
        if std::mem::take(&mut self.first_line) {
            bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        }
        if bytes.is_empty() {
            self.dispatch(out);
        } else {
            self.field(bytes)?;
        }
        self.line = line;
        self.line.clear();
        Ok(())
    }

    fn field(&mut self, line: &[u8]) -> Result<(), TooLarge> {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                let value = String::from_utf8_lossy(value);
                let data = match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data
                    }
                    None => self.data.insert(String::new()),
                };
                if data.len() + value.len() > self.event_max {
                    return Err(TooLarge { limit: self.event_max });
                }
                data.push_str(&value);
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, out: &mut Vec<Event>) {
        let name = std::mem::take(&mut self.name);
        if let Some(data) = self.data.take() {
            out.push(Event { name, data });
        }
    }
}

#[cfg(test)]
mod tests;
