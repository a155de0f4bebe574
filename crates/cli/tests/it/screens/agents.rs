//! The start screens of real agents, as npm installs them, without a network and without a key that is one.

use super::{Insist, Look, Lose, SIZES, See, Stage, Step, Take, Type, play, xterm::Xterm};
use crate::{
    agents::{Installed, settle},
    home::Home,
};

fn check(agent: &str, steps: &[Step<'_>]) {
    let (Some(installed), Some(mut xterm)) = (Installed::find(), Xterm::start()) else { return };
    for size in SIZES {
        let home = Home::new();
        settle(&home);
        let command = installed.command(agent);
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let stage = Stage::new(&home, &mut xterm, size, &words);
        play(agent, stage, steps);
    }
}

#[test]
fn stranger_agent_claude_looks_the_same() {
    let steps = [
        Look,
        See("Claude Code"),
        See("? for shortcuts"),
        Type("hello there"),
        See("hello there"),
        Take,
        Type("\x15?"),
        Look,
        Type("\x7f/"),
        See("/clear"),
        Type("\x1b"),
        Look,
        Type("\x15\x03\x03"),
    ];
    check("claude", &steps);
}

#[test]
fn stranger_agent_codex_looks_the_same() {
    let steps = [
        Look,
        See("Sign in"),
        Look,
        Insist("\x1b[B", "> 2."),
        Take,
        Look,
        Insist("\x1b[B", "> 3."),
        Look,
        Type("\x03"),
    ];
    check("codex", &steps);
}

#[test]
fn stranger_agent_pi_looks_the_same() {
    let steps = [
        Look,
        See("pi v"),
        Type("hello 中文"),
        See("hello 中文"),
        Take,
        Look,
        Type("\x15/"),
        Look,
        See("settings"),
        Type("\x7f"),
        Lose("settings"),
        Type("\x0f"),
        Look,
        Type("\x04"),
    ];
    check("pi", &steps);
}
