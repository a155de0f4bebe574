//! Why a verdict is as it is, as data: what was heard, how it was weighed.

use std::fmt;

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

impl fmt::Display for Explanation {
    /// Says it to a person, in lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            Source::Process => "as the process tells",
            Source::Report => "as was reported",
            Source::Signal => "as the program signals",
            Source::Screen => "as its screen shows",
            Source::Quiet => "and silent",
            Source::Session => "as its run is stored",
        };
        writeln!(f, "{}, {source}: {}", word(self.state), self.detail)?;
        writeln!(f, "  for {}, confidence {}", ago(self.for_ms), level(self.confidence))?;
        if let Some(waiting_for) = &self.waiting_for {
            writeln!(f, "  waits for: {waiting_for}")?;
        }
        if let Some(status) = &self.status {
            writeln!(f, "  status: {status}")?;
        }
        match (&self.agent, &self.version) {
            (Some(agent), Some(version)) => writeln!(f, "  agent: {agent} {version}")?,
            (Some(agent), None) => writeln!(f, "  agent: {agent}")?,
            (None, _) => writeln!(f, "  agent: none that is known")?,
        }
        if let Some(fault) = &self.rules_fault {
            writeln!(f, "  own rules are not used: {fault}")?;
        }
        if !self.weighed.is_empty() {
            writeln!(f, "weighed:")?;
        }
        for weighed in &self.weighed {
            let outcome = match weighed.outcome {
                Outcome::Decides => "decides",
                Outcome::Agrees => "agrees",
                Outcome::Waits => "waits",
                Outcome::Overruled => "overruled",
            };
            write!(f, "  {outcome:<10} {}", weighed.rule)?;
            if let Some(claim) = weighed.claims {
                write!(f, " ({})", said(claim))?;
            }
            let why = if weighed.why.is_empty() { "" } else { ": " };
            writeln!(f, "{why}{}", weighed.why)?;
        }
        if !self.heard.is_empty() {
            writeln!(f, "heard:")?;
        }
        for heard in &self.heard {
            let what = format!("{} ago", ago(heard.ago_ms));
            writeln!(f, "  {what:<14} {:<13} {}", heard.what, heard.says)?;
        }
        if 0 < self.late_reports {
            writeln!(f, "late reports that were ignored: {}", self.late_reports)?;
        }
        if let Some(due) = self.due_ms {
            writeln!(f, "judged again in {}, if nothing happens before", ago(due))?;
        }
        Ok(())
    }
}

/// Says how long something is, roughly.
fn ago(millis: u64) -> String {
    match millis {
        0..=9_999 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        10_000..=119_999 => format!("{} s", millis / 1_000),
        120_000..=7_199_999 => format!("{} min", millis / 60_000),
        _ => format!("{} h", millis / 3_600_000),
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Working => "working",
        State::Blocked => "blocked",
        State::Done => "done",
        State::Failed => "failed",
        State::Stopped => "stopped",
    }
}

fn level(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
        Confidence::Certain => "certain",
    }
}

fn said(claim: Claim) -> &'static str {
    match claim {
        Claim::Working => "working",
        Claim::Blocked => "blocked",
        Claim::Idle => "idle",
    }
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

fn of_said(what: &str, of: &Said, now: Moment) -> Heard {
    let Said { claim, by, message, seen, began } = of;
    let mut says = format!("{} ({by})", said(*claim));
    if let Some(message) = message {
        says.push_str(": ");
        says.push_str(message);
    }
    Heard { what: what.to_owned(), says, ago_ms: now.since(*seen), for_ms: now.since(*began) }
}
