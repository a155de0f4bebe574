//! Reading a recording, whether its host is alive, gone or was killed: event by event, from any moment.
//!
//! One file is in memory at a time. Files may go while they are read, since a host removes its oldest;
//! a reader goes on with the next one, and says by a keyframe that something is missing.

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use stdx::state_file;
use vocab::{
    limits::{RECORD_FILE_BYTES_MAX, RECORD_SEGMENTS_MAX},
    outcome::{Effect, Failure},
};

use super::{
    Event, Keyframe, What,
    format::{self, Head, Strange},
};
use crate::job::JobFiles;

/// Names are looked at up to here; a host keeps far fewer.
const NAMES_MAX: usize = 2 * RECORD_SEGMENTS_MAX;

/// Returns the name of a recording's file.
pub(super) fn name(number: u32) -> String {
    format!("{number:08x}.rec")
}

/// Returns which files there are, the oldest first, with their sizes.
pub(super) fn segments(dir: &Path) -> io::Result<Vec<(u32, u64)>> {
    let mut found = Vec::new();
    for file in state_file::names(dir, None, NAMES_MAX)? {
        let hex = file.to_str().and_then(|file| file.strip_suffix(".rec"));
        let number = hex.filter(|hex| hex.len() == 8);
        let Some(number) = number.and_then(|hex| u32::from_str_radix(hex, 16).ok()) else {
            continue;
        };
        found.extend(state_file::size(&dir.join(file))?.map(|n_bytes| (number, n_bytes)));
    }
    Ok(found)
}

/// A recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A newer program has written it.
    #[error("{path} is of version {version}, which this program does not know")]
    Version {
        /// The file.
        path: PathBuf,
        /// What it says.
        version: u32,
    },
    /// The system said no.
    #[error("the recording cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl RecordingError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Version { .. } => "recording_version",
            Self::Io(_) => "recording_unusable",
        }
    }

    /// Returns what changed: nothing.
    #[must_use]
    pub fn effect(&self) -> Effect {
        Effect::NotStarted
    }
}

impl From<RecordingError> for Failure {
    fn from(error: RecordingError) -> Self {
        Self::not_started(error.code(), error.to_string())
    }
}

/// Reads a recording's events in their order. The first one is a keyframe.
#[derive(Debug)]
pub struct Reader {
    dir: PathBuf,
    segments: Vec<(u32, u64)>,
    /// The next file to be opened.
    next: usize,
    open: Option<Open>,
    /// When the first file's times are counted from.
    began: i64,
    /// The events before did not lead to where the next file begins.
    is_torn: bool,
    /// The youngest time told.
    at: Duration,
    ready: VecDeque<Event>,
}

/// The file that is read.
#[derive(Debug)]
struct Open {
    bytes: Vec<u8>,
    /// Where the next record begins.
    start: usize,
    head: Head,
    /// How much later than the recording its times are counted from.
    shift: Duration,
}

impl Reader {
    /// Opens a job's recording; none if there is nothing in it.
    ///
    /// # Errors
    /// When it cannot be read, or is of an unknown version.
    pub fn open(files: &JobFiles) -> Result<Option<Self>, RecordingError> {
        let dir = files.recording();
        // Not followed where it leads elsewhere.
        state_file::check_private(files.dir())?;
        let segments = segments(&dir)?;
        let mut reader = Self {
            dir,
            segments,
            next: 0,
            open: None,
            began: 0,
            is_torn: true,
            at: Duration::ZERO,
            ready: VecDeque::new(),
        };
        let Some(first) = reader.find_first()? else { return Ok(None) };
        reader.began = first;
        reader.rewind(0);
        Ok(Some(reader))
    }

