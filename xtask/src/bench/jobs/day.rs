//! A day of an agent that repaints ten times a second, as fast as it goes: what does its host grow to?

use std::thread;

use super::{
    QUIET,
    keeper::{Keeper, Kind},
};
use crate::bench::{home::World, machine, memory::mib, report::Measure};

/// Ten frames a second for 24 hours.
const FRAMES: usize = 864_000;

/// Measures a host before and after.
pub(crate) fn day(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let mut keeper = Keeper::new(world, Kind::Stead)?;
    let job = keeper.start("day", &FRAMES.to_string())?;
    keeper.look_once(&job)?;
    thread::sleep(QUIET);
    let (before, cpu) = (machine::memory(job.holder)?, machine::cpu_seconds(job.holder)?);
    let (ms, ()) = world.ms(|| {
        keeper.cues.start()?;
        keeper.cues.done(1)
    })?;
    thread::sleep(QUIET);
    let after = machine::memory(job.holder)?;
    let peak = machine::status(job.holder, "VmHWM")?;
    measure.figure("private before", "MiB", &[mib(before.private)]);
    measure.figure("private after", "MiB", &[mib(after.private)]);
    measure.figure("largest resident set (shared pages counted whole)", "MiB", &[mib(peak)]);
    measure.figure(
        "CPU of the host for all of it",
        "s",
        &[machine::cpu_seconds(job.holder)? - cpu],
    );
    measure.figure("time that all of it took", "s", &[ms / 1_000.0]);
    let (home, _) = keeper.home()?;
    let recording = home.state().join("jobs").join(&job.name).join("recording");
    measure.figure("its recording on disk", "MiB", &[mib(machine::disk_bytes(&recording)?)]);
    Ok(())
}
