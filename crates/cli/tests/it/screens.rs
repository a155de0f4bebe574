//! Screens, cell by cell: whoever attaches late sees what somebody sees who was there from the first byte,
//! in a terminal that others wrote, whatever real programs draw.

mod same;
mod stage;
mod xterm;

use self::{
    stage::Stage,
    xterm::{Size, Xterm},
};
use crate::home::{Home, write};

/// What a person does.
enum Step<'a> {
    /// Types.
    Type(&'a str),
    /// Waits until a text is shown, and lets somebody look.
    See(&'a str),
    /// Lets somebody look, in the middle of whatever is drawn.
    Look,
    /// Lets somebody else type.
    Take,
    /// Leaves, so that nobody is attached.
    Leave,
}

use Step::{Leave, Look, See, Take, Type};

const SIZES: [Size; 2] = [(80, 24), (132, 43)];

/// Plays a script at both sizes and compares what everyone saw.
fn check(name: &str, command: &[&str], files: &[(&str, &str)], steps: &[Step<'_>]) {
    let Some(mut xterm) = Xterm::start() else { return };
    for size in SIZES {
        let home = Home::new();
        for (name, text) in files {
            write(&home.work().join(name), text);
        }
        let mut stage = Stage::new(&home, &mut xterm, size, command);
        for step in steps {
            match step {
                Type(keys) => stage.keys(keys),
                See(text) => {
                    stage.wait(text, |screen| screen.contains(text));
                    stage.look();
                }
                Look => stage.look(),
                Take => stage.take(),
                Leave => stage.leave(),
            }
        }
        let run = stage.end();
        same::check(name, &run, &mut xterm);
    }
}

#[test]
fn stranger_xterm_sees_less() {
    let lines: String = (1..200)
        .map(|n| format!("\x1b[1;3{}mline {n}\x1b[m 中文 \x1b[4;48;5;{n}mpaint\x1b[m\n", n % 8))
        .collect();
    check(
        "less",
        &["less", "-R", "text"],
        &[("text", &lines)],
        &[
            See("line 22"),
            Type(" "),
            See("line 45"),
            Leave,
            Type("/line 9.\r"),
            See("line 90"),
            Take,
            Type("G"),
            See("line 199"),
            Type("q"),
        ],
    );
}
