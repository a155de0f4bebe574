//! Wall clocks that are set, and machines that slept.

use super::*;

const HOUR_MS: i64 = 3_600_000;

#[tokio::test]
async fn a_wall_clock_that_is_set_declares_nobody_dead_and_turns_no_time_back() {
    let rig = Rig { clock: Clock::settable(), ..Rig::new() };
    let mut life = rig.begin().await;
    let job = id(&life.run("while read x; do echo got:$x; test $x = end && exit 4; done").await);
    // Forward as after a sleep, back, and far beyond what lists hide.
    for (number, hours) in [5, -10, 72, -500].into_iter().enumerate() {
        rig.clock.set(hours * HOUR_MS);
        for restarts in [false, true] {
            if restarts {
                life.store.close().await.unwrap();
                life = rig.begin().await;
            }
            let row = life.jobs.row(&job).await.unwrap();
            assert_eq!((row.condition.state, row.ended_at), (JobState::Working, None), "{hours}");
            let line = format!("{number}{restarts}");
            life.jobs.send(&person(), &job, format!("{line}\r")).await.unwrap();
            life.shows(&job, &format!("got:{line}")).await;
        }
    }
    // One that begins now and ends earlier, by the clock on the wall.
    let again = id(&life.run("read x").await);
    rig.clock.set(-HOUR_MS);
    life.jobs.send(&person(), &job, "end\r".into()).await.unwrap();
    life.ended(&job).await;
    life.jobs.stop(&person(), &again).await.unwrap();
    for (job, state) in [(&job, JobState::Failed), (&again, JobState::Stopped)] {
        let row = life.jobs.row(job).await.unwrap();
        assert_eq!(row.condition.state, state);
        assert!(row.started_at <= row.ended_at.unwrap(), "{row:?}");
        let why: serde_json::Value =
            serde_json::from_slice(&life.jobs.explain(job).await.unwrap()).unwrap();
        assert!(why["for_ms"].is_u64(), "{why}");
    }
}
