//! What follows from which facts, in time. A case is a list of facts and the verdicts that must stand.

use vocab::limits::{
    ARBITER_DISTURBED_MS, ARBITER_HOLD_MS, ARBITER_LOOK_MS, ARBITER_LOOK_MS_MAX, ARBITER_QUIET_MS,
    ARBITER_REPORT_QUIET_MS, ARBITER_RESTART_MS, ARBITER_SOURCES_MAX, ARBITER_TEXT_BYTES_MAX,
};

use super::*;
use crate::{
    explain::Outcome,
    fact::{Announcement, Claim, Ending, Key, Mark, Progress, Report},
    verdict::Source,
};

mod keeping;

const AT: fn(u64) -> Moment = |millis| Moment::from_millis(0).plus(millis);

fn arbiter(command: &str) -> Arbiter {
    let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    Arbiter::new(&words, None, AT(0))
}

fn report(source: &str, claim: Claim, seq: Option<u64>) -> What {
    What::Reported(Report { source: source.into(), claim, message: None, seq })
}

fn announce(claim: Claim) -> What {
    What::Announced(Some(Announcement { claim, word: "so".into(), message: None }))
}

fn screen(claim: Claim) -> impl Fn(u64) -> What {
    move |drawn| {
        let seen = Some(Seen { rule: "rule".into(), claim, waiting_for: None });
        What::Looked(Look { seen, drawn: AT(drawn) })
    }
}

/// A step of a case: at so many milliseconds a fact is seen, or the verdict is looked at.
enum Step {
    Fact(u64, What),
    Is(u64, State, Source),
}
use Step::{Fact as F, Is};

/// Plays a case; at every moment the arbiter asked for, it is judged.
#[track_caller]
fn check(command: &str, steps: Vec<Step>) -> Arbiter {
    let mut arbiter = arbiter(command);
    for (number, step) in steps.into_iter().enumerate() {
        let at = match &step {
            F(at, _) | Is(at, ..) => AT(*at),
        };
        while let Some(due) = arbiter.judgement.due.filter(|due| *due <= at) {
            arbiter.judge(due);
        }
        match step {
            F(_, what) => _ = arbiter.note(Fact::new(at, what)),
            Is(_, state, source) => {
                let told = (arbiter.verdict().state, arbiter.verdict().source);
                assert_eq!(told, (state, source), "step {number}: {:#?}", arbiter.explain(at));
            }
        }
    }
    arbiter
}

const HOLD: u64 = ARBITER_HOLD_MS;

#[test]
fn the_process_has_the_last_word() {
    use Claim::Blocked;
    for (ending, state) in [
        (Ending::Done, State::Done),
        (Ending::Failed, State::Failed),
        (Ending::Stopped, State::Stopped),
    ] {
        let arbiter = check(
            "claude",
            vec![
                Is(0, State::Working, Source::Process),
                F(1, report("hook", Blocked, None)),
                Is(1, State::Blocked, Source::Report),
                F(2, What::Ended(ending)),
                Is(2, state, Source::Process),
                F(3, report("hook", Blocked, None)),
                F(3, What::Wrote),
                Is(100_000, state, Source::Process),
            ],
        );
        assert_eq!(
            (arbiter.due(), arbiter.verdict().waiting_for),
            (Some(AT(3 + ARBITER_LOOK_MS)), None)
        );
    }
}

#[test]
fn reports_come_before_signals_and_screens() {
    use Claim::{Blocked, Idle, Working};
    check(
        "claude",
        vec![
            F(1, What::Titled("⠂ x".into())),
            F(2, report("hook", Blocked, None)),
            Is(2, State::Blocked, Source::Report),
            F(3, report("hook", Working, None)),
            Is(3, State::Working, Source::Report),
            F(4, report("hook", Idle, None)),
            Is(4, State::Done, Source::Report),
            // What was painted before it does not take it back.
            F(5, screen(Working)(3)),
            Is(50_000, State::Done, Source::Report),
        ],
    );
}

#[test]
fn late_reports_are_ignored() {
    use Claim::{Idle, Working};
    let arbiter = check(
        "claude",
        vec![
            F(1, report("hook", Working, Some(7))),
            F(2, report("hook", Idle, Some(9))),
            F(3, report("hook", Working, Some(8))),
            F(3, report("hook", Working, Some(9))),
            Is(3, State::Done, Source::Report),
            F(4, report("other", Working, Some(1))),
            Is(4, State::Working, Source::Report),
            F(5, report("hook", Idle, None)),
            Is(5, State::Done, Source::Report),
            F(6, report("hook", Working, Some(3))),
            Is(6, State::Working, Source::Report),
            // A count that begins anew.
            F(7 + ARBITER_RESTART_MS, report("hook", Idle, Some(1))),
            Is(7 + ARBITER_RESTART_MS, State::Done, Source::Report),
        ],
    );
    assert_eq!(arbiter.explain(AT(10)).late_reports, 2);
}

