//! Whether two sides fit, before anything is asked.

use super::*;

fn refused(value: &Value, code: &str) {
    let violation = agreed(value).expect_err(code);
    assert_eq!(violation.code, code, "{violation}");
}

#[test]
fn sides_agree_on_what_both_have() {
    let agreed = agreed(&hello()).unwrap();
    assert_eq!(agreed.capabilities(), ["resume", "transfer"]);
    assert_eq!((agreed.version().major, agreed.version().minor), (1, 0));
}

#[test]
fn sides_that_do_not_fit_part_before_anything_is_asked() {
    let versions = |major, least, greatest| {
        let range = json!({"major": major, "minor_min": least, "minor_max": greatest});
        with(hello(), "protocol", range)
    };
    refused(&versions(2, 0, 0), "version_mismatch");
    refused(&versions(1, 1, 9), "version_mismatch");
    refused(&versions(1, 5, 0), "version_mismatch");
    let needs = json!({"required": ["unheard-of"], "optional": []});
    refused(&with(hello(), "capabilities", needs), "capability_not_supported");
    refused(&with(hello(), "channel", json!("a")), "channel_not_supported");
    refused(&with(hello(), "protocol", json!(null)), "invalid_request");
    refused(&with(hello(), "extra", json!(1)), "invalid_request");
    let mut without = hello();
    without.as_object_mut().unwrap().remove("protocol");
    refused(&without, "invalid_request");
}

#[test]
fn names_of_the_handshake_are_bounded() {
    let named = |len| {
        let client = json!({"name": "n".repeat(len), "version": "1"});
        with(hello(), "client", client)
    };
    assert!(agreed(&named(REMOTE_NAME_BYTES_MAX)).is_ok());
    refused(&named(REMOTE_NAME_BYTES_MAX + 1), "invalid_request");
}

#[test]
fn nothing_comes_before_the_greeting() {
    for frame in [message(&stat(1)), message(&call(1, "look")), piece_frame(1, 0, b"x")] {
        let violation = greeting::first(&frame).expect_err("no greeting");
        assert_eq!(violation.status, CloseStatus::ProtocolError);
    }
}
