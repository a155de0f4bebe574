//! What a program in the background takes of the machine's memory: idle, with its scrollback full, and
//! with two hundred of them.

use std::thread;

use super::{
    QUIET,
    keeper::{HISTORY_LINES, Job, Keeper, Kind, is_there},
};
use crate::bench::{home::World, machine, memory::mib, report::Measure};

/// Programs of each keeper; so many share what can be shared.
const FEW: usize = 20;
const MANY: usize = 200;

/// Lines that each writes: what is kept, and the screen.
const LINES: usize = HISTORY_LINES + 100;

/// Measures hosts without work.
pub(crate) fn memory(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    for kind in Kind::ALL {
        if is_there(kind, measure) {
            few(world, measure, kind)?;
        }
    }
    for kind in [Kind::Stead, Kind::Tmux, Kind::Dtach] {
        if is_there(kind, &mut Measure::new("", "")) {
            many(world, measure, kind)?;
        }
    }
    Ok(())
}

/// Starts programs, looks at each once on a terminal of the usual size, and leaves them alone.
fn started(keeper: &mut Keeper, n_jobs: usize) -> anyhow::Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for _ in 0..n_jobs {
        let job = keeper.start("lines", &LINES.to_string())?;
        keeper.look_once(&job)?;
        jobs.push(job);
    }
    thread::sleep(QUIET);
    Ok(jobs)
}

/// Lets all programs write, and leaves them alone.
fn fill(keeper: &Keeper, n_jobs: usize) -> anyhow::Result<()> {
    keeper.cues.start()?;
    keeper.cues.done(n_jobs)?;
    thread::sleep(QUIET);
    Ok(())
}

fn few(world: &World, measure: &mut Measure, kind: Kind) -> anyhow::Result<()> {
    let mut keeper = Keeper::new(world, kind)?;
    let name = kind.name();
    // What one server takes for nobody in particular.
    let alone = match kind.is_one_server() {
        true => {
            started(&mut keeper, 1)?;
            private(&keeper)?.iter().sum()
        }
        false => 0.0,
    };
    let jobs = started(&mut keeper, FEW)?;
    let each = |keeper: &Keeper| -> anyhow::Result<Vec<f64>> {
        let all = private(keeper)?;
        if !kind.is_one_server() {
            return Ok(all);
        }
        let sum: f64 = all.iter().sum();
        Ok(vec![(sum - alone) / f64::from(u32::try_from(FEW)?)])
    };
    let idle = each(&keeper)?;
    let n_writers = jobs.len() + usize::from(kind.is_one_server());
    if kind == Kind::Stead {
        mappings(measure, &keeper, "idle")?;
    }
    fill(&keeper, n_writers)?;
    let filled = each(&keeper)?;
    if kind == Kind::Stead {
        mappings(measure, &keeper, "with 10,000 lines")?;
        measure.budgeted("stead, idle, private", "MiB", &idle, 0.65);
        measure.budgeted("stead, with 10,000 lines, private", "MiB", &filled, 1.3);
    } else {
        measure.figure(format!("{name}, idle, private for one"), "MiB", &idle);
        measure.figure(format!("{name}, with 10,000 lines, private for one"), "MiB", &filled);
    }
    Ok(())
}

fn many(world: &World, measure: &mut Measure, kind: Kind) -> anyhow::Result<()> {
    let mut keeper = Keeper::new(world, kind)?;
    let name = kind.name();
    started(&mut keeper, MANY)?;
    let idle = pss(&keeper)?;
    fill(&keeper, MANY)?;
    let filled = pss(&keeper)?;
    let what = [
        format!("{name}, {MANY} idle, PSS of all"),
        format!("{name}, {MANY} with 10,000 lines, PSS of all"),
    ];
    for (what, (value, budget)) in what.into_iter().zip([(idle, 130.0), (filled, 270.0)]) {
        match kind {
            Kind::Stead => measure.budgeted(what, "MiB", &[value], budget),
            Kind::Tmux | Kind::Dtach | Kind::Shpool => measure.figure(what, "MiB", &[value]),
        }
    }
    Ok(())
}

fn private(keeper: &Keeper) -> anyhow::Result<Vec<f64>> {
    keeper.holders().into_iter().map(|pid| Ok(mib(machine::memory(pid)?.private))).collect()
}

fn pss(keeper: &Keeper) -> anyhow::Result<f64> {
    let mut sum = 0;
    for pid in keeper.holders() {
        sum += machine::memory(pid)?.pss;
    }
    Ok(mib(sum))
}

fn mappings(measure: &mut Measure, keeper: &Keeper, when: &str) -> anyhow::Result<()> {
    let Some(pid) = keeper.holders().first().copied() else { return Ok(()) };
    measure.note(format!("private memory of one host by mapping, {when}, KiB:"));
    let mut all = machine::mappings(pid)?;
    all.sort_by_key(|(_, memory)| std::cmp::Reverse(memory.private));
    for (name, memory) in all.iter().take(10).filter(|(_, memory)| 0 < memory.private) {
        measure.note(format!("  {:>6}  {name}", memory.private >> 10));
    }
    Ok(())
}
