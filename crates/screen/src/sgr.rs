//! Colors and attributes: reading them from a sequence, and writing them so that a pen changes.
//!
//! Overline, frames and fonts have no place in a cell and are ignored.

use alacritty_terminal::{
    term::cell::{Cell, Flags, Hyperlink},
    vte::ansi::{Color, NamedColor, Rgb},
};

use crate::terminal::BLINK;

const NAMED: [NamedColor; 16] = [
    NamedColor::Black,
    NamedColor::Red,
    NamedColor::Green,
    NamedColor::Yellow,
    NamedColor::Blue,
    NamedColor::Magenta,
    NamedColor::Cyan,
    NamedColor::White,
    NamedColor::BrightBlack,
    NamedColor::BrightRed,
    NamedColor::BrightGreen,
    NamedColor::BrightYellow,
    NamedColor::BrightBlue,
    NamedColor::BrightMagenta,
    NamedColor::BrightCyan,
    NamedColor::BrightWhite,
];

/// What a single number switches on. The last column is the spelling, where it is another one.
#[rustfmt::skip]
const ATTRIBUTES: &[(u16, Flags, &str)] = &[
    (1, Flags::BOLD, "1"),
    (2, Flags::DIM, "2"),
    (3, Flags::ITALIC, "3"),
    (5, BLINK, "5"),
    (6, BLINK, "5"),
    (7, Flags::INVERSE, "7"),
    (8, Flags::HIDDEN, "8"),
    (9, Flags::STRIKEOUT, "9"),
];

/// Styles of underlining: the number after `4:`.
const UNDERLINES: &[(u16, Flags, &str)] = &[
    (1, Flags::UNDERLINE, "4"),
    (2, Flags::DOUBLE_UNDERLINE, "4:2"),
    (3, Flags::UNDERCURL, "4:3"),
    (4, Flags::DOTTED_UNDERLINE, "4:4"),
    (5, Flags::DASHED_UNDERLINE, "4:5"),
];

const DEFAULT_FG: Color = Color::Named(NamedColor::Foreground);
const DEFAULT_BG: Color = Color::Named(NamedColor::Background);

/// Changes a pen as a sequence of these parameters does.
pub(crate) fn apply<'a>(mut params: impl Iterator<Item = &'a [u16]>, pen: &mut Cell) {
    while let Some(param) = params.next() {
        match param {
            [0] => reset(pen),
            [4] => underline(pen, 1),
            [4, style, ..] => underline(pen, *style),
            // Once bold off, today a double underline nearly everywhere.
            [21] => underline(pen, 2),
            [22] => pen.flags.remove(Flags::BOLD | Flags::DIM),
            [23] => pen.flags.remove(Flags::ITALIC),
            [24] => underline(pen, 0),
            [25] => pen.flags.remove(BLINK),
            [27] => pen.flags.remove(Flags::INVERSE),
            [28] => pen.flags.remove(Flags::HIDDEN),
            [29] => pen.flags.remove(Flags::STRIKEOUT),
            [39] => pen.fg = DEFAULT_FG,
            [49] => pen.bg = DEFAULT_BG,
            [59] => pen.set_underline_color(None),
            [target @ (38 | 48 | 58)] => {
                let mut rest = params.by_ref().map(|param| param[0]);
                paint(pen, *target, extended(&mut rest));
            }
            [target @ (38 | 48 | 58), rest @ ..] => {
                // With colons a color space may stand before the three channels.
                let skipped = usize::from(rest[0] == 2 && 4 < rest.len());
                let mut numbers = rest[..1].iter().chain(&rest[1 + skipped..]).copied();
                paint(pen, *target, extended(&mut numbers));
            }
            [number @ (30..=37 | 90..=97)] => paint(pen, 38, named(*number, 30)),
            [number @ (40..=47 | 100..=107)] => paint(pen, 48, named(*number, 40)),
            [number] => {
                if let Some(row) = ATTRIBUTES.iter().find(|row| row.0 == *number) {
                    pen.flags.insert(row.1);
                }
            }
            _ => (),
        }
    }
}

fn reset(pen: &mut Cell) {
    (pen.fg, pen.bg, pen.flags) = (DEFAULT_FG, DEFAULT_BG, Flags::empty());
    pen.set_underline_color(None);
}

