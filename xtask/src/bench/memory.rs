//! What a daemon takes of the machine's memory.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use super::{
    calls::{self, DIALECTS},
    home::{Daemon, Home, ModelProcess, World},
    machine,
    report::Measure,
};

const MIB: f64 = 1_048_576.0;

/// How long a daemon is left alone before it counts as idle.
const QUIET: Duration = Duration::from_millis(1_500);

/// How many kinds of mappings are shown.
const MAPPINGS_SHOWN: usize = 15;

const SAMPLE_EVERY: Duration = Duration::from_millis(5);

/// Measures daemons that do nothing.
pub(crate) fn idle(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let model = ModelProcess::instant(world, calls::CALLS)?;
    let (mut pss, mut private, mut worked, mut woken) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for idx in 0..5 {
        let home = home(world, &model)?;
        let daemon = home.start()?;
        thread::sleep(QUIET);
        let memory = machine::memory(daemon.pid)?;
        pss.push(mib(memory.pss));
        private.push(mib(memory.private));
        if idx == 0 {
            mappings(measure, &daemon, "after start")?;
        }
        calls::run(&daemon, &home, "model")?;
        thread::sleep(QUIET);
        let before = switches(&daemon)?;
        thread::sleep(QUIET);
        woken.push((switches(&daemon)? - before) / QUIET.as_secs_f64());
        worked.push(mib(machine::memory(daemon.pid)?.pss));
        if idx == 0 {
            mappings(measure, &daemon, "after one run")?;
        }
    }
    measure.budgeted("after start, PSS", "MiB", &pss, 15.0);
    measure.figure("after start, private", "MiB", &private);
    measure.budgeted("after one run of 100 calls, PSS", "MiB", &worked, 15.0);
    measure.figure("wake-ups of all its threads, idle after that run", "/s", &woken);
    Ok(())
}

/// Measures the peak of a run.
pub(crate) fn peak(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let model = ModelProcess::instant(world, calls::CALLS)?;
    let (mut high, mut sampled) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let home = home(world, &model)?;
        let daemon = home.start()?;
        let (over, most) = (AtomicBool::new(false), AtomicU64::new(0));
        let ran = thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let pss = machine::memory(daemon.pid).map_or(0, |memory| memory.pss);
                    most.fetch_max(pss, Ordering::Relaxed);
                    thread::sleep(SAMPLE_EVERY);
                }
            });
            let ran = calls::run(&daemon, &home, "model");
            over.store(true, Ordering::Relaxed);
            ran
        });
        ran?;
        high.push(mib(machine::status(daemon.pid, "VmHWM")?));
        sampled.push(mib(most.into_inner()));
    }
    measure.figure("VmHWM (shared pages counted whole)", "MiB", &high);
    measure.figure("largest PSS seen", "MiB", &sampled);
    let home = home(world, &model)?;
    let daemon = home.start()?;
    for n_runs in 1..=10 {
        calls::run(&daemon, &home, "model")?;
        if n_runs == 1 || n_runs == 10 {
            let pss = mib(machine::memory(daemon.pid)?.pss);
            measure.figure(format!("PSS right after {n_runs} runs"), "MiB", &[pss]);
        }
    }
    Ok(())
}

fn home(world: &World, model: &ModelProcess) -> anyhow::Result<Home> {
    let (dialect, suffix) = DIALECTS.first().copied().unwrap_or_default();
    Home::new(world, &[("model", dialect, &format!("{}{suffix}", model.url))])
}

fn switches(daemon: &Daemon) -> anyhow::Result<f64> {
    let count = machine::sleeps(daemon.pid)?;
    Ok(f64::from(u32::try_from(count)?))
}

fn mappings(measure: &mut Measure, daemon: &Daemon, when: &str) -> anyhow::Result<()> {
    measure.note(format!("PSS by mapping {when}, KiB (private):"));
    for (name, memory) in machine::mappings(daemon.pid)?.iter().take(MAPPINGS_SHOWN) {
        measure.note(format!("  {:>7} ({:>6})  {name}", memory.pss >> 10, memory.private >> 10));
    }
    Ok(())
}

/// Turns bytes into MiB; no process here has so many that a float would round them.
#[expect(clippy::cast_precision_loss, reason = "memory of one process is far below 2^52 bytes")]
pub(super) fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}
