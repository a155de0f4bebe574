//! Another terminal that tells whether a snapshot is right: alacritty's own, which shares the grid with
//! ours but none of the interpretation.

use alacritty_terminal::{
    Term,
    event::VoidListener,
    grid::Dimensions,
    index::{Column, Line},
    term::{Config, cell::Cell},
    vte::ansi::{Processor, Timeout},
};

use super::same::SMALL;

/// Frames are shown as they come.
#[derive(Default)]
struct Never;

impl Timeout for Never {
    fn set_timeout(&mut self, _: std::time::Duration) {}
    fn clear_timeout(&mut self) {}
    fn pending_timeout(&self) -> bool {
        false
    }
}

struct Area((u16, u16));

impl Dimensions for Area {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }
    fn screen_lines(&self) -> usize {
        usize::from(self.0.1)
    }
    fn columns(&self) -> usize {
        usize::from(self.0.0)
    }
}

struct Referee {
    term: Term<VoidListener>,
    parser: Processor<Never>,
}

impl Referee {
    fn new(size: (u16, u16)) -> Self {
        let config = Config { kitty_keyboard: true, ..Config::default() };
        Self { term: Term::new(config, &Area(size), VoidListener), parser: Processor::new() }
    }

    fn feed(mut self, bytes: &[u8]) -> Self {
        self.parser.advance(&mut self.term, bytes);
        self
    }

    /// Returns everything that alacritty shows of itself, one line for each thing.
    fn told(&self) -> Vec<String> {
        let grid = self.term.grid();
        let mut told = vec![
            format!("modes {:?}", self.term.mode()),
            format!("style {:?}", self.term.cursor_style()),
            format!("at {:?} {}", grid.cursor.point, grid.cursor.input_needs_wrap),
            format!("pen {}", spelled(&grid.cursor.template)),
            format!("saved {:?} {}", grid.saved_cursor.point, grid.saved_cursor.input_needs_wrap),
        ];
        let topmost = -i32::try_from(grid.history_size()).unwrap();
        for line in topmost..i32::try_from(grid.screen_lines()).unwrap() {
            for column in 0..grid.columns() {
                let cell = &grid[Line(line)][Column(column)];
                if *cell != Cell::default() {
                    told.push(format!("{line},{column} {}", spelled(cell)));
                }
            }
        }
        told
    }
}

/// Spells a cell. Ids that alacritty made up are no part of it.
fn spelled(cell: &Cell) -> String {
    let link = cell.hyperlink().map(|link| {
        let id = if link.id().ends_with("_alacritty") { "" } else { link.id() };
        format!("{id} {}", link.uri())
    });
    let Cell { c, fg, bg, flags, .. } = cell;
    let marks = cell.zerowidth().unwrap_or_default();
    format!("{c:?} {fg:?} {bg:?} {flags:?} {marks:?} {:?} {link:?}", cell.underline_color())
}

/// Old text, colors and a moved cursor.
const DIRT: &[u8] =
    b"old \x1b[31;44mtext\r\nand\x1b[2;4r\x1b[?7l\x1b[4h\x1b[?1;1000;2004h\x1b(0\x0e\x1b[5;9H\x1b7";

/// Checks that alacritty ends the same whether it read everything or only the snapshot and the rest.
pub(super) fn check(name: &str, before: &[u8], snapshot: &[u8], after: &[u8]) {
    let rows = |left: &Referee, right: &Referee| {
        let (left, right) = (left.told(), right.told());
        let only = |a: &[String], b: &[String]| {
            a.iter().filter(|row| !b.contains(row)).cloned().collect::<Vec<_>>().join("\n  ")
        };
        (left != right).then(|| format!("- {}\n+ {}", only(&left, &right), only(&right, &left)))
    };
    for (when, after) in [("", &b""[..]), (" and on", after)] {
        let (left, right) = (
            Referee::new(SMALL).feed(before).feed(after),
            Referee::new(SMALL).feed(DIRT).feed(snapshot).feed(after),
        );
        if let Some(difference) = rows(&left, &right) {
            panic!(
                "{name}{when}, after {:?}:\n{difference}\nsnapshot: {}",
                before.escape_ascii().to_string(),
                snapshot.escape_ascii()
            );
        }
    }
}
