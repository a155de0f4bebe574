//! Wall clocks that are set, and machines that slept: their time jumps, and what counts from a start does
//! not.

use super::*;
use crate::record::Reader;

const HOUR_MS: i64 = 3_600_000;

#[test]
fn a_wall_clock_that_is_set_ends_nothing_and_turns_no_time_back() {
    let clock = Clock::settable();
    let script = "trap '' TERM HUP; echo on; while read x; do echo got:$x; done";
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let mut job = Job::by(clock.clone(), |record| record.command = command, |_| ()).unwrap();
    let (mut typist, mut control) = (job.attach(), job.control());
    typist.wait_for("on");
    // Forward as after a sleep, and back; together almost three days forward.
    for (number, hours) in [5, -10, 72].into_iter().enumerate() {
        clock.set(hours * HOUR_MS);
        typist.type_in(&format!("{number}\r"));
        typist.wait_for(&format!("got:{number}"));
        assert_eq!(control.ask(&json!({"op": "flush"})), json!({"ok": true}), "{hours}");
        assert_eq!(control.ask(&json!({"op": "status"}))["alive"], true, "{hours}");
        // How long it is so is told as a number that counts from nought.
        let why = control.ask(&json!({"op": "explain"}));
        assert!(why["for_ms"].as_u64().is_some(), "{hours}: {why}");
    }
    // Whoever is asked to end has its whole grace, although hours seem to have passed.
    control.ask(&json!({"op": "terminate"}));
    clock.set(HOUR_MS);
    assert_eq!(control.ask(&json!({"op": "status"}))["alive"], true);
    let exit = job.end();
    assert_eq!(exit.signal.as_deref(), Some("SIGKILL"));
    let ahead = exit.at - Clock::system().now().as_millis();
    assert!(67 * HOUR_MS < ahead && ahead < 69 * HOUR_MS, "{ahead}");
    // A recording counts what has passed: no event lies before another one or hours behind it.
    let mut reader = Reader::open(&job.files).unwrap().unwrap();
    let mut last = Duration::ZERO;
    while let Some(event) = reader.read().unwrap() {
        assert!(last <= event.at && event.at < Duration::from_secs(3_600), "{:?}", event.at);
        last = event.at;
    }
}
