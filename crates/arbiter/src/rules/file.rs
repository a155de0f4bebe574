//! The file of rules as it is written.

use serde::Deserialize;
use vocab::limits::{ARBITER_CONDITIONS_MAX, ARBITER_REGION_LINES_MAX};

use super::is_spinner;
use crate::fact::Claim;

/// A whole file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) agent: String,
    /// The versions whose recordings the rules were written from.
    #[serde(default)]
    pub(super) seen: Vec<String>,
    pub(super) version: Option<VersionRule>,
    #[serde(default)]
    pub(super) screen: Vec<ScreenRule>,
    #[serde(default)]
    pub(super) title: Vec<TextRule>,
    #[serde(default)]
    pub(super) notification: Vec<TextRule>,
}

/// Where a screen names the program's version.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VersionRule {
    /// The text right before it.
    pub(super) after: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScreenRule {
    pub(super) name: String,
    pub(super) says: Claim,
    pub(super) waiting_for: Option<String>,
    /// The first version it holds for.
    since: Option<String>,
    /// The first version it no longer holds for.
    until: Option<String>,
    #[serde(default)]
    pub(super) all: Vec<Condition>,
    #[serde(default)]
    pub(super) any: Vec<Condition>,
    #[serde(default)]
    pub(super) none: Vec<Condition>,
}

/// A rule for a title or a notification.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextRule {
    pub(super) name: String,
    pub(super) says: Claim,
    pub(super) waiting_for: Option<String>,
    starts: Option<String>,
    contains: Option<String>,
    ends: Option<String>,
    first: Option<String>,
}

impl TextRule {
    pub(super) fn line(&self) -> Line<'_> {
        Line::of([&self.starts, &self.contains, &self.ends, &self.first])
    }
}

/// Some line at a place must be so.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Condition {
    #[serde(rename = "in")]
    pub(super) region: Region,
    lines: Option<usize>,
    starts: Option<String>,
    contains: Option<String>,
    ends: Option<String>,
    /// The first character: `spinner`, or one of these.
    first: Option<String>,
}

/// A place on a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Region {
    /// The last lines that are not blank.
    Bottom,
    /// What stands between the lines of the box that is typed into.
    Box,
    /// The last lines above that box.
    Above,
    /// The lines below it.
    Below,
}

/// How a line must be. What is not named does not matter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    starts: Option<&'a str>,
    contains: Option<&'a str>,
    ends: Option<&'a str>,
    first: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn of([starts, contains, ends, first]: [&'a Option<String>; 4]) -> Self {
        let [starts, contains] = [starts.as_deref(), contains.as_deref()];
        Self { starts, contains, ends: ends.as_deref(), first: first.as_deref() }
    }

    pub(super) fn holds(self, line: &str) -> bool {
        let is_first = |first: &str| match (line.chars().next(), first) {
            (Some(c), "spinner") => is_spinner(c),
            (Some(c), any) => any.contains(c),
            (None, _) => false,
        };
        self.starts.is_none_or(|it| line.starts_with(it))
            && self.contains.is_none_or(|it| line.contains(it))
            && self.ends.is_none_or(|it| line.ends_with(it))
            && self.first.is_none_or(is_first)
    }

    /// Tells whether every line is so.
    fn is_any(self) -> bool {
        [self.starts, self.contains, self.ends, self.first].into_iter().flatten().all(str::is_empty)
    }
}

impl Condition {
    /// Returns how many lines of its place it is about.
    pub(super) fn lines(&self) -> usize {
        self.lines.unwrap_or(1)
    }

    pub(super) fn line(&self) -> Line<'_> {
        Line::of([&self.starts, &self.contains, &self.ends, &self.first])
    }
}

impl ScreenRule {
    pub(super) fn covers(&self, version: Option<&str>) -> bool {
        let Some(version) = version.and_then(numbers) else { return true };
        let bound = |text: &Option<String>| text.as_deref().and_then(numbers);
        bound(&self.since).is_none_or(|since| since <= version)
            && bound(&self.until).is_none_or(|until| version < until)
    }

    fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.all.iter().chain(&self.any).chain(&self.none)
    }

    fn fault(&self) -> Option<&'static str> {
        let is_version =
            |text: &Option<String>| text.as_deref().is_none_or(|it| numbers(it).is_some());
        if self.all.is_empty() && self.any.is_empty() {
            Some("names nothing that must be there")
        } else if ARBITER_CONDITIONS_MAX < self.conditions().count() {
            Some("has too many conditions")
        } else if self.conditions().any(|it| it.line().is_any()) {
            Some("has a condition that every line meets")
        } else if self.conditions().any(|it| !(1..=ARBITER_REGION_LINES_MAX).contains(&it.lines()))
        {
            Some("is about no line, or about too many")
        } else if !is_version(&self.since) || !is_version(&self.until) {
            Some("has a version that is none")
        } else {
            None
        }
    }
}

impl File {
    pub(super) fn n_rules(&self) -> usize {
        self.screen.len() + self.title.len() + self.notification.len()
    }

    /// Says what is wrong with it, beyond its shape.
    pub(super) fn fault(&self) -> Option<String> {
        let screens = self.screen.iter().map(|rule| (&rule.name, rule.fault()));
        let texts = self
            .title
            .iter()
            .chain(&self.notification)
            .map(|rule| (&rule.name, rule.line().is_any().then_some("is met by every text")));
        let (name, why) = screens.chain(texts).find_map(|(name, why)| Some((name, why?)))?;
        Some(format!("the rule {name:?} {why}"))
    }
}

/// Reads a version as numbers.
fn numbers(version: &str) -> Option<Vec<u64>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}
