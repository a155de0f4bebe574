//! The bounds, met.

use vocab::limits::{
    HOST_CLIENTS_MAX, HOST_DRAIN_MS_MAX, HOST_FAREWELL_MS_MAX, HOST_GRACE_MS, HOST_QUEUE_BYTES_MAX,
    HOST_QUIET_MS, HOST_REPLIES_BYTES_MAX, HOST_SCREEN_AGE_MS_MAX, HOST_SNAPSHOT_BYTES_MAX,
    HOST_TURN_BYTES,
};

use super::*;

/// What the tests below only see happen is as long as the table says.
#[test]
fn the_usual_bounds_are_those_of_the_table() {
    let ending::Spans { grace, drain, farewell, .. } = ending::Spans::USUAL;
    for (span, millis) in
        [(grace, HOST_GRACE_MS), (drain, HOST_DRAIN_MS_MAX), (farewell, HOST_FAREWELL_MS_MAX)]
    {
        assert_eq!(span, Duration::from_millis(millis));
    }
}

/// Returns a command that writes several times what a client's queue holds.
fn flood() -> String {
    format!("head -c {} /dev/zero | tr '\\0' x", 5 * HOST_QUEUE_BYTES_MAX)
}

#[test]
fn there_is_room_for_so_many_clients() {
    let job = Job::sh("echo on; cat");
    let mut silent = job.stranger();
    let viewer = || job.client(json!({"role": "view"}));
    let mut looking: Vec<_> = (1..HOST_CLIENTS_MAX).map(|_| viewer()).collect();
    looking.iter_mut().for_each(|client| client.wait_for("on"));
    // One that has said nothing makes room for one that does.
    let mut last = job.client(json!({"role": "view"}));
    last.wait_for("on");
    assert!(!silent.read());
    let told = job.stranger().let_go();
    assert_eq!(
        (&told["reason"], &told["error"]["code"]),
        (&json!("refused"), &json!("too_many_clients"))
    );
    drop(looking.pop());
    // The place is free once the host has seen that it is.
    looking[0].send(Kind::Control, &json!({"op": "status"}));
    looking[0].wait(Kind::Reply);
    job.client(json!({"role": "view"})).wait_for("on");
}

#[test]
fn a_client_that_never_reads_holds_nobody_up() {
    let job = Job::sh(&format!("stty -echo; read x; {}; echo end; read x", flood()));
    let mut lazy = job.client(json!({"role": "view"}));
    lazy.wait(Kind::Resync);
    let mut control = job.control();
    control.ask(&json!({"op": "send", "text": "\r"}));
    // It is through with everything although one of them has read nothing.
    let mut asked = json!("");
    while !asked["text"].as_str().unwrap_or_default().contains("end") {
        asked = control.ask(&json!({"op": "snapshot"}));
    }
    // Now it reads: what it began, then the screen in place of all the rest.
    lazy.seen.clear();
    lazy.wait(Kind::Resync);
    assert!(lazy.seen.len() < 2 * HOST_QUEUE_BYTES_MAX, "{}", lazy.seen.len());
    lazy.wait_for("end");
}

#[test]
fn a_client_that_reads_late_gets_every_byte() {
    // More than its socket holds, and less than is kept for it.
    let n_lines = HOST_QUEUE_BYTES_MAX / 16;
    let job =
        Job::sh(&format!("stty -echo -onlcr; echo on; read x; seq {n_lines}; echo end; read x"));
    let mut late = job.client(json!({"role": "view"}));
    late.wait_for("on");
    let mut control = job.control();
    control.ask(&json!({"op": "send", "text": "\r"}));
    let mut asked = json!("");
    while !asked["text"].as_str().unwrap_or_default().contains("end") {
        asked = control.ask(&json!({"op": "snapshot"}));
    }
    while !late.seen.contains("end") {
        assert!(late.read());
    }
    let lines: String = (1..=n_lines).map(|line| format!("{line}\n")).collect();
    assert!(late.seen.contains(&lines));
}

