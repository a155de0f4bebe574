//! What keys and news do, as values.

mod kept;

use super::*;
use crate::{
    msg::{Haste, Named, Size},
    state::{Content, Look},
    testing::{NOW, Play, asks, block, ended, loaded, parked, row, rows, said, session_id},
};
use serde_json::{Value, json};
use stdx::clock::Timestamp;
use vocab::{limits::VIEW_ORDERS_MAX, message::Answer};

const SIZE: (usize, usize) = (80, 24);

fn play() -> Play {
    Play::of(rows(), SIZE)
}

fn named(id: &str, name: &str) -> Named {
    Named { id: id.to_owned(), name: name.to_owned() }
}

fn fact(kind: &str, about: &str) -> Msg {
    Msg::Fact(Fact { kind: kind.to_owned(), about: about.to_owned() })
}

/// Presses keys on a row, and checks what is wanted then.
fn check(id: &str, keys: &str, expected: &[Command]) {
    let mut play = play();
    play.select(id).keys(keys);
    assert_eq!(play.commands(), expected, "{keys:?} on {id}");
}

fn order(order: Order) -> [Command; 1] {
    [Command::Order(order)]
}

#[test]
fn keys_are_commands_to_what_is_selected() {
    let session = session_id(1);
    let (totals, build) = (session_id(2), named("0123abcd", "fix the build"));
    check("0123abcd", "\n", &[Command::Attach("0123abcd".into())]);
    check("0123abcd", "sy", &order(Order::StopJob(build.clone())));
    check("0123abcd", "sn", &[]);
    check("0123abcd", "xy", &order(Order::RemoveJob(build.clone())));
    check("0123abcd", "p", &order(Order::Pin { job: build, pinned: false }));
    check("0123abcd", "R", &[]);
    check("0123abd1", "R", &order(Order::Respawn(named("0123abd1", "tests"))));
    check("0123abd1", "s", &[]);
    check("0123abd1", "a", &[]);
    check("0123abd1", "\n", &[Command::Unfollow, Command::LoadScreen("0123abd1".into())]);
    let name = "why does the 🚀 build fail?";
    check(&session, "sy", &order(Order::StopSession(named(&session, name))));
    check(&session, "xy", &order(Order::RemoveSession(named(&session, name))));
    check(&session, "rpR", &[]);
    check(&totals, "\n", &[Command::Unfollow, Command::LoadSession(totals.clone(), Haste::Now)]);
    check(
        &totals,
        "ago on\n",
        &order(Order::Say { session: totals.clone(), text: "go on".into() }),
    );
    check("0123abcd", "aq\n", &order(Order::Type { job: "0123abcd".into(), text: "q\r".into() }));
    check("0123abcd", "a\n", &order(Order::Type { job: "0123abcd".into(), text: "\r".into() }));
    check(
        "0123abcd",
        "r 2\n",
        &order(Order::Rename { job: "0123abcd".into(), name: "fix the build 2".into() }),
    );
    check("0123abcd", "r\n", &[]);
    check("0123abcd", "nwhy?\n", &order(Order::Ask { prompt: "why?".into() }));
    check(
        "0123abcd",
        "n! npm test\n",
        &order(Order::Start { command: vec!["npm".into(), "test".into()] }),
    );
    check("0123abcd", "n!\n", &[]);
    check("0123abcd", "n \n", &[]);
    check("0123abcd", "q", &[Command::Quit]);
    check("0123abcd", "?qq", &[Command::Quit]);
}

#[test]
fn what_was_stopped_can_be_started_again_before_its_end_is_told() {
    let stopped = row("0123abcd", "one", &json!({"state": "stopped", "status": "stopped"}));
    let mut play = Play::of(vec![stopped], SIZE);
    play.keys("R");
    assert_eq!(play.commands(), order(Order::Respawn(named("0123abcd", "one"))));
}

#[test]
fn what_cannot_be_done_says_why() {
    for (id, keys, said) in [
        ("0123abcd", "R", "it still runs"),
        ("0123abd1", "s", "it has ended already"),
        ("0123abd1", "a", "it has ended; R starts it again"),
        ("0123abcd", "sn", "nothing was done"),
        (&session_id(1), "R", "a session goes on when something is said to it: a"),
    ] {
        let mut play = play();
        play.select(id).keys(keys);
        assert_eq!(play.notice(), said, "{keys} on {id}");
        play.key(Key::Down);
        assert_eq!(play.notice(), "", "the next key clears it");
    }
}

