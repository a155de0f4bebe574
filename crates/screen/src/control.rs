//! Control characters and two-character escapes: moving the cursor, tab stops, character sets.
//!
//! Sequences with parameters are read in `csi`.

use crate::{
    events::{Event, Query},
    modes::Mode,
    sets::Sets,
    terminal::Terminal,
};

impl Terminal {
    pub(crate) fn control(&mut self, byte: u8) {
        match byte {
            0x07 => self.outbox.tell(Event::Bell),
            0x08 => self.place(self.line(), self.column().saturating_sub(1)),
            0x09 => self.tab_forward(1),
            0x0a..=0x0c => {
                self.line_feed();
                if self.modes.has(Mode::NewLine) {
                    self.place(self.line(), 0);
                }
            }
            0x0d => self.place(self.line(), 0),
            0x0e => self.sets.shift(1),
            0x0f => self.sets.shift(0),
            _ => (),
        }
    }

    pub(crate) fn escape(&mut self, intermediates: &[u8], byte: u8) {
        match (intermediates, byte) {
            ([], b'7') => self.save_cursor(),
            ([], b'8') => self.restore_cursor(),
            ([], b'=') => self.modes.put(Mode::Keypad, true),
            ([], b'>') => self.modes.put(Mode::Keypad, false),
            ([], b'D') => self.line_feed(),
            ([], b'E') => {
                self.line_feed();
                self.place(self.line(), 0);
            }
            ([], b'H') => {
                let column = self.column();
                self.frame.tabs[column] = true;
            }
            ([], b'M') => self.reverse_line_feed(),
            ([], b'Z') => self.answer_attributes(None),
            ([], b'c') => self.reset(),
            ([], b'n') => self.sets.shift(2),
            ([], b'o') => self.sets.shift(3),
            ([b'#'], b'8') => self.fill_with_e(),
            ([which], letter) => self.sets.designate(*which, letter),
            _ => (),
        }
    }

    /// Goes one line up, scrolling at the top of the region.
    fn reverse_line_feed(&mut self) {
        self.grid.cursor.input_needs_wrap = false;
        if self.line() == self.frame.region.start {
            self.scroll_down(1);
        } else if 0 < self.line() {
            self.grid.cursor.point.line -= 1;
        }
    }

    /// Goes up within the margins, or to the screen's edge from outside of them.
    pub(crate) fn go_up(&mut self, n_lines: usize) {
        let line = self.line();
        let top = if line < self.frame.region.start { 0 } else { self.frame.region.start };
        self.place(line.saturating_sub(n_lines).max(top), self.column());
    }

    pub(crate) fn go_down(&mut self, n_lines: usize) {
        let line = self.line();
        let end = self.frame.region.end;
        let bottom = if line < end { end } else { self.n_lines() };
        self.place((line + n_lines).min(bottom - 1), self.column());
    }

    /// Goes to a place as the program counts it: from the region's top in origin mode.
    pub(crate) fn go_to(&mut self, line: usize, column: usize) {
        if self.modes.has(Mode::Origin) {
            let region = self.frame.region.clone();
            self.place((region.start + line).min(region.end - 1), column);
        } else {
            self.place(line, column);
        }
    }

    /// Moves to a later tab stop. What is about to wrap stays so.
    pub(crate) fn tab_forward(&mut self, n_tabs: usize) {
        if self.grid.cursor.input_needs_wrap {
            return;
        }
        for _ in 0..n_tabs.min(self.n_columns()) {
            let start = self.column() + 1;
            let next = (start..self.n_columns()).find(|column| self.frame.tabs[*column]);
            self.place(self.line(), next.unwrap_or(self.n_columns() - 1));
        }
    }

    pub(crate) fn tab_backward(&mut self, n_tabs: usize) {
        for _ in 0..n_tabs.min(self.n_columns()) {
            let previous = (0..self.column()).rev().find(|column| self.frame.tabs[*column]);
            self.place(self.line(), previous.unwrap_or(0));
        }
    }

    pub(crate) fn clear_tabs(&mut self, what: u16) {
        match what {
            0 => {
                let column = self.column();
                self.frame.tabs[column] = false;
            }
            3 => self.frame.tabs.fill(false),
            _ => (),
        }
    }

    pub(crate) fn set_region(&mut self, top: usize, bottom: usize) {
        let bottom = if bottom == 0 { self.n_lines() } else { bottom.min(self.n_lines()) };
        if top < bottom {
            self.frame.region = top - 1..bottom;
            self.go_to(0, 0);
        }
    }

    pub(crate) fn set_private(&mut self, number: u16, on: bool) {
        match number {
            47 | 1047 | 1049 => {
                let was = self.below.is_some();
                if on {
                    self.enter_alternate(number);
                } else {
                    self.leave_alternate(number);
                }
                if was != on {
                    self.outbox.tell(Event::Alternate(on));
                }
            }
            1048 if on => self.save_cursor(),
            1048 => self.restore_cursor(),
            _ => {
                let was = self.modes.private(number);
                match self.modes.put_private(number, on) {
                    Some(Mode::Origin) => self.go_to(0, 0),
                    Some(Mode::Focus) if was != Some(on) => self.outbox.tell(Event::Focus(on)),
                    Some(Mode::InBandSize) if on => self.answer_in_band_size(),
                    _ => (),
                }
            }
        }
    }

    /// Resets what a program needs to draw text, and leaves the picture alone (DECSTR).
    pub(crate) fn soft_reset(&mut self) {
        for (mode, on) in [
            (Mode::CursorKeys, false),
            (Mode::Origin, false),
            (Mode::Wrap, true),
            (Mode::Visible, true),
            (Mode::Keypad, false),
            (Mode::Insert, false),
        ] {
            self.modes.put(mode, on);
        }
        self.frame.region = 0..self.n_lines();
        self.sets = Sets::default();
        self.grid.cursor.template = Default::default();
        self.grid.saved_cursor = Default::default();
        self.saved = Default::default();
    }

    /// Remembers that the program has asked, whoever answers.
    pub(crate) fn asked(&mut self, query: Query) {
        self.outbox.tell(Event::Asked(query));
    }
}
