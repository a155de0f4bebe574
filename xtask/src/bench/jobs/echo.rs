//! How long a key takes to the program and back to the screen.

use std::{thread, time::Duration};

use anyhow::Context as _;

use super::{
    cue::Cues,
    keeper::{Keeper, Kind},
    terminal::{Free, Outer},
};
use crate::bench::{
    home::World,
    machine,
    report::Measure,
    stats::{Summary, percentile, ratios},
};

/// Keys in one turn.
const KEYS: usize = 50;

/// Turns of each, besides the first, which does not count.
const BLOCKS: usize = 14;

/// Between two keys, so that everyone has gone to sleep again. Nobody types as fast.
const PAUSE: Duration = Duration::from_millis(2);

/// One way to the program.
struct Way {
    name: &'static str,
    outer: Outer,
    samples: Vec<f64>,
    /// The medians of the turns.
    medians: Vec<f64>,
}

/// Measures keys typed on a terminal that shows a program which echoes them.
pub(crate) fn echo(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let mut keepers = Keeper::all(world, &Kind::ALL, measure)?;
    let mut ways = vec![Way::new("no keeper", bare(world)?)];
    for keeper in &mut keepers {
        let job = keeper.start("echo", "")?;
        ways.push(Way::new(keeper.kind.name(), keeper.attach(&job)?));
    }
    for way in &mut ways {
        // A client that still comes up has not passed this on, or not at once.
        way.outer.type_in(b"~")?;
        way.outer.wait_for("~")?;
    }
    thread::sleep(PAUSE * 100);
    for idx in 0..=BLOCKS {
        for way in &mut ways {
            let block = way.turn(world)?;
            if 0 < idx {
                way.medians.push(Summary::of(&block).median);
                way.samples.extend(block);
            }
        }
    }
    for way in &ways {
        measure.figure(way.name, "µs", &way.samples);
        let late = percentile(&way.samples, 95);
        measure.figure(format!("{}, 95 of 100 below", way.name), "µs", &[late]);
    }
    let medians = |name| ways.iter().find(|way| way.name == name).map(|way| way.medians.as_slice());
    let ours = medians("stead").context("stead had no turn")?;
    for peer in Kind::PEERS {
        let Some(theirs) = medians(peer.name()) else { continue };
        let (what, ratio) =
            (format!("stead / {}, turn by turn", peer.name()), ratios(ours, theirs));
        match peer {
            Kind::Dtach => measure.budgeted(what, "×", &ratio, 1.0),
            Kind::Stead | Kind::Tmux | Kind::Shpool => measure.figure(what, "×", &ratio),
        }
    }
    Ok(())
}

/// Starts the program on the outer terminal itself.
fn bare(world: &World) -> anyhow::Result<Outer> {
    let mut cues = Cues::new(world)?;
    let mut command = machine::command(std::env::current_exe()?);
    command.args(["bench", "--job", "echo", &cues.dir()]);
    let outer = Free::open()?.start(&mut command)?;
    cues.born()?;
    Ok(outer)
}

impl Way {
    fn new(name: &'static str, outer: Outer) -> Self {
        Self { name, outer, samples: Vec::new(), medians: Vec::new() }
    }

    fn turn(&mut self, world: &World) -> anyhow::Result<Vec<f64>> {
        let mut samples = Vec::new();
        for idx in 0..KEYS {
            thread::sleep(PAUSE);
            let key = char::from(b"abcdefghijklmnopqrstuvwxyz"[idx % 26]).to_string();
            let typed = || {
                self.outer.type_in(key.as_bytes())?;
                self.outer.wait_for(&key)
            };
            samples.push(world.ms(typed)?.0 * 1_000.0);
        }
        Ok(samples)
    }
}