    /// Returns the time of day at which it begins, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn began(&self) -> i64 {
        self.began
    }

    /// Returns how many bytes of how many have been read, for whoever waits.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        let sum = |segments: &[(u32, u64)]| segments.iter().map(|(_, n_bytes)| n_bytes).sum();
        (sum(&self.segments[..self.next]), sum(&self.segments))
    }

    /// Returns the next event; none at the end.
    ///
    /// # Errors
    /// When a file cannot be read, or is of an unknown version.
    pub fn read(&mut self) -> Result<Option<Event>, RecordingError> {
        loop {
            if let Some(mut event) = self.ready.pop_front() {
                // Clocks of two hosts need not agree; time goes one way all the same.
                event.at = event.at.max(self.at);
                self.at = event.at;
                return Ok(Some(event));
            }
            if self.open.is_none() && !self.open_next()? {
                return Ok(None);
            }
            self.take_record();
        }
    }

    /// Goes to the last keyframe that is not later than a moment, or else to the first one. It is the next
    /// event read.
    ///
    /// # Errors
    /// When a file cannot be read, or is of an unknown version.
    pub fn seek(&mut self, to: Duration) -> Result<(), RecordingError> {
        self.seek_in_segments(|open| open.last_keyframe(to))
    }

    /// Goes to where the last file begins, which is a keyframe with the scrollback.
    pub(super) fn seek_last_segment(&mut self) -> Result<(), RecordingError> {
        self.seek_in_segments(|open| open.last_keyframe(Duration::MAX).map(|_| open.start))
    }

    fn seek_in_segments(
        &mut self,
        find: impl Fn(&Open) -> Option<usize>,
    ) -> Result<(), RecordingError> {
        for idx in (0..self.segments.len()).rev() {
            self.rewind(idx);
            if !self.open_next()? || self.next != idx + 1 {
                continue;
            }
            if let Some((open, start)) = self.open.as_mut().and_then(|open| {
                let start = find(open)?;
                Some((open, start))
            }) {
                open.start = start;
                return Ok(());
            }
        }
        self.rewind(0);
        Ok(())
    }

    fn rewind(&mut self, idx: usize) {
        (self.next, self.open, self.is_torn) = (idx, None, true);
        (self.at, self.ready) = (Duration::ZERO, VecDeque::new());
    }

    /// Returns when the first file that can be read begins.
    fn find_first(&mut self) -> Result<Option<i64>, RecordingError> {
        let found = self.open_next()?;
        Ok(self.open.as_ref().filter(|_| found).map(|open| open.head.began))
    }

    /// Opens the next file that has something to tell; false if there is none.
    fn open_next(&mut self) -> Result<bool, RecordingError> {
        while let Some((number, _)) = self.segments.get(self.next).copied() {
            let follows = self
                .next
                .checked_sub(1)
                .is_some_and(|before| self.segments[before].0.checked_add(1) == Some(number));
            self.next += 1;
            let path = self.dir.join(name(number));
            let opened = match state_file::read(&path, RECORD_FILE_BYTES_MAX)? {
                Some(bytes) => Open::read(bytes),
                None => Err(Strange::Foreign),
            };
            match opened {
                Ok(mut open) => {
                    let later = open.head.began.saturating_sub(self.began);
                    open.shift = Duration::from_millis(u64::try_from(later).unwrap_or(0));
                    self.is_torn |= !follows || !open.head.continues;
                    self.open = Some(open);
                    return Ok(true);
                }
                Err(Strange::Version(version)) => {
                    return Err(RecordingError::Version { path, version });
                }
                // It went meanwhile, or its host was killed before it was begun.
                Err(Strange::Foreign) => self.is_torn = true,
            }
        }
        Ok(false)
    }

    /// Takes one record of the open file.
    fn take_record(&mut self) {
        let Some(open) = &mut self.open else { return };
        let mut rest = open.bytes.get(open.start..).unwrap_or_default();
        let n_left = rest.len();
        let taken = format::take_record(&mut rest).and_then(|(kind, payload)| {
            let n_taken = n_left - rest.len();
            let packed = matches!(kind, format::KEYFRAME | format::BLOCK);
            if !packed {
                return Some((n_taken, Vec::new()));
            }
            let at = format::time_of(payload)?.saturating_add(open.shift);
            let body = format::unpack(payload)?;
            let events = if kind == format::KEYFRAME {
                let keyframe = format::read_keyframe(&body)?;
                vec![Event { at, what: What::Keyframe(keyframe) }]
            } else {
                format::read_block(at, &body)
            };
            Some((n_taken, events))
        });
        let Some((n_taken, events)) = taken else {
            // What is cut may have been followed by more than was ever written.
            self.is_torn |= 0 < n_left;
            self.open = None;
            return;
        };
        open.start += n_taken;
        for mut event in events {
            if let What::Keyframe(Keyframe { is_jump, .. }) = &mut event.what {
                *is_jump = std::mem::take(&mut self.is_torn);
            }
            // Nothing can be made of events that follow nowhere.
            if !self.is_torn {
                self.ready.push_back(event);
            }
        }
    }
}

impl Open {
    fn read(bytes: Vec<u8>) -> Result<Self, Strange> {
        let start = format::after_preamble(&bytes)?;
        let mut rest = bytes.get(start..).unwrap_or_default();
        let head = format::take_record(&mut rest)
            .filter(|(kind, _)| *kind == format::HEAD)
            .and_then(|(_, payload)| format::read_head(payload))
            .ok_or(Strange::Foreign)?;
        let start = bytes.len() - rest.len();
        Ok(Self { bytes, start, head, shift: Duration::ZERO })
    }

    /// Returns where the last keyframe begins that is not later than a moment.
    fn last_keyframe(&self, to: Duration) -> Option<usize> {
        let mut rest = self.bytes.get(self.start..)?;
        let mut found = None;
        loop {
            let start = self.bytes.len() - rest.len();
            let Some((kind, payload)) = format::take_record(&mut rest) else { return found };
            let at = format::time_of(payload).map(|at| at.saturating_add(self.shift));
            if kind == format::KEYFRAME && at.is_some_and(|at| at <= to) {
                found = Some(start);
            }
        }
    }
}
