//! What a terminal is sent so that it shows other cells than before.
//!
//! Pure. Only sequences that every terminal has had for decades.

use std::fmt::Write as _;

use ratatui_core::{
    buffer::{Buffer, Cell},
    layout::Position,
    style::{Color, Modifier},
};

/// Appends what turns one screen into the other.
pub(super) fn paint(from: &Buffer, to: &Buffer, cursor: Option<Position>, out: &mut String) {
    out.push_str("\x1b[?25l");
    // Where the terminal's cursor stands, as far as that is sure, and in which style it draws.
    let mut at = None;
    let mut style = None;
    for (x, y, cell) in from.diff(to) {
        if at != Some((x, y)) {
            go(out, x, y);
        }
        let wanted = (cell.fg, cell.bg, cell.modifier);
        if style != Some(wanted) {
            dress(out, cell);
            style = Some(wanted);
        }
        out.push_str(cell.symbol());
        // Terminals disagree about the width of everything else.
        at = cell.symbol().is_ascii().then_some((x + 1, y)).filter(|_| x + 1 < to.area.width);
    }
    if style.is_some() {
        out.push_str("\x1b[0m");
    }
    if let Some(Position { x, y }) = cursor {
        go(out, x, y);
        out.push_str("\x1b[?25h");
    }
}

fn go(out: &mut String, x: u16, y: u16) {
    // Writing into a string does not fail.
    write!(out, "\x1b[{};{}H", u32::from(y) + 1, u32::from(x) + 1).ok();
}

fn dress(out: &mut String, cell: &Cell) {
    out.push_str("\x1b[0");
    for (modifier, code) in
        [(Modifier::BOLD, ";1"), (Modifier::DIM, ";2"), (Modifier::REVERSED, ";7")]
    {
        if cell.modifier.contains(modifier) {
            out.push_str(code);
        }
    }
    for (color, first) in [(cell.fg, 30), (cell.bg, 40)] {
        if let Some(n) = number(color) {
            write!(out, ";{}", first + n).ok();
        }
    }
    out.push('m');
}

/// Returns the number of one of the eight colors that every terminal has; none for its own.
fn number(color: Color) -> Option<u8> {
    let known = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
    ];
    known.iter().position(|one| *one == color).and_then(|at| u8::try_from(at).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::{layout::Rect, style::Style};

    fn screen(texts: &[(u16, u16, &str, Style)]) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 3));
        for (x, y, text, style) in texts {
            buffer.set_string(*x, *y, text, *style);
        }
        buffer
    }

    #[track_caller]
    fn check(from: &Buffer, to: &Buffer, cursor: Option<(u16, u16)>, expected: &str) {
        let mut out = String::new();
        paint(from, to, cursor.map(Position::from), &mut out);
        assert_eq!(out, format!("\x1b[?25l{expected}"));
    }

    #[test]
    fn only_what_has_changed_is_sent() {
        let (plain, bold) = (Style::new(), Style::new().add_modifier(Modifier::BOLD));
        let red = Style::new().fg(Color::Red).add_modifier(Modifier::REVERSED);
        let empty = screen(&[]);
        let first = screen(&[(1, 0, "ab", plain), (0, 2, "漢x", bold), (9, 1, "z", red)]);
        check(
            &empty,
            &first,
            None,
            "\x1b[1;2H\x1b[0mab\x1b[2;10H\x1b[0;7;31mz\x1b[3;1H\x1b[0;1m漢\x1b[3;3Hx\x1b[0m",
        );
        check(&first, &first, None, "");
        check(&first, &first, Some((3, 1)), "\x1b[2;4H\x1b[?25h");
        let second = screen(&[(1, 0, "aB", plain), (0, 2, "漢x", bold), (9, 1, "z", red)]);
        check(&first, &second, None, "\x1b[1;3H\x1b[0mB\x1b[0m");
    }
}