#[test]
fn a_stale_report_is_taken_back_after_the_hold() {
    use Claim::{Blocked, Idle, Working};
    // Esc: no hook tells of it. The screen alone takes three seconds.
    check(
        "pi",
        vec![
            F(0, report("hook", Working, None)),
            F(1_000, screen(Idle)(1_000)),
            Is(999 + HOLD, State::Working, Source::Report),
            Is(1_000 + HOLD, State::Done, Source::Screen),
            F(20_000, report("hook", Working, None)),
            Is(20_000, State::Working, Source::Report),
        ],
    );
    // The title says the same: no hold.
    check(
        "claude",
        vec![
            F(0, report("hook", Working, None)),
            F(10, What::Titled("⠂ x".into())),
            F(1_000, What::Titled("✳ x".into())),
            Is(1_000, State::Working, Source::Report),
            F(1_150, screen(Idle)(1_000)),
            Is(1_150, State::Done, Source::Signal),
        ],
    );
    // A permission was given, and no hook tells before the tool has run.
    check(
        "pi",
        vec![
            F(0, report("hook", Blocked, None)),
            F(1_000, screen(Working)(1_000)),
            Is(1_000, State::Blocked, Source::Report),
            Is(1_000 + HOLD, State::Working, Source::Screen),
        ],
    );
    check(
        "pi",
        vec![
            F(0, report("hook", Blocked, None)),
            F(900, What::Typed(Key::Other)),
            F(1_000, screen(Working)(1_000)),
            Is(1_000, State::Working, Source::Screen),
        ],
    );
    // A new turn that no hook tells of, begun by Enter, or by nobody here.
    check(
        "pi",
        vec![
            F(0, report("hook", Idle, None)),
            F(900, What::Typed(Key::Enter)),
            F(1_000, screen(Working)(1_000)),
            Is(1_000, State::Working, Source::Screen),
        ],
    );
    check(
        "pi",
        vec![
            F(0, report("hook", Idle, None)),
            F(900, What::Typed(Key::Other)),
            F(1_000, screen(Working)(1_000)),
            Is(1_000, State::Done, Source::Report),
            Is(1_000 + HOLD, State::Working, Source::Screen),
        ],
    );
}

#[test]
fn a_dialog_on_the_screen_blocks_at_once() {
    use Claim::{Blocked, Idle, Working};
    for before in [report("hook", Working, None), announce(Working), What::Titled("⠂ x".into())] {
        check(
            "claude",
            vec![
                F(0, before),
                F(1_000, screen(Blocked)(1_000)),
                Is(1_000, State::Blocked, Source::Screen),
            ],
        );
    }
    // The title stands still while a permission is waited for: no end of a turn.
    check(
        "claude",
        vec![
            F(0, What::Titled("⠂ x".into())),
            F(1_000, What::Titled("✳ x".into())),
            Is(1_000, State::Working, Source::Process),
            F(1_150, screen(Blocked)(1_000)),
            Is(1_150, State::Blocked, Source::Screen),
            // Answered: the screen was not looked at yet, and the title says so already.
            F(9_000, What::Titled("⠂ x".into())),
            Is(9_000, State::Working, Source::Signal),
            F(9_150, screen(Working)(9_000)),
            Is(9_150, State::Working, Source::Signal),
        ],
    );
    // A dialog that stood there before the turn was told to be over does not come back.
    check(
        "pi",
        vec![
            F(0, screen(Blocked)(0)),
            F(1_000, report("hook", Idle, None)),
            Is(60_000, State::Done, Source::Report),
        ],
    );
}