#[test]
fn a_list_that_keeps_changing_is_read_with_a_pause() {
    let mut play = play();
    play.tell(fact("job_changed", "0123abcd"));
    assert_eq!(play.commands(), [Command::LoadRows(Haste::Now)]);
    for _ in 0..100 {
        play.tell(fact("job_changed", "0123abcd"));
    }
    assert_eq!(play.commands(), [], "it is being read");
    play.tell(Msg::Rows(Ok(rows())));
    assert_eq!(play.commands(), [Command::LoadRows(Haste::Soon)]);
    play.tell(Msg::Rows(Ok(rows())));
    assert_eq!(play.commands(), []);
    // How long that is, the loop knows.
    assert_eq!(vocab::limits::VIEW_RELOAD_MS, 200);
    for (kind, is_read) in [("run_ended", true), ("step_ended", false), ("of_tomorrow", false)] {
        play.tell(fact(kind, "ses_x"));
        assert_eq!(!play.commands().is_empty(), is_read, "{kind}");
        play.tell(Msg::Rows(Ok(rows())));
        play.commands();
    }
}

#[test]
fn a_daemon_that_is_gone_leaves_what_was_known_and_is_asked_anew() {
    let mut play = play();
    play.tell(fact("job_ended", "0123abcd"));
    play.tell(Msg::Link(Link::Lost { why: "it broke".into() }));
    play.tell(Msg::Rows(Err(Failure::not_started("connection_broken", "it broke"))));
    assert_eq!((play.state.list.rows().len(), play.notice()), (rows().len(), ""));
    play.commands();
    play.tell(Msg::Link(Link::Live));
    assert_eq!(play.commands(), [Command::LoadRows(Haste::Now)]);
    play.tell(Msg::Rows(Err(Failure::not_started("busy", "no\u{1b}[2J"))));
    assert_eq!(play.notice(), "no␛[2J");
}

#[test]
fn a_peek_goes_with_the_selection_and_its_screen_is_read_each_second() {
    let mut play = play();
    play.select("0123abcd").keys(" ");
    assert_eq!(play.commands(), [Command::Unfollow, Command::LoadScreen("0123abcd".into())]);
    let tick = || Msg::Tick(Timestamp::from_millis(NOW.as_millis() + 1_000));
    play.tell(tick());
    assert_eq!(play.commands(), [], "it is being read");
    let got = |text: &str| Msg::Screen { id: "0123abcd".into(), got: Ok(text.into()) };
    play.tell(got("a\u{1b}[2J\nb\n\n"));
    assert_eq!(
        play.commands(),
        [Command::LoadScreen("0123abcd".into())],
        "it may have changed since"
    );
    play.tell(got("a\u{1b}[2J\nb\n\n"));
    let lines = ["a␛[2J".to_owned(), "b".to_owned()];
    assert_eq!(play.state.watched.as_ref().unwrap().content, Content::Screen(lines.into()));
    assert!(play.state.watches_a_screen());
    play.tell(tick());
    assert_eq!(play.commands(), [Command::LoadScreen("0123abcd".into())]);
    play.key(Key::Down);
    assert_eq!(play.commands(), [Command::Unfollow, Command::LoadScreen("0123abcf".into())]);
    // What was on its way is for a row that is not watched any more.
    play.tell(got("late"));
    assert_eq!(play.state.watched.as_ref().unwrap().content, Content::Loading);
    play.key(Key::Esc);
    assert_eq!((play.state.look, play.commands()), (Look::Closed, vec![Command::Unfollow]));
    play.tell(tick());
    assert_eq!(play.commands(), [], "nothing is read that nobody sees");
}

#[test]
fn a_session_is_followed_while_it_works_and_read_when_it_stops() {
    let id = session_id(2);
    let mut play = play();
    play.select(&id).keys(" ");
    let session = |run: Value| Msg::Session {
        id: session_id(2),
        got: Ok(loaded(&session_id(2), &run, said())),
    };
    play.commands();
    play.tell(session(json!({"state": "running"})));
    assert_eq!(play.commands(), [Command::Follow(id.clone())]);
    play.tell(fact("call_started", &id));
    assert_eq!(play.commands(), [], "the stream tells it");
    let chunks = vec![
        json!({"type": "start", "messageId": "m3"}),
        json!({"type": "text-start", "id": "p0"}),
        json!({"type": "text-delta", "id": "p0", "delta": "live"}),
    ];
    play.tell(Msg::Chunks { id: id.clone(), chunks });
    let told = play.state.watched.as_ref().unwrap().transcript().unwrap().lines(40, 2, 0);
    assert_eq!(told[0].text, "live");
    play.tell(Msg::StreamEnded { id: id.clone() });
    assert_eq!(play.commands(), [Command::LoadSession(id, Haste::Soon)]);
    play.tell(session(json!({"state": "ended", "end": "finished"})));
    assert_eq!(play.commands(), [], "nothing is live any more");
}

