//! What a program wrote around its screen: title, saved titles, directory, progress,
//! what it says of its state, colors.
//!
//! Nothing here is drawn in cells.

use std::collections::{BTreeMap, VecDeque};

use alacritty_terminal::vte::ansi::Rgb;
use vocab::limits::SCREEN_TITLES_MAX;

use crate::{events::Progress, status::Statuses};

/// The dynamic colors that a program may set, after the 256 indexed ones.
pub(crate) const FOREGROUND: u16 = 256;
pub(crate) const BACKGROUND: u16 = 257;
pub(crate) const CURSOR: u16 = 258;

/// Everything around the screen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels {
    pub(crate) title: String,
    pub(crate) titles: VecDeque<String>,
    pub(crate) directory: String,
    pub(crate) progress: Progress,
    pub(crate) statuses: Statuses,
    pub(crate) colors: BTreeMap<u16, Rgb>,
}

impl Labels {
    pub(crate) fn push_title(&mut self) {
        if self.titles.len() == SCREEN_TITLES_MAX {
            self.titles.pop_front();
        }
        self.titles.push_back(self.title.clone());
    }

    /// Writes what rebuilds all of it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for title in &self.titles {
            out.extend_from_slice(format!("\x1b]2;{title}\x1b\\\x1b[22;2t").as_bytes());
        }
        if !self.title.is_empty() || !self.titles.is_empty() {
            out.extend_from_slice(format!("\x1b]2;{}\x1b\\", self.title).as_bytes());
        }
        if !self.directory.is_empty() {
            out.extend_from_slice(format!("\x1b]7;{}\x1b\\", self.directory).as_bytes());
        }
        if self.progress != Progress::None {
            let (state, percent) = self.progress.numbers();
            out.extend_from_slice(format!("\x1b]9;4;{state};{percent}\x1b\\").as_bytes());
        }
        self.statuses.write(out);
        for (index, color) in &self.colors {
            let code = match *index {
                FOREGROUND => "10".to_owned(),
                BACKGROUND => "11".to_owned(),
                CURSOR => "12".to_owned(),
                index => format!("4;{index}"),
            };
            out.extend_from_slice(format!("\x1b]{code};{}\x1b\\", spelled(*color)).as_bytes());
        }
    }
}

/// Spells a color as terminals answer it, with four digits each.
pub(crate) fn spelled(color: Rgb) -> String {
    let Rgb { r, g, b } = color;
    format!("rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}")
}

/// Parses `rgb:r/g/b` with one to four digits each, or `#` with three equal groups.
pub(crate) fn parse_color(text: &str) -> Option<Rgb> {
    let groups: Vec<&str> = if let Some(rest) = text.strip_prefix("rgb:") {
        rest.split('/').collect()
    } else {
        let digits = text.strip_prefix('#').filter(|digits| digits.is_ascii())?;
        let n_digits = digits.len() / 3;
        if digits.len() % 3 != 0 || !(1..=4).contains(&n_digits) {
            return None;
        }
        vec![&digits[..n_digits], &digits[n_digits..2 * n_digits], &digits[2 * n_digits..]]
    };
    let [r, g, b] = groups.as_slice() else { return None };
    Some(Rgb { r: channel(r)?, g: channel(g)?, b: channel(b)? })
}

fn channel(digits: &str) -> Option<u8> {
    let n_digits = u32::try_from(digits.len()).ok().filter(|n| (1..=4).contains(n))?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    u8::try_from(value * 255 / (16_u32.pow(n_digits) - 1)).ok()
}
