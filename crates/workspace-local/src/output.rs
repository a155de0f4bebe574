//! Collects the output of a command: its end for the model, all of it in an artifact, pieces of it for
//! whoever watches.
//!
//! Running the command is not here.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use vocab::limits::{PROGRESS_PENDING_BYTES_MAX, TOOL_TEXT_BYTES_MAX, TOOL_TEXT_LINES_MAX};

use crate::{
    artifact::{self, Store},
    truncate::{self, Bounds, Truncation},
};

/// What remains of the output.
pub(crate) struct Collected {
    /// Its end.
    pub(crate) text: String,
    pub(crate) truncation: Truncation,
    /// Bytes of the last line, where only its end was kept.
    pub(crate) last_line_bytes: u64,
    /// The name of the artifact that holds all of it.
    pub(crate) artifact: Option<String>,
    /// Bytes that were not kept, there or anywhere.
    pub(crate) dropped: u64,
}

/// Where the bytes are, as they came.
enum Kept {
    /// In memory, while they are few enough to need no artifact.
    Memory(Vec<u8>),
    Artifact(artifact::Writer),
    /// No artifact could be made. The command matters more than a copy of what it said.
    Nowhere {
        dropped: u64,
    },
}

/// Takes output as it arrives.
pub(crate) struct Collector {
    store: Store,
    /// Bytes of a character whose rest has not come.
    partial: Vec<u8>,
    tail: String,
    /// Bytes as they came.
    total_bytes: u64,
    /// Bytes of the text made of them, where each that is no text becomes three.
    text_bytes: u64,
    line_ends: u64,
    line_bytes: u64,
    last_line_bytes: u64,
    kept: Kept,
}

/// The end that is kept; the text shown is at most half of it.
const TAIL_BYTES: usize = 2 * TOOL_TEXT_BYTES_MAX;

impl Collector {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            partial: Vec::new(),
            tail: String::new(),
            total_bytes: 0,
            text_bytes: 0,
            line_ends: 0,
            line_bytes: 0,
            last_line_bytes: 0,
            kept: Kept::Memory(Vec::new()),
        }
    }

    /// Takes bytes and returns the text that is complete with them.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.keep_raw(bytes);
        self.partial.extend_from_slice(bytes);
        let cut = self.partial.len() - unfinished(&self.partial);
        let rest = self.partial.split_off(cut);
        let text =
            String::from_utf8_lossy(&std::mem::replace(&mut self.partial, rest)).into_owned();
        self.keep_text(&text);
        self.spill();
        text
    }

    fn keep_raw(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        match &mut self.kept {
            Kept::Memory(raw) => raw.extend_from_slice(bytes),
            Kept::Artifact(artifact) => artifact.push(bytes),
            Kept::Nowhere { dropped } => *dropped += bytes.len() as u64,
        }
    }

    fn keep_text(&mut self, text: &str) {
        self.text_bytes += text.len() as u64;
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
        self.line_ends += ends;
        match text.rfind('\n') {
            Some(end) => {
                let start = text.get(..end).and_then(|before| before.rfind('\n'));
                let length = (end - start.map_or(0, |at| at + 1)) as u64;
                let carried = if ends == 1 { self.line_bytes } else { 0 };
                self.last_line_bytes = length + carried;
                self.line_bytes = (text.len() - end - 1) as u64;
            }
            None => self.line_bytes += text.len() as u64,
        }
        self.tail.push_str(text);
        if self.tail.len() > 2 * TAIL_BYTES {
            let from = truncate::ceil_boundary(&self.tail, self.tail.len() - TAIL_BYTES);
            self.tail.drain(..from);
        }
    }

    /// Starts the artifact once the text shown can no longer be all of it.
    fn spill(&mut self) {
        let text_fits = self.text_bytes <= TOOL_TEXT_BYTES_MAX as u64
            && self.lines() <= TOOL_TEXT_LINES_MAX as u64;
        let Kept::Memory(raw) = &mut self.kept else { return };
        if text_fits && raw.len() <= TOOL_TEXT_BYTES_MAX {
            return;
        }
        let raw = std::mem::take(raw);
        self.kept = match self.store.create() {
            Ok(mut artifact) => {
                artifact.push(&raw);
                Kept::Artifact(artifact)
            }
            Err(_) => Kept::Nowhere { dropped: raw.len() as u64 },
        };
    }

    fn lines(&self) -> u64 {
        self.line_ends + u64::from(self.line_bytes > 0)
    }

    /// Ends the output.
    pub(crate) fn finish(mut self) -> Collected {
        let partial = std::mem::take(&mut self.partial);
        if !partial.is_empty() {
            let text = String::from_utf8_lossy(&partial).into_owned();
            self.keep_text(&text);
        }
        self.spill();
        let (text, mut facts) = truncate::tail(&self.tail, Bounds::TOOL);
        facts.total_bytes = self.total_bytes;
        facts.total_lines = self.lines();
        let text = text.strip_suffix('\n').unwrap_or(text).to_owned();
        let last_line_bytes =
            if self.line_bytes > 0 { self.line_bytes } else { self.last_line_bytes };
        let (artifact, dropped) = match &self.kept {
            Kept::Memory(_) => (None, 0),
            Kept::Artifact(artifact) => (Some(self.store.uri(artifact.id())), artifact.dropped()),
            Kept::Nowhere { dropped } => (None, *dropped),
        };
        Collected { text, truncation: facts, last_line_bytes, artifact, dropped }
    }
}

/// Returns how many bytes at the end begin a character without ending it.
fn unfinished(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let Some(byte) = bytes.get(bytes.len() - back) else { return 0 };
        let needs = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if needs > back { back } else { 0 };
    }
    0
}

/// Output on its way to a watcher. Whoever writes never waits.
#[derive(Default)]
pub(crate) struct Pending {
    text: Mutex<String>,
    pub(crate) more: Notify,
}

impl Pending {
    /// Adds text. Beyond the bound the oldest is dropped; the outcome holds the end anyway.
    pub(crate) fn push(&self, text: &str) {
        let mut pending = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        pending.push_str(text);
        if pending.len() > PROGRESS_PENDING_BYTES_MAX {
            let from =
                truncate::ceil_boundary(&pending, pending.len() - PROGRESS_PENDING_BYTES_MAX / 2);
            pending.drain(..from);
        }
        drop(pending);
        self.more.notify_one();
    }

    /// Takes what has come, if anything has.
    pub(crate) fn take(&self) -> Option<String> {
        let mut pending = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        Some(std::mem::take(&mut *pending)).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests;
