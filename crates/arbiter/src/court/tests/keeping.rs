//! What an arbiter keeps, for how long, and what it says of it; and what it does not heed.

use super::*;

#[test]
fn so_many_sources_are_remembered() {
    let mut arbiter = arbiter("claude");
    for n in 0..=ARBITER_SOURCES_MAX {
        let at = AT(u64::try_from(n).unwrap());
        arbiter.note(Fact::new(at, report(&n.to_string(), Claim::Working, None)));
    }
    let heard = arbiter.explain(AT(99)).heard;
    let reports: Vec<_> = heard.iter().filter(|heard| heard.what == "report").collect();
    assert_eq!(reports.len(), ARBITER_SOURCES_MAX);
    assert!(reports.iter().all(|heard| heard.says != "working (0)"));
}

#[test]
fn what_is_quoted_is_one_bounded_line() {
    let mut arbiter = arbiter("claude");
    let message =
        Some(format!(" run\u{202e} \u{1b}[31m`x`?\n{}", "ä".repeat(ARBITER_TEXT_BYTES_MAX)));
    let source = "hook\u{7}".to_owned();
    let told = Report { source, claim: Claim::Blocked, message, seq: None };
    arbiter.note(Fact::new(AT(1), What::Reported(told)));
    let waiting_for = arbiter.verdict().waiting_for.unwrap();
    assert!(waiting_for.starts_with("run  [31m`x`? ää"), "{waiting_for}");
    assert!(waiting_for.len() <= ARBITER_TEXT_BYTES_MAX);
    assert_eq!(arbiter.verdict().detail, "hook reported it");
}

#[test]
fn a_verdict_stands_since_it_is_so_and_not_since_it_was_said_again() {
    let mut arbiter = arbiter("claude");
    for at in [100, 200, 300] {
        arbiter.note(Fact::new(AT(at), report("hook", Claim::Working, None)));
    }
    assert_eq!(arbiter.verdict().since, AT(0));
    assert!(arbiter.note(Fact::new(AT(400), report("hook", Claim::Blocked, None))));
    assert!(!arbiter.note(Fact::new(AT(500), report("hook", Claim::Blocked, None))));
    assert_eq!(arbiter.verdict().since, AT(400));
    assert_eq!(arbiter.verdict().waiting_for.as_deref(), Some("an answer"));
}

#[test]
fn what_is_known_can_be_handed_on() {
    let mut old = arbiter("claude");
    for (at, what) in [
        (100, report("hook", Claim::Working, Some(4))),
        (200, What::Titled("⠂ x".into())),
        (300, screen(Claim::Idle)(300)),
    ] {
        old.note(Fact::new(AT(at), what));
    }
    let json = serde_json::to_string(old.evidence()).unwrap();
    let evidence: Evidence = serde_json::from_str(&json).unwrap();
    let mut new = arbiter("claude");
    // The new host's clock began two seconds later.
    new.resume(evidence.on_clock_ahead_by(-2_000), Moment::from_millis(-1_600));
    assert_eq!(new.due(), Some(Moment::from_millis(-2_000 + 300).plus(HOLD)));
    assert_eq!(new.verdict().state, State::Working);
}

#[test]
fn a_persons_own_rules_are_used_unless_they_cannot_be() {
    let command = ["claude".to_owned()];
    let own =
        "agent = \"claude\"\n[[title]]\nname = \"mine\"\nsays = \"blocked\"\nstarts = \"!\"\n";
    let mut arbiter = Arbiter::new(&command, Some(own), AT(0));
    arbiter.note(Fact::new(AT(1), What::Titled("! x".into())));
    assert_eq!(arbiter.verdict().state, State::Blocked);
    let arbiter = Arbiter::new(&command, Some("agent = "), AT(0));
    let explanation = arbiter.explain(AT(0));
    assert!(explanation.rules_fault.unwrap().contains("claude"));
    assert_eq!(arbiter.rules.seen_with(), Rules::of(arbiter.agent().unwrap()).unwrap().seen_with());
}

#[test]
fn a_screen_is_looked_at_when_it_stands_still_or_has_not_for_long() {
    let mut arbiter = super::arbiter("claude");
    arbiter.note(Fact::new(AT(100), What::Wrote));
    assert_eq!(arbiter.due(), Some(AT(100 + ARBITER_LOOK_MS)));
    assert!(!arbiter.wants_look(AT(99 + ARBITER_LOOK_MS)));
    for at in (100..100 + ARBITER_LOOK_MS_MAX).step_by(100) {
        assert!(!arbiter.wants_look(AT(at)));
        arbiter.note(Fact::new(AT(at), What::Wrote));
    }
    assert!(arbiter.wants_look(AT(100 + ARBITER_LOOK_MS_MAX)));
    arbiter.look(AT(100 + ARBITER_LOOK_MS_MAX), &[]);
    assert!(!arbiter.wants_look(AT(99_000)));
    // Whose screens mean nothing is not looked at.
    let mut other = super::arbiter("make");
    other.note(Fact::new(AT(100), What::Wrote));
    assert!(!other.wants_look(AT(99_000)));
}

#[test]
fn an_explanation_can_be_read() {
    let mut arbiter = super::arbiter("claude");
    arbiter.note(Fact::new(AT(0), report("hook", Claim::Working, Some(2))));
    arbiter.note(Fact::new(AT(1_000), report("hook", Claim::Idle, Some(1))));
    arbiter.note(Fact::new(AT(2_000), screen(Claim::Idle)(2_000)));
    let expected = "\
working, as was reported: hook reported it
  for 2.5 s, confidence high
  agent: claude
weighed:
  decides    hook reported it (working)
  waits      its screen is of the kind rule (idle): it must last before it takes back a stronger kind
heard:
  0.5 s ago      screen        idle (rule)
  2.5 s ago      report        working (hook)
late reports that were ignored: 1
judged again in 2.5 s, if nothing happens before
";
    assert_eq!(arbiter.explain(AT(2_500)).to_string(), expected);
}

#[test]
fn a_shell_tells_its_prompt_and_an_agents_marks_mean_nothing() {
    for (command, state, source) in
        [("bash", State::Done, Source::Signal), ("pi", State::Working, Source::Process)]
    {
        check(
            command,
            vec![
                F(0, What::Marked(Mark::Prompt)),
                Is(0, state, source),
                F(1, What::Marked(Mark::Running)),
                Is(
                    1,
                    State::Working,
                    if command == "bash" { Source::Signal } else { Source::Process },
                ),
                F(2, What::Marked(Mark::Prompt)),
                Is(2, state, source),
            ],
        );
    }
    check(
        "vim",
        vec![F(0, What::Titled("Action Required".into())), Is(0, State::Working, Source::Process)],
    );
}
