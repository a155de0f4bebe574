//! Compares what a terminal shows that has seen the whole run with what those show that came late.

use super::{
    stage::Run,
    xterm::{Screen, Xterm},
};

/// What another program has left in the terminal of whoever comes late: text, scrollback, margins, tab
/// stops, colors, character sets, the alternate screen, switches, and half a sequence.
const DISORDER: &str = "old \x1b[31;44;7mtext\r\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nand \
     more\x1b[3g\x1b[4G\x1bH\x1b[2;4r\x1b[?6h\x1b[?7l\x1b[4h\x1b[20h\x1b[?1;5;66;1003;1004;1006;2004h\
     \x1b[?45h\x1b(0\x1b)0\x0e\x1b7\x1b[>5u\x1b[>4;2m\x1b]11;#ffffff\x1b\\\x1b[5 q\
     \x1b]8;;http://old\x1b\\link\x1b[?25l\x1b[?1049h\x1b[2;3rother\x1b[32m\x1b[?2026h\x1b[?2";

/// One who came late, and the terminal that it looks at.
struct Watching<'a> {
    name: &'a str,
    screen: Screen,
    /// It came while the main screen was shown. The cursor saved on the alternate one is then whoever's was
    /// there before: a terminal keeps it, and nothing that is written to the main screen reaches it.
    came_to_main: bool,
}

impl Watching<'_> {
    fn is_compared(&self, row: &str) -> bool {
        !(self.came_to_main && row.starts_with("alternate saved"))
    }
}

/// Checks that everyone who came late sees the same as the one who was always there, when they come and
/// whenever somebody else does, up to the program's end.
pub(super) fn check(name: &str, run: &Run, xterm: &mut Xterm) {
    let whole = xterm.open(run.size);
    let mut watching: Vec<Watching<'_>> = Vec::new();
    let mut wrong = Vec::new();
    let mut n_read = 0;
    let ends = run.late.iter().map(|late| (late.at, Some(late)));
    for (at, late) in ends.chain([(run.output.len(), None)]) {
        let output = &run.output[n_read..at];
        n_read = at;
        for screen in watching.iter().map(|watching| watching.screen).chain([whole]) {
            xterm.write(screen, output);
        }
        let expected = xterm.tell(whole);
        if let Some(late) = late {
            let screen = xterm.open(run.size);
            xterm.write(screen, DISORDER.as_bytes());
            xterm.write(screen, &late.snapshot);
            let came_to_main = expected.iter().any(|row| row == "shown normal");
            watching.push(Watching { name: &late.name, screen, came_to_main });
        }
        for late in &watching {
            let mut told = xterm.tell(late.screen);
            let mut expected = expected.clone();
            for rows in [&mut told, &mut expected] {
                rows.retain(|row| late.is_compared(row));
            }
            if told != expected {
                let (lost, found) = (only(&expected, &told), only(&told, &expected));
                wrong.push(format!("{}, at byte {at}\n- {lost}\n+ {found}", late.name));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{name} at {:?}, {} differ:\n{}",
        run.size,
        wrong.len(),
        wrong.join("\n")
    );
}

/// Returns what stands in one list and not in the other.
fn only(left: &[String], right: &[String]) -> String {
    left.iter()
        .filter(|row| !right.contains(row))
        .take(20)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n  ")
}
