//! What an agent's screens, titles and notifications mean, as data: a file of rules for each agent.
//!
//! A rule names lines at fixed places, the bottom of the screen or the box that is typed into, so that text quoted
//! in a transcript matches nothing. Its matchers compare beginnings, ends and parts; there are no patterns, since
//! a host must stay small. Rules are written from recordings only. Not here: reading files, and what a
//! match is worth beside other facts.

mod file;
mod region;

use vocab::{
    limits::{ARBITER_RULES_BYTES_MAX, ARBITER_RULES_MAX},
    outcome::{Effect, Failure},
};

pub use self::file::Region;
use self::{
    file::{Condition, File, ScreenRule, TextRule},
    region::Parts,
};
use crate::{
    agent::Agent,
    fact::{Claim, Seen},
};

/// The embedded files.
const EMBEDDED: &[(&str, &str)] = &[
    ("claude", include_str!("../rules/claude.toml")),
    ("codex", include_str!("../rules/codex.toml")),
    ("gemini", include_str!("../rules/gemini.toml")),
    ("opencode", include_str!("../rules/opencode.toml")),
    ("pi", include_str!("../rules/pi.toml")),
];

/// Returns the embedded rules of an agent.
pub(crate) fn embedded(agent: &str) -> Option<&'static str> {
    EMBEDDED.iter().find(|(name, _)| *name == agent).map(|(_, text)| *text)
}

/// A file of rules cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// It is no such file.
    #[error("the rules for {agent} cannot be understood: {why}")]
    Malformed {
        /// Whose rules.
        agent: String,
        /// What is wrong, with its place.
        why: String,
    },
    /// It is larger than any that was written by hand.
    #[error(
        "the rules for {agent} are longer than {ARBITER_RULES_BYTES_MAX} bytes or {ARBITER_RULES_MAX} rules"
    )]
    TooLong {
        /// Whose rules.
        agent: String,
    },
}

impl RulesError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "rules_malformed",
            Self::TooLong { .. } => "rules_too_long",
        }
    }

    /// Returns what changed: nothing.
    #[must_use]
    pub fn effect(&self) -> Effect {
        Effect::NotStarted
    }
}

impl From<RulesError> for Failure {
    fn from(error: RulesError) -> Self {
        Self::not_started(error.code(), error.to_string())
    }
}

/// The rules of one agent.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    file: File,
}

impl Rules {
    /// Returns the embedded rules of an agent; without any where its screens were never recorded.
    ///
    /// # Errors
    /// When they cannot be understood, which a test excludes.
    pub fn of(agent: &Agent) -> Result<Self, RulesError> {
        agent.rules().map_or_else(|| Ok(Self::default()), |text| Self::parse(agent, text))
    }

    /// Reads the rules of an agent from a file's text.
    ///
    /// # Errors
    /// When it is too long, cannot be understood, or is written for another agent.
    pub fn parse(agent: &Agent, text: &str) -> Result<Self, RulesError> {
        let agent = agent.name;
        if ARBITER_RULES_BYTES_MAX < text.len() {
            return Err(RulesError::TooLong { agent: agent.to_owned() });
        }
        let wrong = |why: String| RulesError::Malformed { agent: agent.to_owned(), why };
        let file: File = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if file.agent != agent {
            return Err(wrong(format!("they are written for {:?}", file.agent)));
        }
        if ARBITER_RULES_MAX < file.n_rules() {
            return Err(RulesError::TooLong { agent: agent.to_owned() });
        }
        match file.fault() {
            Some(why) => Err(wrong(why)),
            None => Ok(Self { file }),
        }
    }

    /// Tells whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.file.n_rules() == 0
    }

    /// Returns the versions that the rules were recorded with.
    #[must_use]
    pub fn seen_with(&self) -> &[String] {
        &self.file.seen
    }

    /// Tells whether there are rules for screens, so that looking is of use.
    #[must_use]
    pub fn reads_screens(&self) -> bool {
        !self.file.screen.is_empty()
    }

    /// Returns the version that a screen names, if it does.
    #[must_use]
    pub fn version(&self, lines: &[String]) -> Option<String> {
        let after = &self.file.version.as_ref()?.after;
        let rest = lines.iter().find_map(|line| Some(line.split_once(after.as_str())?.1))?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let version = rest[..end].trim_end_matches('.');
        (!version.is_empty() && version.len() <= 32).then(|| version.to_owned())
    }

    /// Returns the first rule that recognizes a screen. An unknown version is every version.
    #[must_use]
    pub fn read(&self, lines: &[String], version: Option<&str>) -> Option<Seen> {
        let parts = Parts::of(lines);
        let holds = |condition: &&Condition| {
            let at = condition.lines();
            parts.lines(condition.region, at).iter().any(|line| condition.line().holds(line.trim()))
        };
        let matches = |rule: &&ScreenRule| {
            rule.covers(version)
                && rule.all.iter().all(|it| holds(&it))
                && (rule.any.is_empty() || rule.any.iter().any(|it| holds(&it)))
                && !rule.none.iter().any(|it| holds(&it))
        };
        let rule = self.file.screen.iter().find(matches)?;
        let waiting_for = rule.waiting_for.clone();
        Some(Seen { rule: rule.name.clone(), claim: rule.says, waiting_for })
    }

    /// Returns what a title means: by this agent's rules first, then by what agents have in common.
    #[must_use]
    pub fn title(&self, title: &str) -> Option<Seen> {
        text(&self.file.title, title).or_else(|| common_title(title))
    }

    /// Returns what a notification means.
    #[must_use]
    pub fn notification(&self, notification: &str) -> Option<Seen> {
        text(&self.file.notification, notification)
    }
}

fn text(rules: &[TextRule], text: &str) -> Option<Seen> {
    let rule = rules.iter().find(|rule| rule.line().holds(text.trim()))?;
    let waiting_for = rule.waiting_for.clone();
    Some(Seen { rule: rule.name.clone(), claim: rule.says, waiting_for })
}

/// What agents without rules for it mean by their titles: a turning sign first while they work, a still one
/// when they do not.
fn common_title(title: &str) -> Option<Seen> {
    let title = title.trim();
    let (rule, claim) = if title.contains("Action Required") {
        ("action", Claim::Blocked)
    } else if title.starts_with(is_spinner) {
        ("spinner", Claim::Working)
    } else if title.starts_with(['✳', '◇']) {
        ("still", Claim::Idle)
    } else {
        return None;
    };
    Some(Seen { rule: rule.to_owned(), claim, waiting_for: None })
}

/// Tells whether a character is one of those that agents turn while they work: braille dots, half circles.
pub(crate) fn is_spinner(c: char) -> bool {
    matches!(c, '\u{2801}'..='\u{28ff}' | '◐'..='◓' | '◴'..='◷')
}

#[cfg(test)]
mod tests;
