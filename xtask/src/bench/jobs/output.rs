//! How much output passes: a program that writes as fast as it can, looked at and not looked at.

use std::path::Path;

use anyhow::Context as _;

use super::{
    cue::Cues,
    keeper::{Keeper, Kind},
    program::{self, OUTPUT_END},
    terminal::{Free, Outer},
};
use crate::bench::{home::World, machine, report::Measure, stats::ratios};

const BYTES: usize = 100 << 20;

/// Rounds, besides the first, which does not count.
const ROUNDS: usize = 3;

/// What the holder's processor time should be at most, in seconds.
const HOST_SECONDS_MAX: f64 = 2.0;

/// What was seen of one keeper, looked at or not.
#[derive(Default)]
struct Row {
    kind: Option<Kind>,
    attached: Samples,
    unattached: Samples,
}

#[derive(Default)]
struct Samples {
    wall: Vec<f64>,
    cpu: Vec<f64>,
    shown: Vec<f64>,
}

/// Measures a listing of 100 MiB.
pub(crate) fn output(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let file = world.dir()?.join("listing");
    let mut listing = program::listing(BYTES / 66);
    listing.truncate(BYTES);
    // Whole lines: an end within a sequence would swallow what is written behind it.
    let n_whole = memchr::memrchr(b'\n', &listing).map_or(0, |newline| newline + 1);
    listing.truncate(n_whole);
    machine::write(&file, &listing)?;
    let mut keepers = Keeper::all(world, &Kind::ALL, measure)?;
    let mut rows = vec![Row::default()];
    rows.extend(keepers.iter().map(|keeper| Row { kind: Some(keeper.kind), ..Row::default() }));
    for idx in 0..=ROUNDS {
        let mut takers = rows.iter_mut();
        let put = |samples: &mut Samples, (wall, cpu, shown): (f64, f64, f64)| {
            if 0 < idx {
                samples.wall.push(wall);
                samples.cpu.push(cpu);
                samples.shown.push(shown);
            }
        };
        if let Some(row) = takers.next() {
            put(&mut row.attached, bare(world, &file)?);
        }
        for (keeper, row) in keepers.iter_mut().zip(takers) {
            put(&mut row.attached, kept(world, keeper, &file, Look::Attached)?);
            put(&mut row.unattached, kept(world, keeper, &file, Look::Away)?);
        }
    }
    for row in &rows {
        let name = row.kind.map_or("no keeper", Kind::name);
        for (how, samples) in [("attached", &row.attached), ("unattached", &row.unattached)] {
            tell(measure, row.kind, &format!("{name}, {how}"), samples);
        }
    }
    let of = |kind| rows.iter().find(|row| row.kind == Some(kind));
    let (Some(ours), Some(dtach)) = (of(Kind::Stead), of(Kind::Dtach)) else { return Ok(()) };
    let ratio = ratios(&ours.attached.wall, &dtach.attached.wall);
    measure.budgeted("stead / dtach, attached, pair by pair", "×", &ratio, 1.0);
    let ratio = ratios(&ours.unattached.wall, &dtach.unattached.wall);
    measure.figure("stead / dtach, unattached, pair by pair", "×", &ratio);
    Ok(())
}

fn tell(measure: &mut Measure, kind: Option<Kind>, name: &str, samples: &Samples) {
    if samples.wall.is_empty() {
        return;
    }
    measure.figure(name, "s", &samples.wall);
    let what = format!("{name}, CPU of who holds the terminal");
    match kind {
        None => {}
        Some(Kind::Stead) => measure.budgeted(what, "s", &samples.cpu, HOST_SECONDS_MAX),
        Some(_) => measure.figure(what, "s", &samples.cpu),
    }
    if samples.shown.iter().any(|shown| 0.0 < *shown) {
        measure.figure(format!("{name}, bytes at the terminal"), "MB", &samples.shown);
    }
}

/// Whether somebody looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Attached,
    Away,
}

/// Returns wall seconds, the holder's processor seconds, and what the terminal got, in MB.
fn kept(
    world: &World,
    keeper: &mut Keeper,
    file: &Path,
    look: Look,
) -> anyhow::Result<(f64, f64, f64)> {
    let job = keeper.start("file", &file.display().to_string())?;
    let mut outer = match look {
        Look::Attached => {
            let outer = keeper.attach(&job)?;
            // Until it is up, and what it shows first is read.
            std::thread::sleep(super::QUIET / 2);
            Some(outer)
        }
        Look::Away => None,
    };
    let before = machine::cpu_seconds(job.holder)?;
    let (wall, shown) = pour(world, &keeper.cues, outer.as_mut())
        .with_context(|| format!("{} does not pass all of it on", keeper.kind.name()))?;
    let cpu = machine::cpu_seconds(job.holder)? - before;
    if let Some(outer) = outer {
        outer.hang_up()?;
    }
    keeper.end(&job)?;
    Ok((wall, cpu, shown))
}

/// The same without a keeper.
fn bare(world: &World, file: &Path) -> anyhow::Result<(f64, f64, f64)> {
    let mut cues = Cues::new(world)?;
    let mut command = machine::command(std::env::current_exe()?);
    command.args(["bench", "--job", "file", &cues.dir()]).arg(file);
    let mut outer = Free::open()?.start(&mut command)?;
    cues.born()?;
    let (wall, shown) = pour(world, &cues, Some(&mut outer))?;
    outer.hang_up()?;
    Ok((wall, 0.0, shown))
}

/// Returns the seconds until all was shown, or else written, and what the terminal got, in MB.
fn pour(world: &World, cues: &Cues, outer: Option<&mut Outer>) -> anyhow::Result<(f64, f64)> {
    let (ms, n_bytes) = world.ms(|| {
        cues.start()?;
        match outer {
            Some(outer) => outer.wait_for(OUTPUT_END),
            None => cues.done(1).map(|()| 0),
        }
    })?;
    if 0 < n_bytes {
        cues.done(1)?;
    }
    Ok((ms / 1_000.0, f64::from(u32::try_from(n_bytes)?) / 1e6))
}
