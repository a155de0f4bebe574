//! An arbiter for one job: facts go in one by one, a verdict stands at any moment.

use vocab::limits::{ARBITER_LOOK_MS, ARBITER_LOOK_MS_MAX};

use crate::{
    agent::Agent,
    evidence::Evidence,
    explain::{self, Explanation},
    fact::{Fact, Look, Moment, Seen, What},
    judge::{self, Case, Judgement},
    rules::Rules,
    verdict::{State, Verdict},
};

/// The status of a program that has fallen silent.
pub(crate) const QUIET: &str = "quiet";

/// Weighs the facts of one job.
#[derive(Debug)]
pub struct Arbiter {
    agent: Option<&'static Agent>,
    rules: Rules,
    rules_fault: Option<String>,
    version: Option<String>,
    evidence: Evidence,
    judgement: Judgement,
    since: Moment,
    /// When the first and the last thing was drawn since the screen was looked at.
    unlooked: Option<(Moment, Moment)>,
}

impl Arbiter {
    /// Returns an arbiter for a program that starts now.
    ///
    /// `rules` is the text of a file that a person wrote in place of the embedded one. One that cannot be used
    /// is left, and the explanation says so.
    #[must_use]
    pub fn new(command: &[String], rules: Option<&str>, started: Moment) -> Self {
        let agent = crate::agent::of(command);
        let mut rules_fault = None;
        let given = rules.zip(agent).and_then(|(text, agent)| {
            Rules::parse(agent, text).map_err(|error| rules_fault = Some(error.to_string())).ok()
        });
        let embedded = || agent.and_then(|agent| Rules::of(agent).ok()).unwrap_or_default();
        let evidence = Evidence::new(started);
        let judgement = judge::judge(case(&evidence, agent.is_some(), None, started));
        Self {
            agent,
            rules: given.unwrap_or_else(embedded),
            rules_fault,
            version: None,
            evidence,
            judgement,
            since: started,
            unlooked: None,
        }
    }

    /// Notes that a person's own rules could not even be read.
    pub fn blame_rules(&mut self, fault: String) {
        self.rules_fault = Some(fault);
    }

    /// Goes on with what another arbiter knew of the same job.
    pub fn resume(&mut self, evidence: Evidence, now: Moment) {
        self.since = evidence.started;
        self.evidence = evidence;
        self.judge(now);
    }

    /// Returns the agent that the command starts, if it is a known one.
    #[must_use]
    pub fn agent(&self) -> Option<&'static Agent> {
        self.agent
    }

    /// Returns what is known, to be handed on.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Tells whether the screen is to be looked at now: something was drawn, and it stands still, or has not
    /// for long.
    #[must_use]
    pub fn wants_look(&self, now: Moment) -> bool {
        self.look_due().is_some_and(|due| due <= now)
    }

    fn look_due(&self) -> Option<Moment> {
        let (first, last) = self.unlooked?;
        Some(last.plus(ARBITER_LOOK_MS).min(first.plus(ARBITER_LOOK_MS_MAX)))
    }

    /// Takes a fact in, and tells whether the verdict has changed.
    pub fn note(&mut self, fact: Fact) -> bool {
        let (at, rules, agent) = (fact.at, &self.rules, self.agent);
        let is_output = fact.what == What::Wrote;
        if is_output && rules.reads_screens() {
            let first = self.unlooked.map_or(at, |(first, _)| first);
            self.unlooked = Some((first, at));
        }
        let reads = |what: &What| -> Option<Seen> {
            agent?;
            if let What::Titled(title) = what {
                rules.title(title)
            } else if let What::Notified(text) = what {
                rules.notification(text)
            } else {
                None
            }
        };
        self.evidence.note(fact, &reads);
        // Output comes thousands of times a second, and by itself only ends a silence.
        if is_output && self.judgement.status.as_deref() != Some(QUIET) {
            return false;
        }
        self.judge(at)
    }

    /// Looks at the lines of the screen, and tells whether the verdict has changed.
    pub fn look(&mut self, now: Moment, lines: &[String]) -> bool {
        let drawn = self.unlooked.take().map_or(now, |(_, last)| last);
        if self.version.is_none() {
            self.version = self.rules.version(lines);
        }
        let seen = self.rules.read(lines, self.version.as_deref());
        self.note(Fact::new(now, What::Looked(Look { seen, drawn })))
    }

    /// Judges again, since time has passed, and tells whether the verdict has changed.
    pub fn judge(&mut self, now: Moment) -> bool {
        let before = Some(self.judgement.state);
        let judgement = judge::judge(case(&self.evidence, self.agent.is_some(), before, now));
        if judgement.state != self.judgement.state {
            self.since = now;
        }
        let shown =
            |it: &Judgement| (it.state, it.waiting_for.clone(), it.status.clone(), it.source);
        let has_changed = shown(&judgement) != shown(&self.judgement);
        self.judgement = judgement;
        has_changed
    }

    /// Returns when the screen has to be looked at or the case judged again although nothing happens; none if
    /// never.
    #[must_use]
    pub fn due(&self) -> Option<Moment> {
        [self.judgement.due, self.look_due()].into_iter().flatten().min()
    }

    /// Returns how the job is.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let Judgement { state, status, waiting_for, source, confidence, detail, .. } =
            self.judgement.clone();
        Verdict { state, status, waiting_for, source, since: self.since, confidence, detail }
    }

    /// Returns why it is so.
    #[must_use]
    pub fn explain(&self, now: Moment) -> Explanation {
        let Judgement { state, status, waiting_for, source, confidence, detail, weighed, due } =
            self.judgement.clone();
        Explanation {
            state,
            status,
            waiting_for,
            source,
            confidence,
            detail,
            for_ms: now.since(self.since),
            agent: self.agent.map(|agent| agent.name.to_owned()),
            version: self.version.clone(),
            rules_fault: self.rules_fault.clone(),
            heard: explain::heard(&self.evidence, now),
            weighed,
            late_reports: self.evidence.n_late_reports,
            due_ms: due.map(|due| due.since(now)),
        }
    }
}

fn case(evidence: &Evidence, has_turns: bool, before: Option<State>, now: Moment) -> Case<'_> {
    Case { evidence, has_turns, before, now }
}

#[cfg(test)]
mod tests;
