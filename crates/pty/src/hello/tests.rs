//! The words on the wire, as other programs write and read them.

use serde_json::{Value, json};

use super::*;

/// Reads a payload and returns it as it would be written.
#[track_caller]
fn check<T: DeserializeOwned + Serialize>(read: Value, written: Value) {
    let value: T = from_json(read.to_string().as_bytes()).unwrap();
    let back: Value = serde_json::from_slice(&to_json(&value)).unwrap();
    assert_eq!(back, written);
}

#[test]
fn a_hello_of_the_first_kind_is_understood() {
    let more = json!({"protocol": 1, "features": [], "steal": false, "scrollback": "append"});
    let with = |first: Value| {
        let mut all = more.as_object().unwrap().clone();
        all.extend(first.as_object().unwrap().clone());
        Value::from(all)
    };
    for first in [
        json!({"role": "attach", "cols": 80, "rows": 24}),
        json!({"role": "control"}),
        json!({"role": "view"}),
        json!({"role": "tail", "protocol": 7, "features": ["x"], "steal": true}),
    ] {
        check::<Hello>(first.clone(), with(first));
    }
    check::<Hello>(json!({"role": "view", "later": {"x": 1}}), with(json!({"role": "view"})));
    for bad in ["", "{}", "[]", "{\"role\":\"king\"}", "{\"role\":\"view\",\"cols\":-1}", "\u{1}"] {
        let failure = from_json::<Hello>(bad.as_bytes()).unwrap_err();
        assert_eq!(failure.code, "frame_malformed", "{bad}");
    }
}

#[test]
fn operations_and_answers_have_the_names_of_the_wire() {
    for op in ["snapshot", "status", "detach", "terminate", "flush"] {
        check::<Control>(json!({"op": op}), json!({"op": op}));
        check::<Control>(json!({"op": op, "later": 1}), json!({"op": op}));
    }
    check::<Control>(json!({"op": "send", "text": "y\r"}), json!({"op": "send", "text": "y\r"}));
    let upgrade = json!({"op": "upgrade", "path": "/bin/stead"});
    check::<Control>(upgrade.clone(), upgrade);
    check::<Reply>(json!({"text": "hi"}), json!({"text": "hi"}));
    check::<Reply>(json!({"ok": true}), json!({"ok": true}));
    let error = json!({"code": "x", "effect": "not_started", "message": "m"});
    check::<Reply>(json!({"error": error}), json!({"error": error}));
    let status = json!({
        "workerPid": 1, "alive": true, "attached": 0, "cols": 120, "rows": 30, "hostPid": 2,
        "version": "0", "protocol": 1, "features": [], "title": "",
    });
    // A host of before recordings does not say.
    let mut told = status.clone();
    told["recording"] = json!({"state": "off"});
    check::<Reply>(status.clone(), told);
    let mut paused = status;
    paused["recording"] = json!({"state": "paused", "why": "full"});
    check::<Reply>(paused.clone(), paused);
    check::<Detached>(json!({"reason": "takeover"}), json!({"reason": "takeover"}));
    check::<State>(
        json!({"role": "attach", "writer": true, "cols": 80, "rows": 24, "state": "working"}),
        json!({
            "role": "attach", "writer": true, "cols": 80, "rows": 24, "state": "working",
            "protocol": 1,
        }),
    );
    check::<Resync>(json!({"bytes": 7}), json!({"bytes": 7}));
    check::<Focus>(json!({"focused": false}), json!({"focused": false}));
    check::<Resize>(json!({"cols": 9, "rows": 9}), json!({"cols": 9, "rows": 9}));
}