fn underline(pen: &mut Cell, style: u16) {
    pen.flags.remove(Flags::ALL_UNDERLINES);
    if 0 < style {
        let row = UNDERLINES.iter().find(|row| row.0 == style);
        pen.flags.insert(row.map_or(Flags::UNDERLINE, |row| row.1));
    }
}

fn paint(pen: &mut Cell, target: u16, color: Option<Color>) {
    match (target, color) {
        (38, Some(color)) => pen.fg = color,
        (48, Some(color)) => pen.bg = color,
        (58, Some(color)) => pen.set_underline_color(Some(color)),
        _ => (),
    }
}

fn named(number: u16, base: u16) -> Option<Color> {
    let index = if number < 90 { number - base } else { number - base - 52 };
    NAMED.get(usize::from(index)).map(|color| Color::Named(*color))
}

fn extended(numbers: &mut dyn Iterator<Item = u16>) -> Option<Color> {
    let channel = |numbers: &mut dyn Iterator<Item = u16>| u8::try_from(numbers.next()?).ok();
    match numbers.next()? {
        2 => {
            let (r, g, b) = (channel(numbers), channel(numbers), channel(numbers));
            Some(Color::Spec(Rgb { r: r?, g: g?, b: b? }))
        }
        5 => channel(numbers).map(Color::Indexed),
        _ => None,
    }
}

/// The flags that a pen has; the others say how a cell stands in its row.
pub(crate) fn pen_flags(flags: Flags) -> Flags {
    let shape = Flags::WRAPLINE
        | Flags::WIDE_CHAR
        | Flags::WIDE_CHAR_SPACER
        | Flags::LEADING_WIDE_CHAR_SPACER;
    flags.difference(shape)
}

/// Tells whether two cells are drawn alike, whatever their letters.
pub(crate) fn is_same_pen(left: &Cell, right: &Cell) -> bool {
    left.fg == right.fg
        && left.bg == right.bg
        && pen_flags(left.flags) == pen_flags(right.flags)
        && left.underline_color() == right.underline_color()
        && left.hyperlink() == right.hyperlink()
}

/// How text is being written at some place of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pen {
    fg: Color,
    bg: Color,
    flags: Flags,
    underline: Option<Color>,
    link: Option<Hyperlink>,
}

impl Default for Pen {
    fn default() -> Self {
        let (fg, bg, flags) = (DEFAULT_FG, DEFAULT_BG, Flags::empty());
        Self { fg, bg, flags, underline: None, link: None }
    }
}

impl Pen {
    /// Tells whether a cell is written with this pen.
    fn fits(&self, cell: &Cell) -> bool {
        self.fg == cell.fg
            && self.bg == cell.bg
            && self.flags == pen_flags(cell.flags)
            && match &cell.extra {
                None => self.underline.is_none() && self.link.is_none(),
                Some(_) => {
                    self.underline == cell.underline_color() && self.link == cell.hyperlink()
                }
            }
    }

    /// Returns how many of the first cells are letters written with this pen that have nothing rare: no link,
    /// no mark, no other half, no end of a row.
    pub(crate) fn n_alike(&self, cells: &[Cell]) -> usize {
        if self.underline.is_some() || self.link.is_some() {
            return 0;
        }
        let is_alike = |cell: &&Cell| {
            cell.c.is_ascii()
                && cell.extra.is_none()
                && self.flags == cell.flags
                && self.fg == cell.fg
                && self.bg == cell.bg
        };
        cells.iter().take_while(is_alike).count()
    }

    /// Writes what makes this pen the one of a cell.
    pub(crate) fn change(&mut self, cell: &Cell, out: &mut Vec<u8>) {
        if !self.fits(cell) {
            self.exchange(cell, out);
        }
    }

