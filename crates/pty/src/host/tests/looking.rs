//! Who looks and who types: places taken, given back, and told.

use super::*;

#[test]
fn the_place_of_the_writer_goes_to_whoever_attaches_and_back_to_whoever_types() {
    let job = Job::sh("stty raw -echo; echo on; cat");
    let mut first = job.attach();
    first.wait_for("on");
    assert_eq!(first.wait(Kind::State)["writer"], true);
    let mut second = job.client(json!({"role": "attach", "cols": 90, "rows": 30}));
    let state = second.wait(Kind::State);
    assert_eq!((&state["writer"], &state["cols"]), (&json!(true), &json!(90)));
    let state = first.wait(Kind::State);
    assert_eq!((&state["writer"], &state["role"]), (&json!(false), &json!("attach")));
    // Its terminal answers and tells about the mouse: none of that is typed.
    first.type_in("\x1b[?62c\x1b[<0;1;1M\x1b[I");
    first.type_in("typed");
    second.wait_for("typed");
    first.wait_for("typed");
    assert!(!second.seen.contains("62c"));
    let states: Vec<_> = std::iter::from_fn(|| Some(first.wait(Kind::State))).take(1).collect();
    assert!(states.iter().any(|state| state["writer"] == true), "{states:?}");
    assert_eq!(second.wait(Kind::State)["writer"], false);
    assert_eq!(job.control().ask(&json!({"op": "status"}))["cols"], 100);
}

#[test]
fn a_thief_sends_the_writer_away() {
    let job = Job::sh("echo on; cat");
    let mut first = job.attach();
    first.wait_for("on");
    let mut viewer = job.client(json!({"role": "view"}));
    viewer.wait_for("on");
    let mut thief = job.client(json!({"role": "attach", "cols": 100, "rows": 20, "steal": true}));
    assert_eq!(first.let_go(), json!({"reason": "takeover"}));
    thief.wait_for("on");
    thief.type_in("mine\r");
    thief.wait_for("mine");
    viewer.wait_for("mine");
    let status = job.control().ask(&json!({"op": "status"}));
    assert_eq!(status["attached"], 2);
}

#[test]
fn who_only_looks_neither_types_nor_gives_a_size() {
    let job = Job::sh("echo on; cat");
    let mut viewer = job.client(json!({"role": "view", "cols": 33, "rows": 7}));
    viewer.wait_for("on");
    viewer.type_in("not mine\r");
    viewer.send(Kind::Resize, &json!({"cols": 44, "rows": 8}));
    viewer.send(Kind::Focus, &json!({"focused": true}));
    let state = viewer.wait(Kind::State);
    assert_eq!((&state["writer"], &state["cols"]), (&json!(false), &json!(120)));
    // Its first picture, and one for its new size.
    viewer.wait(Kind::Resync);
    viewer.wait(Kind::Resync);
    let mut writer = job.attach();
    writer.type_in("mine\r");
    viewer.wait_for("mine");
    assert!(!writer.seen.contains("not") && !viewer.seen.contains("not"), "{}", viewer.seen);
}

#[test]
fn who_becomes_the_writer_by_typing_gets_the_screen_in_its_size() {
    let job = Job::sh("echo on; cat");
    let mut first = job.attach();
    first.wait(Kind::Resync);
    let mut second = job.client(json!({"role": "attach", "cols": 60, "rows": 10}));
    second.wait(Kind::Resync);
    first.wait(Kind::Resync);
    first.frames.clear();
    first.type_in("typed\r");
    let state = first.wait(Kind::State);
    assert_eq!((&state["writer"], &state["cols"]), (&json!(true), &json!(100)));
    first.wait(Kind::Resync);
    second.wait(Kind::Resync);
    first.wait_for("typed");
    // It has it now: what it types, and how it changes its own size, brings no further one.
    first.frames.clear();
    first.send(Kind::Resize, &json!({"cols": 90, "rows": 20}));
    first.type_in("more\r");
    // The terminal shows it, and the program says it again.
    first.wait_for("more");
    first.wait_for("more");
    assert!(first.frames.iter().all(|frame| frame.kind != Kind::Resync));
}

#[test]
fn whoever_comes_later_sees_the_screen_and_what_has_scrolled_away() {
    let job = Job::sh("seq 1 200; echo last; cat");
    job.attach().wait_for("last");
    let mut later = job.client(json!({"role": "view"}));
    later.wait_for("1\r\n");
    later.wait_for("100\r\n");
    later.wait_for("last");
    let mut brief = job.client(json!({"role": "view", "scrollback": "none"}));
    brief.wait_for("last");
    assert!(!brief.seen.contains("100"));
    // One that follows the output gets no picture.
    let mut tail = job.client(json!({"role": "tail"}));
    tail.wait(Kind::State);
    let mut typist = job.attach();
    typist.type_in("new\r");
    tail.wait_for("new");
    assert!(tail.frames.iter().all(|frame| frame.kind != Kind::Resync));
}

#[test]
fn everyone_is_let_go_of_on_request_and_the_program_goes_on() {
    let mut job = Job::sh("echo on; read x; echo $x");
    let mut looking = [job.attach(), job.client(json!({"role": "view"}))];
    looking.iter_mut().for_each(|client| client.wait_for("on"));
    let mut control = job.control();
    assert_eq!(control.ask(&json!({"op": "detach"})), json!({"ok": true}));
    for client in &mut looking {
        assert_eq!(client.let_go(), json!({"reason": "request"}));
    }
    control.ask(&json!({"op": "send", "text": "later\r"}));
    assert_eq!(job.end().code, Some(0));
    assert_eq!(job.screen(), "on\nlater\nlater\n");
}

#[test]
fn twenty_viewers_see_the_same() {
    let mut job = Job::sh("stty -echo; read x; seq 1 5000; echo end");
    let mut viewers: Vec<_> = (0..20).map(|_| job.client(json!({"role": "view"}))).collect();
    viewers.iter_mut().for_each(|viewer| drop(viewer.wait(Kind::Resync)));
    job.control().ask(&json!({"op": "send", "text": "\r"}));
    for viewer in &mut viewers {
        viewer.wait_for("1\r\n2\r\n");
        viewer.wait_for("5000\r\nend");
        assert_eq!(viewer.let_go(), json!({"reason": "exit"}));
    }
    assert_eq!(job.end().code, Some(0));
}
