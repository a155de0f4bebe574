//! Recordings of the real programs, played through the mirror of a screen: which verdicts follow.
//!
//! The recordings are asciicasts in `tests/recordings`, with the agent's version in their names. They were made with
//! a model that plays a script: an answer, a command that asks for permission, an interruption. Reports that
//! hooks made at the time stand in them as marks.

use screen::{Event, Mirror, ProgramState, PromptMark, Size};
use serde_json::Value;

use crate::{
    Arbiter, State, agent,
    fact::{Announcement, Claim, Fact, Key, Mark, Moment, Progress, Report, What},
    rules::Rules,
};

/// Plays a recording and returns how the verdicts changed: when, the state, what is waited for.
struct Player {
    arbiter: Arbiter,
    mirror: Mirror,
    changes: Vec<(u64, State, Option<String>)>,
}

impl Player {
    fn play(cast: &str) -> Self {
        let mut lines = cast.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let head = lines.next().unwrap();
        let number = |name: &str| u16::try_from(head[name].as_u64().unwrap()).unwrap();
        let size = Size::clamped(number("width"), number("height"));
        let command = [head["command"].as_str().unwrap().to_owned()];
        let arbiter = Arbiter::new(&command, None, Moment::default());
        let mut player = Self { arbiter, mirror: Mirror::new(size), changes: Vec::new() };
        player.changed(0);
        for event in lines {
            let at = millis(&event[0]);
            player.wait_until(at);
            let text = event[2].as_str().unwrap();
            match event[1].as_str().unwrap() {
                "o" => player.show(at, text),
                "i" => {
                    let key = if text.contains('\r') { Key::Enter } else { Key::Other };
                    player.note(at, What::Typed(key));
                }
                "m" => {
                    if let Some(claim) = text.strip_prefix("report ") {
                        let claim = serde_json::from_value(Value::from(claim)).unwrap();
                        let source = "hook".to_owned();
                        let report = Report { source, claim, message: None, seq: None };
                        player.note(at, What::Reported(report));
                    }
                }
                _ => {}
            }
        }
        player
    }

    /// Does what falls due up to a moment.
    fn wait_until(&mut self, at: u64) {
        let until = Moment::default().plus(at);
        while let Some(due) = self.arbiter.due().filter(|due| *due <= until) {
            let now = due.since(Moment::default());
            if self.arbiter.wants_look(due) {
                self.arbiter.look(due, &self.mirror.screen_text());
            } else {
                self.arbiter.judge(due);
            }
            self.changed(now);
        }
    }

    fn show(&mut self, at: u64, text: &str) {
        self.mirror.feed(text.as_bytes());
        self.note(at, What::Wrote);
        for event in self.mirror.take_events() {
            if let Some(what) = meaning(event) {
                self.note(at, what);
            }
        }
    }

    fn note(&mut self, at: u64, what: What) {
        self.arbiter.note(Fact::new(Moment::default().plus(at), what));
        self.changed(at);
    }

    fn changed(&mut self, at: u64) {
        let verdict = self.arbiter.verdict();
        let told = (verdict.state, verdict.waiting_for);
        if self
            .changes
            .last()
            .is_none_or(|(_, state, waiting)| (*state, waiting) != (told.0, &told.1))
        {
            self.changes.push((at, told.0, told.1));
        }
    }
}

/// Reads seconds with three decimals.
fn millis(seconds: &Value) -> u64 {
    let (whole, part) =
        seconds.to_string().split_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    format!("{whole}{part:0<3}").parse().unwrap()
}

fn meaning(event: Event) -> Option<What> {
    Some(match event {
        Event::Title(title) => What::Titled(title),
        Event::Bell => What::Rang,
        Event::Progress(progress) => What::Progress(match progress {
            screen::Progress::None => Progress::None,
            screen::Progress::Failed(_) => Progress::Failed,
            screen::Progress::Paused(_) => Progress::Paused,
            screen::Progress::Busy | screen::Progress::Done(_) => Progress::Busy,
        }),
        Event::Notification { title, body } => {
            What::Notified([title.unwrap_or_default(), body].join(" "))
        }
        Event::Prompt(PromptMark::Output) => What::Marked(Mark::Running),
        Event::Prompt(_) => What::Marked(Mark::Prompt),
        Event::Status(status) => What::Announced(status.map(|status| Announcement {
            claim: match status.state {
                ProgramState::Working => Claim::Working,
                ProgramState::Blocked => Claim::Blocked,
                ProgramState::Idle | ProgramState::Done | ProgramState::Error => Claim::Idle,
            },
            word: "told".to_owned(),
            message: status.message.or(status.kind.map(|kind| format!("a {kind}"))),
        })),
        Event::Directory(_) | Event::Focus(_) | Event::Alternate(_) | Event::Asked(_) => {
            return None;
        }
    })
}

