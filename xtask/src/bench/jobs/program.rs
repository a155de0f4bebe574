//! The programs that are kept in terminals: this very program in another role, so that every keeper keeps
//! the same one.
//!
//! Not here: who keeps them, and what is measured.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use rustix::{
    stdio::{stdin, stdout},
    termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr},
};
use tokio::signal::unix::{SignalKind, signal};

use super::cue;

/// What stands last on a whole frame.
pub(super) const FRAME_END: &str = "#end-of-frame#";

/// What is written behind all output.
pub(super) const OUTPUT_END: &str = "#end-of-output#";

/// Written at once, as much as a pipe or `cat` moves.
const PIECE_BYTES: usize = 64 << 10;

/// Is the program that a keeper keeps: `KIND CUES [MORE]`.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let (Some(kind), Some(cues)) = (arguments.first(), arguments.get(1)) else {
        bail!("--job KIND CUES [MORE]");
    };
    let cues: &Path = cues.as_ref();
    let more = arguments.get(2).map(String::as_str).unwrap_or_default();
    match kind.as_str() {
        "frame" => draw_frames(cues)?,
        "echo" => echo(cues)?,
        "lines" => when_told(cues, || {
            put(&listing(more.parse()?))?;
            put(OUTPUT_END.as_bytes())
        })?,
        "file" => when_told(cues, || {
            let bytes = crate::bench::machine::read(more.as_ref())?;
            bytes.as_bytes().chunks(PIECE_BYTES).try_for_each(put)?;
            put(OUTPUT_END.as_bytes())
        })?,
        "day" => when_told(cues, || work_a_day(more.parse()?))?,
        _ => bail!("no program is called {kind}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Is there, does its work when it is told to, and stays until its terminal goes.
fn when_told(cues: &Path, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    // Something to be seen by who looks.
    put(b"ready\n")?;
    cue::tell_born(cues)?;
    cue::wait_for_start(cues)?;
    work()?;
    cue::tell_done(cues)?;
    stay();
    Ok(())
}

/// Waits until the terminal says nothing any more.
fn stay() {
    let mut buffer = [0; 256];
    while matches!(rustix::io::read(stdin(), &mut buffer), Ok(n_bytes) if 0 < n_bytes) {}
}

fn put(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// Sets the terminal to pass every key at once and to echo none.
fn set_raw() -> anyhow::Result<()> {
    let mut modes = tcgetattr(stdin()).context("this program needs a terminal")?;
    modes.make_raw();
    Ok(tcsetattr(stdin(), OptionalActions::Now, &modes)?)
}

/// Writes back whatever is typed.
fn echo(cues: &Path) -> anyhow::Result<()> {
    set_raw()?;
    cue::tell_born(cues)?;
    let mut buffer = [0; 4_096];
    loop {
        match rustix::io::read(stdin(), &mut buffer) {
            Ok(0) | Err(_) => return Ok(()),
            Ok(n_bytes) => {
                rustix::io::write(stdout(), buffer.get(..n_bytes).unwrap_or_default())?;
            }
        }
    }
}

/// Draws the whole screen, and again whenever its size changes or somebody asks for it by that signal.
fn draw_frames(cues: &Path) -> anyhow::Result<()> {
    set_raw()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut resized = signal(SignalKind::window_change())?;
        let mut ended = signal(SignalKind::hangup())?;
        let draw = || -> anyhow::Result<()> {
            let size = tcgetwinsize(stdout())?;
            put(frame(size.ws_col.into(), size.ws_row.into()).as_bytes())
        };
        draw()?;
        cue::tell_born(cues)?;
        loop {
            tokio::select! {
                _ = resized.recv() => draw()?,
                _ = ended.recv() => return Ok(()),
            }
        }
    })
}

/// Returns a whole frame as bytes: every cell is written, in a dozen colors a line, and [`FRAME_END`] ends
/// in the last one.
pub(crate) fn frame(columns: usize, lines: usize) -> String {
    let mut out = String::from("\x1b[?25l\x1b[H");
    for line in 0..lines {
        let text = frame_line(line, lines, columns);
        write!(out, "\x1b[{};1H", line + 1).ok();
        // The last line's words stay in one piece, so that the end is found among other sequences.
        let n_plain = if line + 1 == lines { FRAME_END.len() } else { 0 };
        let (colored, plain) = text.split_at(text.len().saturating_sub(n_plain));
        for (idx, word) in colored.as_bytes().chunks(16).enumerate() {
            let color = (line * 13 + idx * 7) % 216 + 16;
            write!(out, "\x1b[38;5;{color}m{}", String::from_utf8_lossy(word)).ok();
        }
        write!(out, "\x1b[0m{plain}").ok();
    }
    out
}

/// Returns the text of one line of a frame.
pub(super) fn frame_line(line: usize, lines: usize, columns: usize) -> String {
    let letters = (0..columns).map(|column| letter(line + column));
    let mut text: String = letters.collect();
    if line + 1 == lines {
        text.truncate(columns.saturating_sub(FRAME_END.len()));
        text.push_str(FRAME_END);
    }
    text
}

/// Returns lines as `ls -l --color` writes them.
pub(crate) fn listing(n_lines: usize) -> Vec<u8> {
    let mut out = String::new();
    for n in 0..n_lines {
        let (size, day, minute, color) =
            (n.wrapping_mul(7_919) % 1_000_003, n % 30 + 1, n % 60, n % 7);
        if n % 40 == 0 {
            write!(out, "\n./tree/of/some/depth/{}:\ntotal {}\n", n / 40, n % 9_973).ok();
        }
        writeln!(
            out,
            "-rw-r--r-- 1 user user {size:>8} Nov {day:>2} 16:{minute:02} \x1b[0m\x1b[01;3{color}mfile_{n}.rs\x1b[0m"
        )
        .ok();
    }
    out.into_bytes()
}

/// Repaints like an agent with its prompt at the bottom: ten frames a second are so many, as fast as the
/// terminal takes them. Every now and then a line of its answer scrolls away above.
fn work_a_day(n_frames: usize) -> anyhow::Result<()> {
    let mut out = String::new();
    for n in 0..n_frames {
        if n % 100 == 0 {
            write!(out, "\r\x1b[J  \x1b[2mstep {n}\x1b[0m: looked at some file and changed a few lines of it\r\n").ok();
        }
        work_frame(&mut out, n);
        if PIECE_BYTES / 16 <= out.len() {
            put(out.as_bytes())?;
            out.clear();
        }
    }
    put(out.as_bytes())
}

/// Draws a spinner with its words, a list of what is to be done, the prompt's box and a line below it.
pub(crate) fn work_frame(out: &mut String, n: usize) {
    let spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'][n % 10];
    let (glow, seconds, tokens) = (n * 5 % 256, n / 10, n * 3);
    out.push_str("\x1b[?2026h\r\x1b[J");
    write!(out, "\x1b[38;2;215;{glow};87m{spinner} Working…\x1b[0m \x1b[2m({seconds}s · ↑ {tokens} tokens · esc to interrupt)\x1b[0m\r\n").ok();
    for item in 0..3 {
        let mark = if item < n / 100 % 4 { '☒' } else { '☐' };
        write!(out, "  \x1b[38;5;{}m{mark} item {item} of the plan\x1b[0m\r\n", 240 + item).ok();
    }
    out.push_str("\x1b[38;5;244m╭────────────────────────────────────────╮\x1b[0m\r\n");
    out.push_str("\x1b[38;5;244m│\x1b[0m > \x1b[7m \x1b[0m                                    \x1b[38;5;244m│\x1b[0m\r\n");
    out.push_str("\x1b[38;5;244m╰────────────────────────────────────────╯\x1b[0m\r\n");
    out.push_str("\x1b[2m  ? for shortcuts\x1b[0m\r\x1b[7A\x1b[?2026l");
}

/// Returns the letter at a place of the alphabet, over and over.
fn letter(place: usize) -> char {
    char::from(b"abcdefghijklmnopqrstuvwxyz"[place % 26])
}

#[cfg(test)]
mod tests {
    use screen::{Mirror, Size};

    use super::*;

    #[test]
    fn a_frame_fills_every_cell_and_its_end_stands_in_the_last_one() {
        let mut mirror = Mirror::new(Size::clamped(200, 50));
        mirror.feed(frame(200, 50).as_bytes());
        let expected: Vec<String> = (0..50).map(|line| frame_line(line, 50, 200)).collect();
        assert_eq!(mirror.screen_text(), expected);
        assert!(expected.last().is_some_and(|line| line.ends_with(FRAME_END)));
    }
}
