//! Files of rules: what is refused, and what a rule may look at.

use vocab::limits::{
    ARBITER_CONDITIONS_MAX, ARBITER_REGION_LINES_MAX, ARBITER_RULES_BYTES_MAX, ARBITER_RULES_MAX,
};

use super::*;
use crate::agent::AGENTS;

fn parse(text: &str) -> Result<Rules, RulesError> {
    Rules::parse(&AGENTS[0], text)
}

fn rule(condition: &str) -> String {
    format!("agent = \"claude\"\n[[screen]]\nname = \"r\"\nsays = \"idle\"\nall = [{condition}]\n")
}

fn screen(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

#[test]
fn every_embedded_file_is_understood() {
    for (name, _) in EMBEDDED {
        let agent = AGENTS.iter().find(|agent| agent.name == *name).unwrap();
        let rules = Rules::of(agent).unwrap();
        assert!(!rules.is_empty() && !rules.seen_with().is_empty(), "{name}");
    }
}

#[test]
fn a_malformed_file_is_refused_with_its_place() {
    for (text, why) in [
        ("", "agent"),
        ("agent = \"pi\"", "written for"),
        ("agent = \"claude\"\nagents = 1", "unknown field"),
        (
            "agent = \"claude\"\n[[screen]]\nname = \"r\"\nsays = \"idle\"",
            "nothing that must be there",
        ),
        (&rule("{ in = \"bottom\", starts = \"\" }"), "every line"),
        (&rule("{ in = \"bottom\" }"), "every line"),
        (&rule("{ in = \"top\", starts = \"x\" }"), "unknown variant"),
        (&rule("{ in = \"box\", begins = \"x\" }"), "unknown field"),
        (&rule("{ in = \"box\", starts = \"x\", lines = 0 }"), "no line"),
        (&rule("{ in = \"box\", starts = \"x\" }").replace("idle", "done"), "unknown variant"),
        (&format!("{}since = \"two\"", rule("{ in = \"box\", starts = \"x\" }")), "version"),
        ("agent = \"claude\"\n[[title]]\nname = \"t\"\nsays = \"idle\"", "every text"),
        ("\u{0}", ""),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.code(), "rules_malformed");
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
}

#[test]
fn rules_beyond_their_limits_are_refused() {
    let good = rule("{ in = \"box\", starts = \"x\" }");
    let comment = format!("{good}#{}", "x".repeat(ARBITER_RULES_BYTES_MAX - good.len() - 1));
    assert!(parse(&comment).is_ok());
    assert_eq!(parse(&format!("{comment}x")).unwrap_err().code(), "rules_too_long");
    let titles = |n: usize| {
        let title = "[[title]]\nname = \"t\"\nsays = \"idle\"\nends = \"x\"\n";
        parse(&format!("agent = \"claude\"\n{}", title.repeat(n)))
    };
    assert!(titles(ARBITER_RULES_MAX).is_ok());
    assert_eq!(titles(ARBITER_RULES_MAX + 1).unwrap_err().code(), "rules_too_long");
    let conditions = |n: usize| parse(&rule(&"{ in = \"box\", starts = \"x\" },".repeat(n)));
    assert!(conditions(ARBITER_CONDITIONS_MAX).is_ok());
    assert!(conditions(ARBITER_CONDITIONS_MAX + 1).is_err());
    let lines =
        |n: usize| parse(&rule(&format!("{{ in = \"box\", lines = {n}, starts = \"x\" }}")));
    assert!(lines(ARBITER_REGION_LINES_MAX).is_ok());
    assert!(lines(ARBITER_REGION_LINES_MAX + 1).is_err());
}

#[test]
fn a_condition_looks_at_its_place_only() {
    let shown = "said: x1\n\n────────────────\n❯ x2\n────────────────\n  x3\n  x4\n\n\n";
    let check = |condition: &str, expected: bool| {
        let rules = parse(&rule(condition)).unwrap();
        assert_eq!(rules.read(&screen(shown), None).is_some(), expected, "{condition}");
    };
    for (condition, expected) in [
        ("{ in = \"bottom\", starts = \"x4\" }", true),
        ("{ in = \"bottom\", starts = \"x3\" }", false),
        ("{ in = \"bottom\", lines = 2, starts = \"x3\" }", true),
        ("{ in = \"box\", starts = \"❯ x\", ends = \"2\" }", true),
        ("{ in = \"box\", contains = \"x3\" }", false),
        ("{ in = \"below\", starts = \"x3\" }", true),
        ("{ in = \"below\", starts = \"x4\" }", false),
        ("{ in = \"above\", lines = 2, ends = \"x1\" }", true),
        ("{ in = \"above\", ends = \"x1\" }", false),
        ("{ in = \"box\", first = \"xy❯\" }", true),
        ("{ in = \"box\", first = \"spinner\" }", false),
    ] {
        check(condition, expected);
    }
    // Without a box near the bottom there is none.
    let rules = parse(&rule("{ in = \"box\", starts = \"❯\" }")).unwrap();
    assert!(rules.read(&screen(&format!("{shown}\na\nb\nc\nd\ne\nf")), None).is_none());
    assert!(rules.read(&[], None).is_none());
    assert!(rules.read(&screen("────────────────"), None).is_none());
}

#[test]
fn a_rule_holds_for_its_versions() {
    let text = rule("{ in = \"bottom\", starts = \"x\" }") + "since = \"2.1\"\nuntil = \"2.10.3\"";
    let rules = parse(&text).unwrap();
    for (version, expected) in [
        (None, true),
        (Some("2.1"), true),
        (Some("2.1.0"), true),
        (Some("2.10.2"), true),
        (Some("2.10.3"), false),
        (Some("2.0.99"), false),
        (Some("3"), false),
        (Some("odd"), true),
    ] {
        assert_eq!(rules.read(&screen("x"), version).is_some(), expected, "{version:?}");
    }
    let rules = Rules::of(&AGENTS[0]).unwrap();
    let version = |line: &str| rules.version(&screen(line));
    assert_eq!(version("╭─── Claude Code v2.1.197 ───╮").as_deref(), Some("2.1.197"));
    assert_eq!((version("Claude Code vx"), version("Claude Code")), (None, None));
}

#[test]
fn titles_mean_what_agents_mean_by_them() {
    let rules = Rules::default();
    let claim = |title: &str| rules.title(title).map(|seen| seen.claim);
    for (title, expected) in [
        ("⠂ Fix the tests", Some(Claim::Working)),
        ("⣾ x", Some(Claim::Working)),
        ("◐ x", Some(Claim::Working)),
        ("✳ Claude Code", Some(Claim::Idle)),
        ("◇  Ready (demo)", Some(Claim::Idle)),
        ("✋  Action Required (demo)", Some(Claim::Blocked)),
        ("[ . ] Action Required | demo", Some(Claim::Blocked)),
        ("demo", None),
        ("\u{2800}blank", None),
        ("", None),
    ] {
        assert_eq!(claim(title), expected, "{title:?}");
    }
}