#[test]
fn a_program_that_tells_its_own_state_is_believed() {
    use Claim::{Blocked, Idle, Working};
    let arbiter = check(
        "codex",
        vec![
            F(0, announce(Working)),
            // A hook tells the end of something else.
            F(1_000, report("codex", Idle, None)),
            Is(1_000, State::Working, Source::Signal),
            F(2_000, screen(Idle)(2_000)),
            Is(9_000, State::Working, Source::Signal),
            F(9_500, announce(Blocked)),
            Is(9_500, State::Blocked, Source::Signal),
            F(10_000, announce(Idle)),
            Is(10_000, State::Done, Source::Signal),
            // Whoever speaks later is heard.
            F(11_000, report("script", Working, None)),
            Is(11_000, State::Working, Source::Report),
            F(12_000, What::Announced(None)),
            F(12_000, report("script", Idle, None)),
            Is(12_000, State::Done, Source::Report),
        ],
    );
    let overruled = arbiter.explain(AT(12_000)).weighed;
    assert!(overruled.iter().any(|it| it.outcome == Outcome::Decides), "{overruled:?}");
}

#[test]
fn progress_tells_the_end_of_a_turn() {
    check(
        "claude",
        vec![
            F(0, What::Progress(Progress::None)),
            Is(0, State::Working, Source::Process),
            F(1, What::Progress(Progress::Busy)),
            F(2, What::Titled("⠂ x".into())),
            Is(2, State::Working, Source::Signal),
            F(3, What::Titled("✳ x".into())),
            Is(8_000, State::Working, Source::Signal),
            F(8_001, What::Progress(Progress::None)),
            Is(8_001, State::Done, Source::Signal),
        ],
    );
    // With a hook that knows nothing of it.
    check(
        "claude",
        vec![
            F(0, What::Progress(Progress::Busy)),
            F(1, report("hook", Claim::Working, None)),
            F(2, What::Progress(Progress::None)),
            Is(2, State::Done, Source::Signal),
        ],
    );
    // A build that has come to an end is no turn.
    check(
        "make",
        vec![
            F(0, What::Progress(Progress::Busy)),
            F(1, What::Progress(Progress::None)),
            Is(1, State::Working, Source::Process),
        ],
    );
}

#[test]
fn silence_is_told_and_is_never_an_end() {
    let mut arbiter = check(
        "make",
        vec![
            F(1_000, What::Wrote),
            Is(999 + ARBITER_QUIET_MS, State::Working, Source::Process),
            Is(1_000 + ARBITER_QUIET_MS, State::Working, Source::Quiet),
            Is(86_400_000, State::Working, Source::Quiet),
        ],
    );
    assert_eq!(arbiter.verdict().status.as_deref(), Some("quiet"));
    // Nothing is waited for any more.
    assert_eq!(arbiter.due(), None);
    assert!(arbiter.note(Fact::new(AT(86_400_001), What::Wrote)));
    assert_eq!((arbiter.verdict().status, arbiter.verdict().since), (None, AT(0)));
    // Something that a shell has started works on in silence.
    check(
        "bash",
        vec![F(0, What::InFront(false)), Is(ARBITER_QUIET_MS * 9, State::Working, Source::Process)],
    );
    let arbiter = check(
        "pi",
        vec![
            F(0, report("hook", Claim::Working, None)),
            Is(ARBITER_QUIET_MS * 2, State::Working, Source::Report),
            Is(ARBITER_REPORT_QUIET_MS, State::Working, Source::Report),
        ],
    );
    assert_eq!(arbiter.verdict().status.as_deref(), Some("quiet"));
}

#[test]
fn a_repaint_for_a_client_is_no_sign_of_life() {
    let quiet = ARBITER_QUIET_MS;
    check(
        "make",
        vec![
            Is(quiet, State::Working, Source::Quiet),
            F(quiet + 1, What::Disturbed),
            F(quiet + ARBITER_DISTURBED_MS, What::Wrote),
            Is(quiet + ARBITER_DISTURBED_MS, State::Working, Source::Quiet),
            F(quiet + ARBITER_DISTURBED_MS + 1, What::Wrote),
            Is(quiet + ARBITER_DISTURBED_MS + 1, State::Working, Source::Process),
            // What follows a key is an answer.
            Is(quiet * 3, State::Working, Source::Quiet),
            F(quiet * 3, What::Disturbed),
            F(quiet * 3, What::Typed(Key::Other)),
            F(quiet * 3, What::Wrote),
            Is(quiet * 3, State::Working, Source::Process),
        ],
    );
    // What is painted again does not take back what was told since.
    check(
        "pi",
        vec![
            F(0, screen(Claim::Working)(0)),
            F(100, report("hook", Claim::Idle, None)),
            F(200, What::Disturbed),
            F(300, screen(Claim::Working)(300)),
            Is(60_000, State::Done, Source::Report),
        ],
    );
}
