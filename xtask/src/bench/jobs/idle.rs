//! What programs in the background cost while nothing happens.

use std::{collections::BTreeMap, thread, time::Duration};

use super::keeper::{Keeper, Kind};
use crate::bench::{home::World, machine, report::Measure};

const JOBS: usize = 20;

/// Until what was started has come to rest: pools keep threads for ten seconds.
const SETTLE: Duration = Duration::from_secs(12);

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
        thread::sleep(SETTLE);
        let holders = keeper.holders();
        let daemon = keeper.home().map(|(_, daemon)| daemon.pid).ok();
        let watched = |daemon: Option<u32>| -> anyhow::Result<_> {
            Ok((switches(&holders)?, switches(daemon.as_slice())?))
        };
        let before = watched(daemon)?;
        thread::sleep(WATCH);
        let after = watched(daemon)?;
        let of_holders = rate(&after.0, &before.0)?;
        if daemon.is_some() {
            measure.budgeted(format!("{name}, {JOBS} hosts together"), "/s", &[of_holders], 0.0);
            let of_daemon = rate(&after.1, &before.1)?;
            measure.budgeted(format!("{name}, the daemon"), "/s", &[of_daemon], 0.0);
        } else {
            measure.figure(format!("{name}, all that holds {JOBS} programs"), "/s", &[of_holders]);
        }
    }
    Ok(())
}

/// Returns how often the threads were switched off, by thread.
fn switches(pids: &[u32]) -> anyhow::Result<BTreeMap<u32, u64>> {
    let mut all = BTreeMap::new();
    for pid in pids {
        all.extend(machine::switches(*pid)?);
    }
    Ok(all)
}

/// Returns how often a second that was. Threads that ended meanwhile are left out, new ones count.
fn rate(after: &BTreeMap<u32, u64>, before: &BTreeMap<u32, u64>) -> anyhow::Result<f64> {
    let since = |(thread, count): (&u32, &u64)| count - before.get(thread).unwrap_or(&0);
    let sum: u64 = after.iter().map(since).sum();
    Ok(f64::from(u32::try_from(sum)?) / WATCH.as_secs_f64())
}