#[test]
fn a_question_is_read_to_its_end_and_then_answered() {
    let id = session_id(1);
    let mut play = play();
    let long: String = (0..40).map(|n| format!("echo {n}\n")).collect();
    play.select(&id).keys("a");
    assert_eq!(play.commands(), [Command::Unfollow, Command::LoadSession(id.clone(), Haste::Now)]);
    // Typed before the question was there: no answer to it.
    play.keys("y");
    let run = json!({"state": "parked", "blocks": [block(1, &long), block(2, "ls")]});
    play.tell(Msg::Session { id: id.clone(), got: Ok(loaded(&id, &run, said())) });
    assert_eq!(play.commands(), [Command::ForgetTyped]);
    play.keys("y");
    assert_eq!((play.commands(), play.notice()), (vec![], "read it to its end first: PgDn"));
    play.key(Key::PageDown).key(Key::PageDown).keys("y");
    let answer = |n: usize, approved: bool, reason: Option<&str>| {
        let block = serde_json::from_value(json!(format!("blk_{n:032}"))).unwrap();
        let answer = Answer { approved, reason: reason.map(str::to_owned) };
        Command::Order(Order::Answer { session: session_id(1), block, answer })
    };
    assert_eq!(
        play.commands(),
        [answer(1, true, None), Command::ForgetTyped],
        "and the next one is asked"
    );
    play.keys("N").key(Key::Esc).keys("Nuse ls -l\n");
    assert_eq!(play.commands(), [answer(2, false, Some("use ls -l"))]);
    assert_eq!(play.state.mode, Mode::Normal);
    play.tell(Msg::Done(Err(Failure::not_started("answer_late", "too late").with_hint("look"))));
    assert_eq!(play.notice(), "too late — look");
    assert_eq!(play.commands(), [Command::LoadSession(id.clone(), Haste::Now)]);
    play.tell(Msg::Session {
        id: id.clone(),
        got: Ok(loaded(&id, &json!({"state": "running"}), said())),
    });
    play.commands();
    play.keys("a");
    play.tell(Msg::Session {
        id: id.clone(),
        got: Ok(loaded(&id, &json!({"state": "running"}), said())),
    });
    assert_eq!(play.notice(), "nothing waits for an answer any more");
}

#[test]
fn a_key_means_one_thing_at_a_time() {
    let id = session_id(1);
    let told = |blocks: Value| {
        let run = json!({"state": "parked", "blocks": blocks});
        Msg::Session { id: session_id(1), got: Ok(loaded(&session_id(1), &run, said())) }
    };
    let mut play = play();
    // Between the wish to answer and the question, keys are neither an answer nor commands.
    play.select(&id).keys("a").commands();
    play.keys("xnjq");
    assert_eq!((play.commands(), &play.state.mode), (vec![], &Mode::Normal), "q gives up");
    play.keys("a").keys("xsn/");
    assert_eq!(play.state.list.selected().unwrap().id, id);
    play.commands();
    play.tell(told(json!([block(1, "ls")])));
    assert_eq!(play.commands(), [Command::ForgetTyped]);
    // Somebody else answers: what is typed on is for nobody, and the question goes with a key.
    play.keys("Nbecau").tell(fact("block_answered", &id)).commands();
    play.tell(told(json!([])));
    play.keys("se it, sxy");
    assert_eq!(play.commands(), []);
    assert!(matches!(play.state.mode, Mode::Answer(_)));
    play.key(Key::Enter);
    assert_eq!((play.commands(), &play.state.mode), (vec![], &Mode::Normal));
    // A question of the view's own is answered by the next key, whichever it is.
    play.select("0123abcd").keys("s").key(Key::Down);
    assert_eq!((play.notice(), &play.state.mode), ("nothing was done", &Mode::Normal));
    assert_eq!(play.state.list.selected().unwrap().id, "0123abcd");
}

#[test]
fn a_filter_is_written_over_the_list_and_escape_takes_it_back() {
    let mut play = play();
    play.keys("/totals");
    assert_eq!(play.state.list.selected().unwrap().id, session_id(2));
    play.key(Key::Enter).keys("j").tell(Msg::Rows(Ok(rows())));
    assert_eq!(play.state.list.filter(), "totals");
    play.key(Key::Esc);
    assert_eq!(play.state.list.filter(), "");
    play.keys("/x").key(Key::Ctrl('c'));
    assert_eq!((play.state.list.filter(), &play.state.mode), ("", &Mode::Normal));
    play.keys("/").tell(Msg::Paste("server".into()));
    assert_eq!(play.state.list.selected().unwrap().id, "0123abcf");
}

