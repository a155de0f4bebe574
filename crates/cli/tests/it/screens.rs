//! Screens, cell by cell: whoever attaches late sees what somebody sees who was there from the first byte,
//! in a terminal that others wrote, whatever real programs draw.

mod agents;
mod same;
mod stage;
mod vttest;
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
    /// Waits until a text is on the screen, and lets somebody look.
    See(&'a str),
    /// Waits until a text was written after the last keys, and lets somebody look.
    Hear(&'a str),
    /// Lets somebody look, in the middle of whatever is drawn.
    Look,
    /// Lets somebody else type.
    Take,
    /// Leaves, so that nobody is attached.
    Leave,
    /// Types again and again until a text is on the screen, for programs that throw early keys away.
    Insist(&'a str, &'a str),
    /// Waits until a text has gone from the screen, and lets somebody look.
    Lose(&'a str),
}

use Step::{Hear, Insist, Leave, Look, Lose, See, Take, Type};

const SIZES: [Size; 2] = [(80, 24), (132, 43)];

/// Plays a script at both sizes, in a directory with some files, and compares what everyone saw.
fn check(name: &str, command: &[&str], files: &[(&str, &str)], steps: &[Step<'_>]) {
    let Some(mut xterm) = Xterm::start() else { return };
    for size in SIZES {
        let home = Home::new();
        for (name, text) in files {
            write(&home.work().join(name), text);
        }
        let stage = Stage::new(&home, &mut xterm, size, command);
        play(name, stage, steps);
    }
}

fn play(name: &str, mut stage: Stage<'_>, steps: &[Step<'_>]) {
    for step in steps {
        match step {
            Type(keys) => stage.keys(keys),
            See(text) => {
                stage.see(text);
                stage.look();
            }
            Hear(text) => {
                stage.hear(&[text]);
                stage.look();
            }
            Lose(text) => {
                stage.lose(text);
                stage.look();
            }
            Insist(keys, text) => {
                stage.insist(keys, text);
                stage.look();
            }
            Look => stage.look(),
            Take => stage.take(),
            Leave => stage.leave(),
        }
    }
    let (run, xterm) = stage.end();
    same::check(name, &run, xterm);
}

/// Lines with colors, wide letters and more than a narrow screen holds.
fn colored(n_lines: usize) -> String {
    let line = |n: usize| {
        let (color, paint, fill) = (n % 8, n % 256, "long enough to wrap ".repeat(n % 7));
        format!(
            "\x1b[1;3{color}mline {n}\x1b[m 中文e\u{301} \x1b[4;48;5;{paint}mpaint\x1b[m {fill}\n"
        )
    };
    (1..=n_lines).map(line).collect()
}

#[test]
fn stranger_xterm_sees_less() {
    let steps = [
        See("line 13"),
        Type(" "),
        Look,
        Hear("中文"),
        Leave,
        Type("/line 9.\r"),
        See("line 91"),
        Take,
        Type("G"),
        See("line 199"),
        Type("q"),
    ];
    check("less", &["less", "-R", "text"], &[("text", &colored(199))], &steps);
}

#[test]
fn stranger_xterm_sees_a_pager_that_stays_on_the_main_screen() {
    let steps = [
        See("line 13"),
        Type(" "),
        Hear("中文"),
        Type(" "),
        Look,
        Take,
        Type("50g"),
        Hear("line 50"),
        Type("-S\r"),
        Look,
        Type("G"),
        See("line 199"),
        Type("q"),
    ];
    check("less -X", &["less", "-RX", "text"], &[("text", &colored(199))], &steps);
}

#[test]
fn stranger_xterm_sees_what_has_scrolled_away() {
    // Colors that go to the end of the line, lines that wrap, wide letters at the margin, a prompt.
    let script = "cat text; printf '\\033[44mblue\\033[K\\033[m\\r\\n%131s中文\\r\\n\\033]2;done\\007' x; \
                  printf '\\033[?2004h$ '; read x; clear; cat text; read x; printf '\\033[3J\\033[?2004l'; \
                  cat text; read x";
    let steps = [
        Look,
        See("$ "),
        Leave,
        Type("\r"),
        Hear("line 300"),
        Take,
        Look,
        Type("\r"),
        Look,
        Hear("line 300"),
        Type("\r"),
    ];
    check("scrolled", &["sh", "-c", script], &[("text", &colored(300))], &steps);
}

#[test]
fn stranger_xterm_sees_vim() {
    let setup = "set mouse=a ttymouse=sgr title hlsearch laststatus=2 t_Co=256 number cursorline";
    let command = ["vim", "-u", "NONE", "-i", "NONE", "-nN", "--cmd", setup, "text.c"];
    let program = "#include <stdio.h>\n\n/* 中文 comment */\nint main(void) {\n\treturn printf(\"%d\\n\", 42);\n}\n";
    let text = program.repeat(12);
    let steps = [
        See("stdio"),
        Type(":syntax on\r"),
        Look,
        Type(":split\r"),
        Look,
        Type(":vsplit\r"),
        Hear("text.c"),
        Type("/return\r"),
        Look,
        Take,
        Type("Vjj"),
        See("VISUAL LINE"),
        Type("\x1bggOtyped with e\u{301} and 中\x1b[200~pasted\nlines\x1b[201~"),
        See("pasted"),
        Leave,
        Type("\x1b:set list\r\x06"),
        See("^I"),
        Take,
        Type(":help\r"),
        Look,
        Type("\x1b:!echo out'side'\r"),
        See("outside"),
        Type("\r"),
        Look,
        Type("\x1b:qa!\r"),
    ];
    check("vim", &command, &[("text.c", &text)], &steps);
}

#[test]
fn stranger_xterm_sees_htop() {
    let steps = [
        See("Load average"),
        See("F10"),
        Type("t"),
        Look,
        Type("\x1bOQ"),
        See("Setup"),
        Take,
        Look,
        Type("\x1b"),
        Look,
        Leave,
        Type("/"),
        See("Search"),
        Type("sh\r"),
        Take,
        Look,
        Type("q"),
    ];
    check("htop", &["htop"], &[], &steps);
}

#[test]
fn stranger_xterm_sees_tmux() {
    let options = "set -g default-command \"PS1='ready> ' exec sh\"\n";
    let command = ["tmux", "-u", "-S", "inner.sock", "-f", "options", "new-session"];
    let steps = [
        See("ready> "),
        Type("cat text\r"),
        See("line 60"),
        Type("\x02%"),
        Look,
        Hear("ready> "),
        Type("\x02\""),
        Look,
        Hear("ready> "),
        Type("PS1='second> '\r"),
        See("second> "),
        Take,
        Type("printf '\\033[3;4;38;2;1;2;3mdec''orated\\033[m\\n'\r"),
        See("decorated"),
        Type("\x02["),
        Look,
        Hear("[0/"),
        Type("\x1b[5~"),
        Look,
        Leave,
        Type("q"),
        Look,
        Lose("[0/"),
        Take,
        Type("tmux -S inner.sock kill-server\r"),
    ];
    check("tmux", &command, &[("text", &colored(60)), ("options", options)], &steps);
}

/// Where xterm.js is alone among terminals, it is mended before it is asked.
#[test]
fn stranger_xterm_is_mended_only_where_that_is_needed() {
    let Some(mut xterm) = Xterm::start() else { return };
    let size = (20, 4);
    let line = "x".repeat(21);
    let told = |xterm: &mut Xterm, screen, stream: &str, row: &str| {
        xterm.write(screen, stream.as_bytes());
        xterm.tell(screen).iter().any(|told| told.starts_with(row))
    };
    for (stream, row, is_right) in [
        ("\x1b(0_".to_owned(), "main 0,0 1 _", false),
        (format!("{line}\r\x1b[K"), "main 1 wrapped", true),
        (format!("{line}\r\x1b[J"), "main 1 wrapped", true),
        ("\x1b[2;3H\x1b7\x1b[4;1H\n\x1b8".to_owned(), "cursor 2,1", true),
    ] {
        let screen = xterm.open_plain(size);
        assert_ne!(told(&mut xterm, screen, &stream, row), is_right, "{stream:?}");
        let screen = xterm.open(size);
        assert_eq!(told(&mut xterm, screen, &stream, row), is_right, "{stream:?}");
    }
}
