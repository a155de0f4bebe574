//! What a daemon does by itself: old facts and full outputs go, and its standard error keeps within its
//! bound.

use std::{path::PathBuf, time::Duration};

use stdx::clock::Clock;
use store::{Retention, Store};
use tokio::time::{Interval, MissedTickBehavior};
use vocab::limits::CHORES_EVERY_MS;

use crate::log;

/// Does the chores at once and then every hour, until it is aborted. `errors` is the file of standard
/// error, where that is a file of ours; `artifacts` holds the directories of full outputs.
pub(super) async fn hourly(store: Store, artifacts: PathBuf, errors: Option<PathBuf>) {
    let mut pace = pace();
    loop {
        pace.tick().await;
        if let Err(error) = store.prune(Retention::default()).await {
            tracing::warn!(code = error.code(), "old facts could not be pruned");
        }
        let dir = artifacts.clone();
        let sweep = move || workspace_local::artifact::sweep(&dir, &Clock::system());
        if let Ok(Err(error)) = tokio::task::spawn_blocking(sweep).await {
            tracing::warn!(%error, "old full outputs could not be swept");
        }
        if let Some(path) = &errors
            && let Err(error) =
                log::errors(path).and_then(|file| Ok(rustix::stdio::dup2_stderr(file)?))
        {
            tracing::warn!(%error, "standard error could not be bounded");
        }
    }
}

/// Ticks at once and then every hour; hours that were missed are not made up for.
fn pace() -> Interval {
    let mut pace = tokio::time::interval(Duration::from_millis(CHORES_EVERY_MS));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pace
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn chores_are_done_at_once_and_every_hour() {
        let (begun, mut pace) = (Instant::now(), pace());
        for hour in 0..3 {
            pace.tick().await;
            assert_eq!(begun.elapsed(), Duration::from_millis(CHORES_EVERY_MS) * hour);
        }
    }
}
