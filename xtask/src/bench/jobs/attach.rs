//! How long it takes until a program that runs in the background is seen whole.

use std::time::Duration;

use anyhow::Context as _;
use screen::{Mirror, Size};

use super::{
    keeper::{Keeper, Kind},
    program::{FRAME_END, frame_line},
    terminal::{Free, Outer, SIZE},
};
use crate::bench::{
    home::World,
    report::Measure,
    stats::{percentile, ratios},
};

/// Attaches of each keeper, besides the first, which does not count.
const ROUNDS: usize = 40;

/// Measures from the start of the client to the last cell of a full frame.
pub(crate) fn attach(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let mut keepers = Vec::new();
    for mut keeper in Keeper::all(world, &Kind::ALL, measure)? {
        let job = keeper.start("frame", "")?;
        keepers.push((keeper, job, Vec::new(), 0));
    }
    for idx in 0..=ROUNDS {
        for (keeper, job, samples, n_bytes) in &mut keepers {
            let free = Free::open()?;
            let mut client = keeper.attaching(job);
            let started = world.clock.monotonic();
            let mut outer = free.start(&mut client)?;
            let (at, n_shown) = whole(world, &mut outer)
                .with_context(|| format!("{} does not show the frame", keeper.kind.name()))?;
            // The first one also changes the size, and its program draws for that.
            if 0 < idx {
                samples.push((at - started).as_secs_f64() * 1_000.0);
                *n_bytes = n_shown;
            }
            outer.hang_up()?;
        }
    }
    let samples = |kind| {
        let found = keepers.iter().find(|(keeper, ..)| keeper.kind == kind);
        found.map(|(.., samples, _)| samples.as_slice()).unwrap_or_default()
    };
    for (keeper, _, samples, n_bytes) in &keepers {
        let name = keeper.kind.name();
        measure.figure(format!("{name}, {n_bytes} bytes"), "ms", samples);
        measure.figure(format!("{name}, 95 of 100 below"), "ms", &[percentile(samples, 95)]);
    }
    let ours = samples(Kind::Stead);
    for peer in Kind::PEERS {
        let ratio = ratios(ours, samples(peer));
        let what = format!("stead / {}, pair by pair", peer.name());
        match peer {
            Kind::Tmux if !ratio.is_empty() => measure.budgeted(what, "×", &ratio, 0.7),
            _ if !ratio.is_empty() => measure.figure(what, "×", &ratio),
            Kind::Stead | Kind::Tmux | Kind::Dtach | Kind::Shpool => {}
        }
    }
    Ok(())
}

/// Reads until every cell of the frame is right; returns when the last of it came, and how much came.
fn whole(world: &World, outer: &mut Outer) -> anyhow::Result<(Duration, usize)> {
    let (columns, lines) = SIZE;
    let mut mirror = Mirror::new(Size::clamped(columns, lines));
    let (columns, lines) = (usize::from(columns), usize::from(lines));
    let expected: Vec<String> = (0..lines).map(|line| frame_line(line, lines, columns)).collect();
    let mut n_bytes = 0;
    loop {
        // It is not looked at before its end has come, so that the looking is not measured.
        let seen = outer.all_until(FRAME_END)?;
        let at = world.clock.monotonic();
        n_bytes += seen.len();
        mirror.feed(&seen);
        if mirror.screen_text() == expected {
            return Ok((at, n_bytes));
        }
    }
}
