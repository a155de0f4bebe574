//! What programs in the background cost while nothing happens.

use std::{thread, time::Duration};

use super::{
    QUIET,
    keeper::{Keeper, Kind},
};
use crate::bench::{home::World, machine, report::Measure};

const JOBS: usize = 20;

/// How long is watched.
const WATCH: Duration = Duration::from_secs(10);

/// Counts how often keepers wake up.
pub(crate) fn idle(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    for mut keeper in Keeper::all(world, &Kind::ALL, measure)? {
        let name = keeper.kind.name();
        for _ in 0..JOBS {
            let job = keeper.start("lines", "0")?;
            keeper.look_once(&job)?;
        }
        thread::sleep(QUIET);
        let holders = keeper.holders();
        let daemon = keeper.home().map(|(_, daemon)| daemon.pid).ok();
        let before = (switches(&holders)?, switches(daemon.as_slice())?);
        thread::sleep(WATCH);
        let rate = |after: u64, before: u64| -> anyhow::Result<f64> {
            Ok(f64::from(u32::try_from(after - before)?) / WATCH.as_secs_f64())
        };
        let of_holders = rate(switches(&holders)?, before.0)?;
        if let Some(daemon) = daemon {
            measure.budgeted(format!("{name}, {JOBS} hosts together"), "/s", &[of_holders], 0.0);
            let of_daemon = rate(switches(&[daemon])?, before.1)?;
            measure.budgeted(format!("{name}, the daemon"), "/s", &[of_daemon], 0.0);
        } else {
            measure.figure(format!("{name}, all that holds {JOBS} programs"), "/s", &[of_holders]);
        }
    }
    Ok(())
}

fn switches(pids: &[u32]) -> anyhow::Result<u64> {
    let mut sum = 0;
    for pid in pids {
        sum += machine::switches(*pid)?;
    }
    Ok(sum)
}