#[test]
fn a_client_that_asks_and_never_reads_is_let_go_of() {
    let job = Job::sh("yes | head -n 100; echo on; cat");
    job.attach().wait_for("on");
    let mut greedy = job.control();
    // Each question is smaller than its answer, so that twice as many bytes are too many.
    let status = frame::encode(Kind::Control, br#"{"op":"status"}"#).repeat(1_000);
    let n_max = 2 * HOST_REPLIES_BYTES_MAX / status.len();
    let n_sent = (0..n_max).take_while(|_| greedy.stream.write_all(&status).is_ok()).count();
    assert!(n_sent < n_max, "it was never let go of");
    assert_eq!(job.control().ask(&json!({"op": "status"}))["alive"], true);
}

#[test]
fn a_snapshot_beyond_its_limit_comes_without_scrollback() {
    // A line is one of 512 letters with a color each, which takes some three kilobytes.
    let n_lines = HOST_SNAPSHOT_BYTES_MAX / 2_800;
    let line = "'\\033[31mx\\033[32my\\033[33mz\\033[34m-'";
    let script = format!(
        "l=$(printf {line}); for i in 1 2 3 4 5 6 7; do l=\"$l$l\"; done; stty -echo; echo on; \
         read x; i=0; while [ $i -lt $x ]; do echo \"$l\"; i=$((i+1)); done; echo end; cat",
    );
    let job = Job::sh(&script);
    let mut writer = job.client(json!({"role": "attach", "cols": 600, "rows": 5}));
    writer.wait_for("on");
    writer.type_in(&format!("{n_lines}\r"));
    writer.wait_for("end");
    let mut viewer = job.client(json!({"role": "view"}));
    let n_bytes = viewer.wait(Kind::Resync)["bytes"].as_u64().unwrap();
    assert!(n_bytes < HOST_SNAPSHOT_BYTES_MAX as u64 / 16, "{n_bytes}");
    viewer.wait_for("end");
}

#[test]
fn input_that_a_program_does_not_read_is_bounded() {
    let job = Job::sh("stty raw -echo; echo on; exec sleep 1000");
    job.attach().wait_for("on");
    let mut control = job.control();
    let send = json!({"op": "send", "text": "x".repeat(100_000)});
    let taken = (0..100).take_while(|_| control.ask(&send) == json!({"ok": true})).count();
    // What the kernel holds for the program comes on top.
    let n_full = HOST_INPUT_BYTES_MAX / 100_000;
    assert!((n_full..=n_full + 2).contains(&taken), "{taken}");
    assert_eq!(control.ask(&send)["error"]["code"], "input_full");
    // A writer is not listened to until there is room: its socket fills, and nobody else notices.
    let mut writer = job.attach();
    writer.stream.set_nonblocking(true).unwrap();
    let paste = frame::encode(Kind::Data, &[b'x'; 100_000]);
    let refused = (0..1_000).find_map(|_| writer.stream.write_all(&paste).err());
    assert_eq!(refused.map(|error| error.kind()), Some(io::ErrorKind::WouldBlock));
    assert_eq!(control.ask(&json!({"op": "terminate"})), json!({"ok": true}));
}

#[test]
fn everyone_has_a_turn() {
    let job = Job::sh("yes");
    let mut viewer = job.client(json!({"role": "view"}));
    let mut control = job.control();
    let mut n_seen = 0;
    while n_seen < 20 * HOST_TURN_BYTES {
        assert_eq!(control.ask(&json!({"op": "status"}))["alive"], true);
        assert!(viewer.read());
        n_seen += viewer.seen.len();
        viewer.seen.clear();
    }
}

#[test]
fn a_program_that_ignores_the_polite_signal_is_killed() {
    let mut job = Job::sh("trap '' TERM HUP INT; echo deaf; while :; do sleep 0.1; done");
    let mut client = job.attach();
    client.wait_for("deaf");
    let mut control = job.control();
    control.ask(&json!({"op": "terminate"}));
    // It is served on while it is waited for.
    assert_eq!(control.ask(&json!({"op": "status"}))["alive"], true);
    let exit = job.end();
    assert_eq!((exit.signal.as_deref(), exit.stopped), (Some("SIGKILL"), true));
}

#[test]
fn a_background_child_does_not_hold_the_end_up() {
    let mut job = Job::sh("setsid sh -c 'echo hi; exec sleep 600' & read x");
    let mut client = job.attach();
    client.wait_for("hi");
    client.type_in("\r");
    assert_eq!(job.end().code, Some(0));
    let left = [job.files.id().to_string()];
    assert_eq!(sandbox::scope::reap_leftover_jobs(&left, Duration::ZERO).len(), 1);
}

#[test]
fn a_client_that_never_reads_does_not_hold_the_end_up() {
    let mut job = Job::sh(&format!("stty -echo; read x; {}", flood()));
    let mut lazy = job.client(json!({"role": "view"}));
    lazy.wait(Kind::Resync);
    job.control().ask(&json!({"op": "send", "text": "\r"}));
    assert_eq!(job.end().code, Some(0));
}

#[test]
fn the_text_is_written_on_quiet_and_no_later_than_its_age() {
    let at = Duration::from_millis;
    let files = JobFiles::new("/".as_ref(), "/".as_ref(), &vocab::ids::JobId::generate());
    let mut paper = Paper::new(Recorder::new(&files, &Clock::system(), false, None));
    assert_eq!(paper.due(), None);
    let last = HOST_SCREEN_AGE_MS_MAX - 1;
    for (dirty, due) in [
        (100, 100 + HOST_QUIET_MS),
        (HOST_QUIET_MS, 2 * HOST_QUIET_MS),
        (last, 100 + HOST_SCREEN_AGE_MS_MAX),
    ] {
        paper.dirty(at(dirty));
        assert_eq!(paper.due(), Some(at(due)), "{dirty}");
    }
    // And so it happens: nothing else writes it while the program lives.
    let job = Job::sh("echo on; cat");
    job.attach().wait_for("on");
    while !job.files.screen().exists() {
        job.control().ask(&json!({"op": "status"}));
    }
    assert_eq!(job.screen(), "on\n");
}
