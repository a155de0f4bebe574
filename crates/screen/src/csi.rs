//! Sequences with parameters (CSI), except colors and attributes.
//!
//! What is not here is ignored, as terminals do: media copy, left and right margins, locator events.

use alacritty_terminal::{index::Column, term::cell::Flags, vte::Params};

use crate::{modes::Mode, sgr, terminal::Terminal};

impl Terminal {
    pub(crate) fn sequence(&mut self, params: &Params, intermediates: &[u8], action: char) {
        let mut numbers = params.iter().map(|param| param.first().copied().unwrap_or(0));
        let first = numbers.next().unwrap_or(0);
        let second = numbers.next().unwrap_or(0);
        match (intermediates, action) {
            ([], 'm') => sgr::apply(params.iter(), &mut self.grid.cursor.template),
            ([], 'h' | 'l') => {
                for param in params {
                    self.modes.put_ansi(param[0], action == 'h');
                }
            }
            ([b'?'], 'h' | 'l') => {
                for param in params {
                    self.set_private(param[0], action == 'h');
                }
            }
            ([], '@' | 'P' | 'X' | 'L' | 'M' | 'S' | 'T' | 'J' | 'K' | 'b') => {
                self.edit(action, first);
            }
            ([b'?'], 'J' | 'K') => self.edit(action, first),
            ([], 'n' | 'c' | 't') | ([b'?' | b'>' | b'='], 'n' | 'c' | 'q') => {
                self.question(intermediates.first().copied(), action, first);
            }
            ([b'$'], 'p') => self.answer_mode("", first),
            ([b'?', b'$'], 'p') => self.answer_mode("?", first),
            ([b'?'], 'm') if first == 4 => self.answer_other_keys(),
            ([b'>'], 'm') if first == 4 => {
                self.modes.other_keys = u8::try_from(second.min(2)).unwrap_or(0);
            }
            ([b'?'], 'u') => self.answer_keyboard(),
            ([b'>'], 'u') => self.keyboard().push(first),
            ([b'<'], 'u') => self.keyboard().pop(first.max(1)),
            ([b'='], 'u') => self.keyboard().set(first, second),
            ([b'?'], 'W') if first == 5 => self.frame = self.frame.with_usual_tabs(),
            ([b'!'], 'p') => self.soft_reset(),
            ([b' '], 'q') if first <= 6 => {
                self.modes.put_cursor_style(u8::try_from(first).unwrap_or(0));
            }
            ([], _) => self.travel(action, [first, second], params.len()),
            _ => (),
        }
    }

    /// Moves the cursor, saves it, or sets what bounds it.
    fn travel(&mut self, action: char, numbers: [u16; 2], n_params: usize) {
        let [first, second] = numbers.map(usize::from);
        let count = first.max(1);
        match action {
            'A' => self.go_up(count),
            'B' | 'e' => self.go_down(count),
            'C' | 'a' => self.place(self.line(), self.column() + count),
            'D' => self.place(self.line(), self.column().saturating_sub(count)),
            'E' => {
                self.go_down(count);
                self.place(self.line(), 0);
            }
            'F' => {
                self.go_up(count);
                self.place(self.line(), 0);
            }
            'G' | '`' => self.place(self.line(), count - 1),
            'H' | 'f' => self.go_to(count - 1, second.max(1) - 1),
            'I' => self.tab_forward(count),
            'Z' => self.tab_backward(count),
            'd' => self.go_to(count - 1, self.column()),
            'g' => self.clear_tabs(numbers[0]),
            'r' => self.set_region(count, second),
            // With parameters it would set left and right margins.
            's' if n_params <= 1 && first == 0 => self.save_cursor(),
            'u' => self.restore_cursor(),
            _ => (),
        }
    }

    /// Changes cells.
    fn edit(&mut self, action: char, number: u16) {
        let count = usize::from(number.max(1));
        match action {
            '@' => self.insert_cells(count),
            'P' => self.delete_cells(count),
            'X' => self.erase_cells(count),
            'L' => self.insert_lines(count),
            'M' => self.delete_lines(count),
            'S' => self.scroll_up(count),
            'T' => self.scroll_down(count),
            'J' => self.erase_screen(number),
            'K' => self.erase_line(number),
            'b' => self.repeat(count),
            _ => (),
        }
        self.settle_wrap();
    }

    /// Repeats the glyph before the cursor (REP).
    ///
    /// Real terminals repeat what they printed last. Taking it from the screen is the same wherever the
    /// sequence has a meaning, and needs no memory that a snapshot would have to carry.
    fn repeat(&mut self, count: usize) {
        let Some(column) = self.glyph_before_cursor() else { return };
        let glyph = self.grid[self.grid.cursor.point.line][Column(column)].c;
        // More than a screenful cannot be told from a screenful.
        for _ in 0..count.min(self.n_columns() * self.n_lines()) {
            self.put(glyph);
        }
    }

    /// Returns the column of the glyph that was printed last, if the cursor still stands behind it.
    pub(crate) fn glyph_before_cursor(&self) -> Option<usize> {
        let behind = usize::from(self.grid.cursor.input_needs_wrap);
        let column = (self.column() + behind).checked_sub(1)?;
        let flags = self.grid[self.grid.cursor.point.line][Column(column)].flags;
        Some(column - usize::from(flags.contains(Flags::WIDE_CHAR_SPACER)))
    }

    /// Answers what is asked in the oldest ways.
    fn question(&mut self, kind: Option<u8>, action: char, number: u16) {
        match (kind, action) {
            (None | Some(b'>' | b'='), 'c') if number == 0 => self.answer_attributes(kind),
            (None, 'n') => self.answer_status("", number),
            (Some(b'?'), 'n') => self.answer_status("?", number),
            (Some(b'>'), 'n') if number == 4 => self.modes.other_keys = 0,
            (Some(b'>'), 'q') if number == 0 => self.answer_version(),
            (None, 't') => match number {
                22 => self.labels.push_title(),
                23 => {
                    if let Some(title) = self.labels.titles.pop_back() {
                        self.set_title(title);
                    }
                }
                _ => self.answer_size(number),
            },
            _ => (),
        }
    }

    /// Returns the cursor's line as the program counts it.
    pub(crate) fn told_line(&self) -> usize {
        let start = if self.modes.has(Mode::Origin) { self.frame.region.start } else { 0 };
        self.line().saturating_sub(start)
    }
}