#[track_caller]
fn check(cast: &str, expected: &[(State, Option<&str>)]) {
    let player = Player::play(cast);
    let changes: Vec<_> =
        player.changes.iter().map(|(_, state, waiting)| (*state, waiting.as_deref())).collect();
    assert_eq!(changes, expected, "{:#?}", player.changes);
    // What the screen showed when whoever recorded it looked.
    let marks = cast.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for mark in marks.filter(|event| event[1] == "m") {
        let expected = match mark[2].as_str().unwrap() {
            "working" | "tool-runs" | "working-2" => State::Working,
            "blocked" => State::Blocked,
            "idle" | "interrupted" => State::Done,
            _ => continue,
        };
        // The recorder waited a little longer than the hold, and the programs were slower than it.
        let slack = if expected == State::Done { 200 } else { 0 };
        let at = millis(&mark[0]) + slack;
        let (_, state, _) = player.changes.iter().rfind(|(since, ..)| *since <= at).unwrap();
        assert_eq!(*state, expected, "{mark}: {:#?}", player.changes);
    }
}

const WORKING: (State, Option<&str>) = (State::Working, None);
const DONE: (State, Option<&str>) = (State::Done, None);
const TRUST: (State, Option<&str>) = (State::Blocked, Some("trust in the folder"));
const PERMISSION: (State, Option<&str>) = (State::Blocked, Some("a permission"));
/// The kind of question is told by the screen, a moment after the title or the hook told that there is one.
const ANSWER: (State, Option<&str>) = (State::Blocked, Some("an answer"));

#[test]
fn claude_by_its_title_and_screen() {
    let turn = [TRUST, DONE, WORKING, PERMISSION, WORKING, DONE, WORKING, DONE];
    let cast = include_str!("../tests/recordings/claude-2.1.197.cast");
    check(cast, &[&[WORKING], &turn[..]].concat());
    // In a terminal that it believes to show progress.
    let cast = include_str!("../tests/recordings/claude-2.1.197-progress.cast");
    check(cast, &[&[WORKING], &turn[..]].concat());
}

#[test]
fn claude_with_its_hooks() {
    let cast = include_str!("../tests/recordings/claude-2.1.197-hooks.cast");
    let turn = [TRUST, DONE, WORKING, ANSWER, PERMISSION, WORKING, DONE, WORKING, DONE];
    check(cast, &[&[WORKING], &turn[..]].concat());
}

#[test]
fn claude_with_a_file_to_write_and_a_question_of_its_own() {
    let cast = include_str!("../tests/recordings/claude-2.1.197-dialogs.cast");
    let with_hooks = [
        WORKING, TRUST, DONE, WORKING, ANSWER, PERMISSION, WORKING, DONE, WORKING, ANSWER, WORKING,
        DONE,
    ];
    check(cast, &with_hooks);
    let silent: Vec<&str> = cast.lines().filter(|line| !line.contains("\"report ")).collect();
    let without =
        [WORKING, TRUST, DONE, WORKING, PERMISSION, WORKING, DONE, WORKING, ANSWER, WORKING, DONE];
    check(&silent.join("\n"), &without);
}

#[test]
fn codex_by_what_it_says_and_against_its_notify() {
    let cast = include_str!("../tests/recordings/codex-0.171.0.cast");
    // It is idle and busy for a moment while it starts. Its notify program is told of the end of a turn that only
    // found a title, while it still works.
    assert!(cast.contains("\"report idle\""));
    let start = [WORKING, DONE, WORKING, DONE];
    let turn = [WORKING, PERMISSION, WORKING, DONE, WORKING, DONE];
    check(cast, &[&start[..], &turn].concat());
}

#[test]
fn pi_by_its_screen() {
    let cast = include_str!("../tests/recordings/pi-0.73.1.cast");
    check(cast, &[WORKING, DONE, WORKING, DONE]);
}

#[test]
fn opencode_by_its_screen() {
    let cast = include_str!("../tests/recordings/opencode-1.18.33.cast");
    check(cast, &[WORKING, DONE, WORKING, PERMISSION, WORKING, DONE, WORKING, DONE]);
}

#[test]
fn gemini_by_its_title_and_screen() {
    let cast = include_str!("../tests/recordings/gemini-0.61.0.cast");
    // It calls itself ready before it asks for trust.
    let start = [WORKING, DONE, TRUST, DONE];
    let turn = [WORKING, ANSWER, PERMISSION, WORKING, DONE, WORKING, DONE];
    check(cast, &[&start[..], &turn].concat());
}

#[test]
fn text_that_is_quoted_in_a_transcript_is_no_dialog() {
    let rule = "─".repeat(60);
    let quoted = "● I saw this:\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend\n\
                  \u{2800}⠼ Working... (esc to interrupt)\n";
    let screen = |hint: &str| -> Vec<String> {
        let text = format!("{quoted}\n{rule}\n❯ Do you want\n{rule}\n  {hint}\n");
        text.lines().map(str::to_owned).collect()
    };
    let claude = agent::of(&["claude".to_owned()]).unwrap();
    let rules = Rules::of(claude).unwrap();
    let read = |hint: &str| rules.read(&screen(hint), None).map(|seen| seen.claim);
    assert_eq!(read("? for shortcuts"), Some(Claim::Idle));
    assert_eq!(read("esc to interrupt"), Some(Claim::Working));
}
