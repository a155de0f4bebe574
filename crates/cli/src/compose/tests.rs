//! Bounds that are usual, and what is tried again.

use super::*;

#[test]
fn the_usual_bounds_are_those_of_the_table() {
    let check = |steps_max: Option<u32>, hours: Option<u32>, wanted: (u32, u32)| {
        let run = config::RunEntry { steps_max, answer_within_hours: hours, ..Default::default() };
        let Settings { steps_max, answer_within, project_files: _ } = settings(&run);
        let within = Duration::from_secs(u64::from(wanted.1) * 3600);
        assert_eq!((steps_max, answer_within), (wanted.0, within));
    };
    check(None, None, (STEPS_MAX, ANSWER_HOURS));
    check(Some(3), Some(2), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_done_on_a_full_disk_is_tried_at_intervals_until_it_is_done() {
    let check = async |last: fn() -> Tried| {
        let (began, mut n_tries) = (tokio::time::Instant::now(), 0_u32);
        until_done(|| {
            n_tries += 1;
            let tried = match n_tries {
                1 => Tried::Later(None),
                // A failure in the middle ends nothing.
                2 | 3 => Tried::Later(Some("the disk".to_owned())),
                _ => last(),
            };
            Box::pin(std::future::ready(tried))
        })
        .await;
        assert_eq!(n_tries, 4);
        // The clock of this test moves only while everybody waits.
        assert_eq!(began.elapsed(), Duration::from_millis(STORE_ROOM_RETRY_MS) * 4);
    };
    check(|| Tried::Done).await;
    check(|| Tried::Never).await;
}
