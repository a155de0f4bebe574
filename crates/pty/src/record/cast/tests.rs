//! Exports as strangers read them.

use asciicast_rs::{AsciicastVersioned, v2, v3};

use vocab::limits::RECORD_RETRY_MS;

use super::super::tests::{BEGAN, Desk, exit};
use super::*;
use crate::record::Told;

fn job(desk: &Desk) -> JobRecord {
    JobRecord {
        id: desk.files.id().clone(),
        name: "a \"name\"".into(),
        cwd: "/".into(),
        command: ["sh", "-c", "it's \u{1b}"].map(str::to_owned).to_vec(),
        env: [("SHELL".into(), "/bin/zsh".into()), ("KEY".into(), "secret".into())].into(),
        env_names: Vec::new(),
        token: "hidden-token".into(),
        session_file: None,
        worktree: None,
        origin: "bg".into(),
        agent: false,
        asked: crate::job::Asked::default(),
        created_at: 0,
        daemon_socket: None,
        stead_version: "0".into(),
        record: true,
    }
}

fn exported(desk: &Desk, version: Version) -> String {
    let mut out = Vec::new();
    let mut n_watched = 0;
    export(&mut desk.reader(), &job(desk), version, &mut out, &mut |_| n_watched += 1).unwrap();
    assert!(0 < n_watched);
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains("secret") && !text.contains("hidden-token"));
    text
}

fn v3(desk: &Desk) -> v3::Recording {
    match AsciicastVersioned::from_reader(exported(desk, Version::V3).as_bytes()).unwrap() {
        AsciicastVersioned::V3(cast) => cast,
        AsciicastVersioned::V1(_) | AsciicastVersioned::V2(_) => panic!("another version"),
    }
}

fn v2(desk: &Desk) -> v2::Recording {
    match AsciicastVersioned::from_reader(exported(desk, Version::V2).as_bytes()).unwrap() {
        AsciicastVersioned::V2(cast) => cast,
        AsciicastVersioned::V1(_) | AsciicastVersioned::V3(_) => panic!("another version"),
    }
}

/// Returns the events, each as its code and its data.
fn lines(text: &str) -> Vec<String> {
    let events = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    events
        .map(|event| format!("{} {}", event[1].as_str().unwrap(), event[2].as_str().unwrap()))
        .collect()
}

#[test]
fn strangers_read_what_was_recorded() {
    let mut desk = Desk::new();
    desk.later(1_500);
    desk.show("\x1b[31mred\x1b[m\r\n");
    desk.later(250);
    desk.resize(30, 5);
    desk.recorder.put(&desk.mirror, Told::Marker("blocked"));
    desk.later(2_000);
    desk.show("end");
    desk.recorder.finish(&desk.mirror, &exit(7));

    let cast = v3(&desk);
    let header = &cast.header;
    assert_eq!((header.term.cols, header.term.rows), (20, 4));
    assert_eq!(header.term.r#type.as_deref(), Some(TERM));
    // The recording begins with the first thing shown.
    assert_eq!(header.timestamp, Some(BEGAN / 1_000 + 1));
    assert_eq!(header.title.as_deref(), Some("a \"name\""));
    assert_eq!(header.command.as_deref(), Some("sh -c 'it'\\''s \u{1b}'"));
    let told: Vec<String> =
        cast.absolute_times().map(|(at, event)| format!("{at:.3} {:?}", event.payload)).collect();
    let size = "Resize(Resize { cols: 30, rows: 5 })";
    let expected = [
        "0.000 Output(\"\\u{1b}[31mred\\u{1b}[m\\r\\n\")".to_owned(),
        format!("0.250 {size}"),
        "0.250 Marker(\"blocked\")".to_owned(),
        "2.250 Output(\"end\")".to_owned(),
    ];
    assert_eq!(told[..4], expected);
    assert!(told[4].starts_with("2.250 Exit(") && told[4].contains('7'), "{}", told[4]);
    assert_eq!(told.len(), 5);

    let cast = v2(&desk);
    assert_eq!((cast.header.width, cast.header.height), (20, 4));
    let times: Vec<String> = cast.absolute_times().map(|(at, _)| format!("{at:.3}")).collect();
    assert_eq!(times, ["0.000", "0.250", "0.250", "2.250"]);
    let text = exported(&desk, Version::V2);
    assert!(text.lines().next().unwrap().contains("\"TERM\":\"xterm-256color\""), "{text}");
}

#[test]
fn intervals_add_up_to_the_microsecond() {
    let mut desk = Desk::new();
    for n in 0..2_000 {
        desk.later(1 + n % 3);
        desk.show("x");
    }
    desk.recorder.flush();
    let of = |version| -> Vec<u64> {
        let text = exported(&desk, version);
        let times =
            text.lines().skip(1).map(|line| line[1..].split_once(',').unwrap().0.to_owned());
        times.map(|time| time.replace('.', "").parse().unwrap()).collect()
    };
    let (intervals, times) = (of(Version::V3), of(Version::V2));
    let mut sum = 0;
    for (interval, time) in intervals.iter().zip(&times) {
        sum += interval;
        assert_eq!(sum, *time);
    }
    assert_eq!(times.len(), 2_000);
}

#[test]
fn text_is_whole_wherever_it_was_cut() {
    let text = "aä€😀z".as_bytes();
    for at in 0..=text.len() {
        for second in at..=text.len() {
            let mut desk = Desk::new();
            desk.show(&text[..at]);
            desk.show(&text[at..second]);
            desk.show(&text[second..]);
            desk.recorder.flush();
            let told = lines(&exported(&desk, Version::V3));
            let joined: String = told.iter().map(|line| line.strip_prefix("o ").unwrap()).collect();
            assert_eq!(joined, "aä€😀z", "{at} {second}");
        }
    }
    // What never was text, or was cut for good, is told as such, each piece once and in its place.
    let mut desk = Desk::new();
    desk.show(b"a\xff\xfeb\xc3");
    desk.show(b"(\xe2\x82");
    desk.recorder.finish(&desk.mirror, &exit(0));
    let told = lines(&exported(&desk, Version::V3));
    assert_eq!(told, ["o a\u{fffd}\u{fffd}b", "o \u{fffd}(", "o \u{fffd}", "x 0"]);
}

#[test]
fn where_something_is_missing_the_screen_is_shown_anew() {
    let mut desk = Desk::new();
    desk.show("before");
    desk.recorder.flush();
    desk.lose_the_disk();
    desk.show(" restored");
    desk.resize(44, 9);
    desk.find_the_disk();
    desk.later(RECORD_RETRY_MS);
    desk.show("after");
    desk.recorder.flush();
    let told = lines(&exported(&desk, Version::V3));
    assert_eq!(told[..2], ["o before", "r 44x9"]);
    assert!(told[2].contains("restored"), "{}", told[2]);
    assert_eq!(told[3..], ["m 9 bytes were not recorded", "o after"]);
}

#[test]
fn a_death_by_signal_has_the_status_of_a_shell() {
    for (code, signal, expected) in
        [(Some(0), None, 0), (Some(3), None, 3), (None, Some("SIGKILL"), 137), (None, None, 1)]
    {
        let signal = signal.map(str::to_owned);
        assert_eq!(status(&ExitRecord { code, signal, ..exit(0) }), expected);
    }
}
