//! How long it takes to send a program into the background.

use super::keeper::{self, Keeper, Kind};
use crate::bench::{
    home::{Daemon, World},
    machine,
    report::Measure,
    stats::ratios,
};

/// Programs of each, besides the first, which does not count.
const ROUNDS: usize = 40;

/// Measures from the request to the answer that the program runs.
pub(crate) fn dispatch(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let kinds = [Kind::Stead, Kind::Tmux, Kind::Dtach];
    let mut keepers: Vec<(Keeper, Vec<f64>)> = Keeper::all(world, &kinds, measure)?
        .into_iter()
        .map(|keeper| (keeper, Vec::new()))
        .collect();
    let mut asked = Vec::new();
    // A server that is there already is what people have.
    for (keeper, _) in &mut keepers {
        keeper.start("lines", "0")?;
    }
    for idx in 0..=ROUNDS {
        for (keeper, samples) in &mut keepers {
            let program = keeper.program("lines", "0")?;
            let (mut command, name) = keeper.starting(&program);
            let (ms, said) = world.ms(|| machine::output(&mut command))?;
            let name = match keeper.kind {
                Kind::Stead => serde_json::from_slice::<api::job::JobRow>(&said)?.id,
                Kind::Tmux | Kind::Dtach | Kind::Shpool => name,
            };
            let job = keeper.adopt(name)?;
            keeper.end(&job)?;
            if 0 < idx {
                samples.push(ms);
            }
            if keeper.kind == Kind::Stead {
                let (home, daemon) = keeper.home()?;
                let mut wire = Daemon::connect(daemon)?;
                let (ms, name) = world.ms(|| keeper::dispatch(&mut wire, home, &program))?;
                let job = keeper.adopt(name)?;
                keeper.end(&job)?;
                if 0 < idx {
                    asked.push(ms);
                }
            }
        }
    }
    let ways = ["stead bg -- …", "tmux new-session -d …", "dtach -n …"];
    for ((_, samples), way) in keepers.iter().zip(ways) {
        measure.figure(way, "ms", samples);
    }
    measure.figure("POST /jobs on a kept connection", "ms", &asked);
    let ours = keepers.first().map(|(_, samples)| samples.as_slice()).unwrap_or_default();
    for (keeper, theirs) in keepers.iter().skip(1) {
        let what = format!("stead bg / {}, pair by pair", keeper.kind.name());
        measure.figure(what, "×", &ratios(ours, theirs));
    }
    Ok(())
}