    fn exchange(&mut self, cell: &Cell, out: &mut Vec<u8>) {
        let link = cell.hyperlink();
        if self.link != link {
            write_link(link.as_ref(), out);
        }
        let flags = pen_flags(cell.flags);
        let underline = cell.underline_color();
        let mut codes = Codes::to(out);
        let is_less =
            !flags.contains(self.flags) || (underline.is_none() && self.underline.is_some());
        if is_less {
            codes.put("0");
            (self.fg, self.bg) = (DEFAULT_FG, DEFAULT_BG);
            (self.flags, self.underline) = (Flags::empty(), None);
        }
        let missing = flags.difference(self.flags);
        if !missing.is_empty() {
            for (_, flag, code) in ATTRIBUTES.iter().chain(UNDERLINES).filter(|row| row.0 != 6) {
                if missing.contains(*flag) {
                    codes.put(code);
                }
            }
        }
        for (is_new, color, base) in
            [(self.fg != cell.fg, cell.fg, 30), (self.bg != cell.bg, cell.bg, 40)]
        {
            if is_new {
                codes.color(color, base);
            }
        }
        if let Some(color) = underline.filter(|color| self.underline != Some(*color)) {
            codes.put(&underline_code(color));
        }
        codes.end();
        *self = Self { fg: cell.fg, bg: cell.bg, flags, underline, link };
    }

    /// Writes what makes this pen a fresh one.
    pub(crate) fn lay_down(&mut self, out: &mut Vec<u8>) {
        self.change(&Cell::default(), out);
    }
}

fn write_link(link: Option<&Hyperlink>, out: &mut Vec<u8>) {
    let text = match link {
        None => "\x1b]8;;\x1b\\".to_owned(),
        Some(link) if link.id().is_empty() => format!("\x1b]8;;{}\x1b\\", link.uri()),
        Some(link) => format!("\x1b]8;id={};{}\x1b\\", link.id(), link.uri()),
    };
    out.extend_from_slice(text.as_bytes());
}

/// A sequence that changes a pen, as far as it is written. Floods of colors are written by it: it takes no
/// memory of its own.
struct Codes<'a> {
    out: &'a mut Vec<u8>,
    is_begun: bool,
}

impl<'a> Codes<'a> {
    fn to(out: &'a mut Vec<u8>) -> Self {
        Self { out, is_begun: false }
    }

    fn put(&mut self, code: &str) {
        self.next();
        self.out.extend_from_slice(code.as_bytes());
    }

    fn color(&mut self, color: Color, base: u8) {
        self.next();
        match color {
            Color::Named(name) => {
                let number = match (0..).zip(NAMED).find(|(_, named)| *named == name) {
                    Some((index @ 0..=7, _)) => base + index,
                    Some((index, _)) => base + 52 + index,
                    None => base + 9,
                };
                self.number(number);
            }
            Color::Indexed(index) => {
                self.number(base + 8);
                self.out.extend_from_slice(b";5;");
                self.number(index);
            }
            Color::Spec(Rgb { r, g, b }) => {
                self.number(base + 8);
                self.out.extend_from_slice(b";2");
                for channel in [r, g, b] {
                    self.out.push(b';');
                    self.number(channel);
                }
            }
        }
    }

    fn number(&mut self, number: u8) {
        if 100 <= number {
            self.out.push(b'0' + number / 100);
        }
        if 10 <= number {
            self.out.push(b'0' + number / 10 % 10);
        }
        self.out.push(b'0' + number % 10);
    }

    fn next(&mut self) {
        let lead: &[u8] = if self.is_begun { b";" } else { b"\x1b[" };
        self.out.extend_from_slice(lead);
        self.is_begun = true;
    }

    fn end(self) {
        if self.is_begun {
            self.out.push(b'm');
        }
    }
}

/// Spells an underline's color with colons: a terminal that does not know it skips it whole.
fn underline_code(color: Color) -> String {
    match color {
        Color::Spec(Rgb { r, g, b }) => format!("58:2::{r}:{g}:{b}"),
        Color::Indexed(index) => format!("58:5:{index}"),
        Color::Named(_) => "59".to_owned(),
    }
}

/// Returns the numbers of a pen as DECRQSS tells them.
pub(crate) fn told(pen: &Cell) -> String {
    let mut text = Vec::new();
    Pen::default().change(&Cell { extra: pen.extra.clone(), ..pen.clone() }, &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let codes = text.rsplit_once("\x1b[").map_or("", |(_, codes)| codes.trim_end_matches('m'));
    if codes.is_empty() { "0".to_owned() } else { format!("0;{codes}") }
}
