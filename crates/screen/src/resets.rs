//! The way back: what makes a person's own terminal usable again after a program's.
//!
//! The terminal's full reset is not used, since it takes the person's scrollback along.

use vocab::limits::{SCREEN_KEYBOARD_LEVELS_MAX, SCREEN_TITLES_MAX};

use crate::terminal::Terminal;

/// Tells a program that its terminal has gained the focus.
pub const FOCUS_IN: &[u8] = b"\x1b[I";

/// Tells a program that its terminal has lost the focus.
pub const FOCUS_OUT: &[u8] = b"\x1b[O";

/// How much a terminal has been given to keep, and must give back by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    main: usize,
    alternate: usize,
    titles: usize,
}

impl Levels {
    /// For whoever does not know, such as a guard whose client has died: as many as there may be. What an
    /// outer program had put below them is lost.
    pub const UNKNOWN: Self = Self {
        main: SCREEN_KEYBOARD_LEVELS_MAX,
        alternate: SCREEN_KEYBOARD_LEVELS_MAX,
        titles: SCREEN_TITLES_MAX,
    };

    pub(crate) fn held(terminal: &Terminal) -> Self {
        let [main, alternate] = &terminal.keyboards;
        let titles = terminal.labels.titles.len();
        Self { main: main.n_levels(), alternate: alternate.n_levels(), titles }
    }
}

/// Every switch that a program may have left on. Each row stands alone, so that a terminal which does not
/// know it skips it alone.
#[rustfmt::skip]
const SWITCHES: &[&str] = &[
    "\x1b[>4;0m",
    "\x1b[?9l", "\x1b[?1000l", "\x1b[?1002l", "\x1b[?1003l",
    "\x1b[?1005l", "\x1b[?1006l", "\x1b[?1015l", "\x1b[?1016l",
    "\x1b[?1004l", "\x1b[?1007h", "\x1b[?1036h", "\x1b[?1042h",
    "\x1b[?2004l", "\x1b[?2027l", "\x1b[?2031l", "\x1b[?2048l",
    "\x1b[?1l", "\x1b[?5l", "\x1b[?66l", "\x1b>", "\x1b[?25h", "\x1b[0 q",
    "\x1b[20l", "\x1b[?5W",
];

/// Ends whatever the terminal was reading, the frame it was drawing and the link it was in.
const CALM: &str = "\x18\x1b\\\x1b[?2026l\x1b]8;;\x1b\\";

/// What shapes text: insert mode, autowrap, character sets, attributes.
pub(crate) const PLAIN: &str = "\x1b[4l\x1b[?7h\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[m";

/// Colors, progress and what programs said of their state.
pub(crate) const LABELS: &str = "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\\x1b]9;4;0\x1b\\\
    \x1b]7501;state=clear\x1b\\";

/// Returns what restores a local terminal.
///
/// The cursor stays where it is. The title is taken back from the terminal's own stack, where the client
/// put it with [`KEEP_TITLE`] when it began, below those that the program has put there.
pub fn resets(levels: Levels) -> Vec<u8> {
    let mut out = Vec::new();
    write(levels, &mut out);
    write_title(levels, &mut out);
    out
}

/// Puts the title onto the terminal's own stack, from where [`resets`] takes it back.
pub const KEEP_TITLE: &[u8] = b"\x1b[22;2t";

/// Returns what clears the way for a further snapshot, which puts the program's titles onto the stack once
/// more: it takes those away that are there, down to the terminal's own one.
pub fn retitle() -> Vec<u8> {
    let mut out = CALM.as_bytes().to_vec();
    write_title(Levels::UNKNOWN, &mut out);
    out.extend_from_slice(KEEP_TITLE);
    out
}

fn write_title(levels: Levels, out: &mut Vec<u8>) {
    // One that finds nothing on the stack does nothing.
    for _ in 0..=levels.titles {
        out.extend_from_slice(b"\x1b[23;2t");
    }
}

/// Writes all but the title, which a snapshot sets itself.
pub(crate) fn write(levels: Levels, out: &mut Vec<u8>) {
    out.extend_from_slice(CALM.as_bytes());
    pop(levels.alternate, out);
    // Origin mode and margins send the cursor home, so its place is saved around them. Leaving the
    // alternate screen takes back a saved cursor also where it was not shown: then it is this one. What
    // came back with it is reset once more, origin mode by the soft reset, which leaves the cursor alone.
    out.extend_from_slice(b"\x1b7\x1b[?6l\x1b[?69l\x1b[r");
    out.extend_from_slice(PLAIN.as_bytes());
    out.extend_from_slice(b"\x1b8\x1b[?1049l\x1b[!p");
    out.extend_from_slice(PLAIN.as_bytes());
    write_keys(levels.main, out);
    out.extend_from_slice(LABELS.as_bytes());
}

/// Writes what sets all switches back and gives the keyboard of the screen shown back, so that others can be set.
pub(crate) fn write_switches(out: &mut Vec<u8>) {
    write_keys(Levels::UNKNOWN.main, out);
}

fn write_keys(n_levels: usize, out: &mut Vec<u8>) {
    pop(n_levels, out);
    for switch in SWITCHES {
        out.extend_from_slice(switch.as_bytes());
    }
}

fn pop(n_levels: usize, out: &mut Vec<u8>) {
    if 0 < n_levels {
        out.extend_from_slice(format!("\x1b[<{n_levels}u").as_bytes());
    }
    out.extend_from_slice(b"\x1b[=0;1u");
}
