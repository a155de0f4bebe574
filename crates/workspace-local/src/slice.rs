//! Takes lines out of a stream without holding the rest of it.
//!
//! Opening files is not here, nor are the words about what was left out.

use std::io::{self, Read};

use vocab::limits::{READ_SCAN_BYTES_MAX, READ_SNIFF_BYTES};

use crate::truncate::{Bounds, Cut};

/// Which lines are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The first line, from 1.
    pub first: u64,
    /// How many at most, if the caller said so.
    pub limit: Option<u64>,
    /// What the text is held to.
    pub bounds: Bounds,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Whole lines, decoded.
    pub text: String,
    /// How many lines `text` holds.
    pub lines: u64,
    /// Which limit of the tool stopped it.
    pub cut: Option<Cut>,
    /// The size of the first wanted line where it alone is too long.
    pub long_line: Option<u64>,
    /// Lines of the whole stream; none when it was too large to count to its end.
    pub total_lines: Option<u64>,
    /// Whether a NUL byte stands at its beginning.
    pub binary: bool,
}

struct Scan {
    wanted: Wanted,
    line: Vec<u8>,
    line_bytes: u64,
    number: u64,
    done: bool,
    ends_with_newline: bool,
    found: Slice,
}

/// Reads lines. `alive` is asked between pieces; when it says no, the read ends as interrupted.
///
/// # Errors
/// When the reader fails or `alive` says no.
pub fn lines(reader: &mut dyn Read, wanted: Wanted, alive: &dyn Fn() -> bool) -> io::Result<Slice> {
    let mut scan = Scan::new(wanted);
    let mut buffer = vec![0_u8; 64 * 1024];
    let mut seen: u64 = 0;
    loop {
        if !alive() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let count = match reader.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let piece = buffer.get(..count).unwrap_or_default();
        if count == 0 {
            scan.end();
            return Ok(scan.found);
        }
        if seen == 0 {
            let sniff = piece.get(..READ_SNIFF_BYTES.min(count)).unwrap_or_default();
            if memchr::memchr(0, sniff).is_some() {
                scan.found.binary = true;
                return Ok(scan.found);
            }
        }
        seen += count as u64;
        scan.feed(piece);
        if scan.done && seen > READ_SCAN_BYTES_MAX {
            return Ok(scan.found);
        }
    }
}

impl Scan {
    fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            line: Vec::new(),
            line_bytes: 0,
            number: 1,
            done: wanted.limit == Some(0),
            ends_with_newline: false,
            found: Slice {
                text: String::new(),
                lines: 0,
                cut: None,
                long_line: None,
                total_lines: None,
                binary: false,
            },
        }
    }

    fn feed(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if self.done {
                // Only the count of lines matters from here on.
                self.number += memchr::memchr_iter(b'\n', piece).count() as u64;
                self.line_bytes = u64::from(piece.last() != Some(&b'\n'));
                return;
            }
            let end = memchr::memchr(b'\n', piece);
            let (part, rest) = piece.split_at(end.unwrap_or(piece.len()));
            self.line_bytes += part.len() as u64;
            if self.number >= self.wanted.first {
                let room = (self.wanted.bounds.bytes + 1).saturating_sub(self.line.len());
                self.line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
            }
            piece = rest;
            if end.is_some() {
                piece = rest.get(1..).unwrap_or_default();
                self.finish_line();
                self.ends_with_newline = true;
            }
        }
    }

    fn finish_line(&mut self) {
        if self.number >= self.wanted.first && !self.done {
            self.take();
        }
        self.line.clear();
        self.line_bytes = 0;
        self.number += 1;
    }

    fn take(&mut self) {
        let text = String::from_utf8_lossy(&self.line);
        let joint = usize::from(self.found.lines > 0);
        let bounds = self.wanted.bounds;
        if self.found.lines >= bounds.lines as u64 {
            self.found.cut = Some(Cut::Lines);
        } else if self.found.text.len() + joint + text.len() > bounds.bytes {
            self.found.cut = Some(Cut::Bytes);
            if self.found.lines == 0 {
                self.found.long_line = Some(self.line_bytes);
            }
        } else {
            if joint == 1 {
                self.found.text.push('\n');
            }
            self.found.text.push_str(&text);
            self.found.lines += 1;
        }
        self.ends_with_newline = false;
        self.done = self.found.cut.is_some() || self.wanted.limit == Some(self.found.lines);
    }

    fn end(&mut self) {
        let unfinished = self.line_bytes > 0;
        if unfinished && !self.done && self.number >= self.wanted.first {
            self.take();
        } else if !self.done && self.ends_with_newline && self.found.lines > 0 {
            // The whole rest was wanted, so that its last line end belongs to it.
            self.found.text.push('\n');
        }
        self.found.total_lines = Some(self.number - u64::from(!unfinished));
    }
}

#[cfg(test)]
mod tests;
