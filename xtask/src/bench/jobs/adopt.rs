//! How long jobs are nobody's after their daemon was killed.

use anyhow::{Context as _, ensure};
use api::job::JobRow;
use vocab::job::JobState;

use super::keeper::{Keeper, Kind};
use crate::bench::{
    home::World,
    http::{Request, Wire},
    report::Measure,
};

const JOBS: usize = 200;

/// Kills, besides the first, which does not count.
const ROUNDS: usize = 7;

/// Measures from the start of a new daemon to its list of all jobs, alive.
pub(crate) fn adopt(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let mut keeper = Keeper::new(world, Kind::Stead)?;
    for _ in 0..JOBS {
        keeper.start("lines", "0")?;
    }
    let (mut listed, mut returned) = (Vec::new(), Vec::new());
    for idx in 0..=ROUNDS {
        let (home, daemon) = keeper.home()?;
        let (socket, started) = (home.socket(), world.clock.monotonic());
        let since = |world: &World| (world.clock.monotonic() - started).as_secs_f64() * 1_000.0;
        daemon.kill();
        let killed = since(world);
        *daemon = home.start()?;
        let begun = since(world);
        let mut wire = Wire::unix(&socket).context("the new daemon does not answer")?;
        let mut body = Vec::new();
        wire.ask(&Request::get("/jobs"), &mut body)?;
        let rows: Vec<JobRow> = serde_json::from_slice(&body)?;
        let n_alive = rows.iter().filter(|row| row.state == JobState::Working).count();
        ensure!(n_alive == JOBS, "{n_alive} of {JOBS} jobs were found again");
        if 0 < idx {
            returned.push(begun - killed);
            listed.push(since(world) - killed);
        }
    }
    measure.budgeted(format!("until GET /jobs lists {JOBS} live jobs"), "ms", &listed, 200.0);
    measure.figure("of which until `daemon start` returned", "ms", &returned);
    Ok(())
}
