//! Between the parser and the terminal: each recognised sequence goes to the file that knows it.
//!
//! The parser is vte's; it knows where a sequence ends and nothing of what it means.

use alacritty_terminal::vte::{Params, Perform};
use vocab::limits::SCREEN_REQUEST_BYTES_MAX;

use crate::terminal::Terminal;

impl Perform for Terminal {
    fn print(&mut self, character: char) {
        self.put(character);
    }

    fn execute(&mut self, byte: u8) {
        self.control(byte);
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], cut: bool, action: char) {
        if !cut {
            self.sequence(params, intermediates, action);
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], cut: bool, byte: u8) {
        if !cut {
            self.escape(intermediates, byte);
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], ended_by_bell: bool) {
        self.command(params, if ended_by_bell { "\x07" } else { "\x1b\\" });
    }

    fn hook(&mut self, _params: &Params, intermediates: &[u8], cut: bool, action: char) {
        self.request.clear();
        // The kind of question stands before its text: `$q` or `+q`.
        if let ([kind @ (b'$' | b'+')], 'q', false) = (intermediates, action, cut) {
            self.request.push(*kind);
        }
    }

    fn put(&mut self, byte: u8) {
        if !self.request.is_empty() && self.request.len() < SCREEN_REQUEST_BYTES_MAX {
            self.request.push(byte);
        }
    }

    fn unhook(&mut self) {
        let request = std::mem::take(&mut self.request);
        if request.len() < SCREEN_REQUEST_BYTES_MAX {
            self.answer_request(&request);
        }
    }
}
