//! Why a verdict is as it is, as data: what was heard, how it was weighed.

use serde::{Deserialize, Serialize};

use crate::{
    evidence::{Evidence, Said},
    fact::{Claim, Moment},
    verdict::{Confidence, Source, State},
};

/// Why a job is in the state it is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// How it is.
    pub state: State,
    /// What it says of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// Where that is known from.
    pub source: Source,
    /// How much that is worth.
    pub confidence: Confidence,
    /// What decided.
    pub detail: String,
    /// For how long it is so, in milliseconds.
    pub for_ms: u64,
    /// The agent that the command was recognized as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its version, as its screen named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What is wrong with the rules that were handed in, so that the embedded ones are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_fault: Option<String>,
    /// What was heard, the youngest first.
    pub heard: Vec<Heard>,
    /// How it was weighed.
    pub weighed: Vec<Weighed>,
    /// Reports that came after a later one of their source.
    pub late_reports: u64,
    /// In how many milliseconds it is judged again although nothing happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_ms: Option<u64>,
}

/// Something that was heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// What kind of thing.
    pub what: String,
    /// What it said.
    pub says: String,
    /// How long ago it was heard last, in milliseconds.
    pub ago_ms: u64,
    /// For how long it has been saying so, in milliseconds.
    pub for_ms: u64,
}

/// How one piece of evidence was weighed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weighed {
    /// In words, with the rule or the source that made something of it.
    pub rule: String,
    /// Its kind.
    pub source: Source,
    /// What it claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Claim>,
    /// What came of it.
    pub outcome: Outcome,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// What came of a piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It decided.
    Decides,
    /// It says the same.
    Agrees,
    /// It will decide, unless something happens.
    Waits,
    /// Something else counts more.
    Overruled,
}

/// Lists what was heard, the youngest first.
pub(crate) fn heard(evidence: &Evidence, now: Moment) -> Vec<Heard> {
    let Evidence { announced, reports, signals, screen, life, .. } = evidence;
    let said = [
        ("announcement", announced),
        ("progress", &signals.progress),
        ("title", &signals.title),
        ("notification", &signals.notified),
        ("shell", &signals.marked),
        ("screen", screen),
    ];
    let mut all: Vec<Heard> = said
        .into_iter()
        .filter_map(|(what, said)| Some(of_said(what, said.as_ref()?, now)))
        .chain(reports.iter().map(|report| of_said("report", &report.said, now)))
        .collect();
    let moments = [
        ("output", life.wrote),
        ("bell", signals.rang),
        ("typing", life.typed),
        ("client", life.disturbed),
    ];
    all.extend(moments.into_iter().filter_map(|(what, at)| {
        let ago_ms = now.since(at?);
        Some(Heard { what: what.to_owned(), says: String::new(), ago_ms, for_ms: ago_ms })
    }));
    all.sort_by_key(|heard| heard.ago_ms);
    all
}

fn of_said(what: &str, said: &Said, now: Moment) -> Heard {
    let claim = match said.claim {
        Claim::Working => "working",
        Claim::Blocked => "blocked",
        Claim::Idle => "idle",
    };
    let mut says = format!("{claim} ({})", said.by);
    if let Some(message) = &said.message {
        says.push_str(": ");
        says.push_str(message);
    }
    Heard {
        what: what.to_owned(),
        says,
        ago_ms: now.since(said.seen),
        for_ms: now.since(said.began),
    }
}