#[test]
fn what_is_pasted_is_no_command() {
    let mut play = play();
    play.tell(Msg::Paste("qxyq".into()));
    assert_eq!((play.commands(), &play.state.mode), (vec![], &Mode::Normal));
    play.keys("n").tell(Msg::Paste("one\r\ntwo".into())).key(Key::Enter);
    assert_eq!(play.commands(), order(Order::Ask { prompt: "one\ntwo".into() }));
}

#[test]
fn so_many_orders_are_carried_out_at_once() {
    let mut play = play();
    for _ in 0..=VIEW_ORDERS_MAX {
        play.select("0123abcd").keys("p");
    }
    assert_eq!(play.notice(), "too much is being done already; wait a moment");
    play.tell(Msg::Done(Ok(String::new()))).keys("p");
    assert_eq!(play.commands().len(), 1);
}

#[test]
fn what_is_scrolled_stays_where_it_is_while_more_comes() {
    let id = session_id(2);
    let mut play = play();
    play.select(&id).keys("\n");
    let messages: Vec<Value> = (0..60)
        .map(|n| json!({"id": format!("m{n}"), "role": "user", "parts": [{"type": "text", "text": format!("word {n}")}]}))
        .collect();
    play.tell(Msg::Session {
        id: id.clone(),
        got: Ok(loaded(&id, &json!({"state": "running"}), json!(messages))),
    });
    let shown = |play: &Play| {
        let watched = play.state.watched.as_ref().unwrap();
        watched.transcript().unwrap().lines(78, play.state.pane_lines(), watched.up)
    };
    play.key(Key::PageUp);
    let before = shown(&play);
    let chunks = vec![
        json!({"type": "start", "messageId": "m99"}),
        json!({"type": "text-start", "id": "p0"}),
        json!({"type": "text-delta", "id": "p0", "delta": "a\nb\nc"}),
    ];
    play.tell(Msg::Chunks { id, chunks });
    assert_eq!(shown(&play), before);
    play.key(Key::Home);
    assert_eq!(shown(&play)[0].text, "> word 0");
    play.key(Key::End);
    assert_eq!(play.state.watched.as_ref().unwrap().up, 0);
    // A smaller terminal and a larger one keep within what there is.
    play.key(Key::Home).tell(Msg::Resize(Size { columns: 40, lines: 10 }));
    play.tell(Msg::Resize(Size { columns: 300, lines: 200 }));
    assert_eq!(shown(&play)[0].text, "> word 0");
}

#[test]
fn coming_back_from_a_job_reads_what_has_changed() {
    let mut play = play();
    play.tell(Msg::Returned(Err("the host is gone".into())));
    assert_eq!(play.notice(), "the host is gone");
    assert_eq!(play.commands(), [Command::LoadRows(Haste::Now)]);
}

#[test]
fn a_session_alone_reads_no_list_and_leaves_with_escape() {
    let mut play = Play::of(Vec::new(), SIZE);
    play.state.place.is_alone = true;
    play.state.watched =
        Some(crate::state::Watched::new(named(&session_id(1), ""), api::job::RowKind::Session));
    play.state.look = Look::Full;
    play.tell(Msg::Link(Link::Live));
    assert_eq!(play.commands(), [Command::LoadSession(session_id(1), Haste::Now)]);
    let got = loaded(&session_id(1), &parked(1, "ls"), said());
    play.tell(Msg::Session { id: session_id(1), got: Ok(got) });
    assert_eq!(play.state.watched.as_ref().unwrap().who.name, "why does the 🚀 build fail?");
    play.keys("a");
    assert_eq!(play.commands(), [Command::ForgetTyped]);
    play.key(Key::Esc).tell(fact("run_ended", &session_id(1)));
    assert_eq!(play.commands(), [Command::LoadSession(session_id(1), Haste::Now)]);
    play.key(Key::Esc);
    assert_eq!(play.commands(), [Command::Quit]);
}

#[test]
fn a_row_that_goes_takes_its_peek_along() {
    let only = vec![row("0123abcd", "one", &json!({}))];
    let mut play = Play::of(only, SIZE);
    play.keys(" ").commands();
    play.tell(Msg::Rows(Ok(Vec::new())));
    assert_eq!((play.state.look, &play.state.watched), (Look::Closed, &None));
    for keys in ["\n", " ", "a", "s", "x", "r", "p", "R"] {
        play.keys(keys);
        assert_eq!(play.state.mode, Mode::Normal, "{keys}");
    }
    let mut play = Play::of(vec![row(&session_id(1), "q", &asks())], SIZE);
    play.tell(Msg::Rows(Ok(vec![row(
        "0123abd1",
        "t",
        &ended("done", "", "2023-11-14T21:00:00.000Z"),
    )])));
    assert_eq!(play.state.list.selected().unwrap().id, "0123abd1");
}
