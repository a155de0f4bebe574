//! `stead run` with a configuration that points at a vendor on loopback, in both dialects.

use testkit::model_server::Plan;

use crate::reading::{DIALECTS, Place};

#[test]
fn stranger_runs_of_three_and_of_a_hundred_calls_end_well_in_both_dialects() {
    for calls in [3, 100] {
        let place = Place::new(Plan::instant(calls));
        for (nth, dialect) in DIALECTS.into_iter().enumerate() {
            let model = format!("{dialect}/stand-in");
            let end = place.home.run(&["run", "--mode", "auto", "-m", &model, "go on"]);
            let (out, err) =
                (String::from_utf8_lossy(&end.stdout), String::from_utf8_lossy(&end.stderr));
            assert!(end.status.success(), "{model}, {calls} calls: {:?}\n{out}{err}", end.status);
            assert_eq!(out.trim(), "done", "{model}, {calls} calls");
            let asked = place.vendor.requests();
            assert_eq!(asked.len(), (nth + 1) * (calls + 1), "one request for each step");
            let path = if dialect == "chat" { "/v1/chat/completions" } else { "/v1/messages" };
            assert_eq!(asked.last().unwrap().path, path);
        }
    }
}
