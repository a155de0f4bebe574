//! Scrollback: lines that have left the screen, as text with escapes in compressed blocks.
//!
//! A line here is what the program wrote up to its end, however often it wrapped; whoever shows it wraps
//! it anew. Cells would cost twenty times as much.

use std::collections::VecDeque;

use alacritty_terminal::{grid::Row, term::cell::Cell};
use vocab::limits::{
    SCREEN_HISTORY_BLOCK_BYTES, SCREEN_HISTORY_BYTES_MAX, SCREEN_HISTORY_LINES_MAX,
    SCREEN_LINE_BYTES_MAX,
};

use crate::paint::Painter;

/// Lines compressed together.
#[derive(Debug)]
struct Block {
    n_lines: usize,
    bytes: Box<[u8]>,
}

/// All lines, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    blocks: VecDeque<Block>,
    n_block_lines: usize,
    n_block_bytes: usize,
    /// Whole lines that are not compressed yet, each with a newline after it.
    fresh: Vec<u8>,
    n_fresh_lines: usize,
    /// The line whose end is still on the screen.
    open: Vec<u8>,
    painter: Painter,
}

impl History {
    /// Takes a row that leaves the screen. The row below it tells how it went on.
    pub(crate) fn push(&mut self, row: &Row<Cell>, next: Option<&Row<Cell>>) {
        self.painter.row(row, next, &mut self.open);
        if !self.painter.is_inside_line() || SCREEN_LINE_BYTES_MAX <= self.open.len() {
            self.close_line();
        }
    }

    /// Ends the line whose continuation is gone from the screen.
    pub(crate) fn end_line(&mut self) {
        if self.painter.is_inside_line() {
            self.close_line();
        }
    }

    /// Takes a line that would have been drawn and have left the screen at once. No line may be open.
    pub(crate) fn push_line(&mut self, paint: impl FnOnce(&mut Painter, &mut Vec<u8>)) {
        paint(&mut self.painter, &mut self.fresh);
        self.painter.end_line(&mut self.fresh);
        self.line_ended();
    }

    fn close_line(&mut self) {
        self.painter.break_line(&mut self.open);
        self.fresh.append(&mut self.open);
        self.line_ended();
    }

    fn line_ended(&mut self) {
        self.fresh.push(b'\n');
        self.n_fresh_lines += 1;
        if SCREEN_HISTORY_BLOCK_BYTES <= self.fresh.len() {
            self.compress();
        }
        // Where lines are short, whole blocks hold many: what is too old goes with its block.
        while self.blocks.front().is_some_and(|block| {
            let n_later = self.n_block_lines - block.n_lines + self.n_fresh_lines;
            SCREEN_HISTORY_LINES_MAX <= n_later || SCREEN_HISTORY_BYTES_MAX < self.n_block_bytes
        }) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(block) = self.blocks.pop_front() {
            self.n_block_lines -= block.n_lines;
            self.n_block_bytes -= block.bytes.len();
        }
    }

    fn compress(&mut self) {
        let bytes = lz4_flex::block::compress_prepend_size(&self.fresh).into_boxed_slice();
        self.n_block_lines += self.n_fresh_lines;
        self.n_block_bytes += bytes.len();
        self.blocks.push_back(Block { n_lines: self.n_fresh_lines, bytes });
        // One long line must not leave its room behind for ever.
        self.fresh.clear();
        self.fresh.shrink_to(SCREEN_HISTORY_BLOCK_BYTES);
        self.n_fresh_lines = 0;
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns how many whole lines there are.
    pub(crate) fn n_lines(&self) -> usize {
        (self.n_block_lines + self.n_fresh_lines).min(SCREEN_HISTORY_LINES_MAX)
    }

    /// Returns the line whose end is on the screen, and how its writer stands.
    pub(crate) fn open(&self) -> (&[u8], Painter) {
        (&self.open, self.painter.clone())
    }

    /// Shows every whole line, the oldest first.
    pub(crate) fn each_line(&self, mut show: impl FnMut(&[u8])) {
        let mut n_skipped = self.n_block_lines + self.n_fresh_lines - self.n_lines();
        let mut show_all = |text: &[u8]| {
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                if 0 < n_skipped {
                    n_skipped -= 1;
                } else {
                    show(&line[..line.len() - 1]);
                }
            }
        };
        for block in &self.blocks {
            show_all(&block.text());
        }
        show_all(&self.fresh);
    }

    /// Takes the youngest lines back, the open one last and without a newline.
    ///
    /// `first` is the cell at the screen's top, where the open line goes on.
    pub(crate) fn pop(&mut self, n_lines: usize, first: &Cell) -> Vec<u8> {
        self.painter.join(first, &mut self.open);
        while self.n_fresh_lines < n_lines {
            let Some(block) = self.blocks.pop_back() else { break };
            self.n_block_lines -= block.n_lines;
            self.n_block_bytes -= block.bytes.len();
            let mut text = block.text();
            text.append(&mut self.fresh);
            self.fresh = text;
            self.n_fresh_lines += block.n_lines;
        }
        let n_kept = self.n_fresh_lines.saturating_sub(n_lines);
        let start = match n_kept.checked_sub(1) {
            None => 0,
            Some(last) => {
                memchr::memchr_iter(b'\n', &self.fresh).nth(last).map_or(0, |newline| newline + 1)
            }
        };
        let mut popped = self.fresh.split_off(start);
        self.n_fresh_lines = n_kept;
        popped.append(&mut self.open);
        self.painter = Painter::default();
        popped
    }

    /// Returns the bytes that the compressed lines take.
    #[cfg(test)]
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_block_bytes + self.fresh.capacity() + self.open.capacity()
    }
}

impl Block {
    fn text(&self) -> Vec<u8> {
        // The block was compressed here and never left memory.
        lz4_flex::block::decompress_size_prepended(&self.bytes).unwrap_or_default()
    }
}
