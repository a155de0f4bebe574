//! What is left of all facts so far: of each kind the last one that still says something.
//!
//! It is bounded however long a job lives, and it can be handed from one host to the next.

use serde::{Deserialize, Serialize};
use vocab::limits::{ARBITER_DISTURBED_MS, ARBITER_RESTART_MS, ARBITER_SOURCES_MAX};

use crate::fact::{
    Announcement, Claim, Ending, Fact, Key, Look, Mark, Moment, Progress, Report, Seen, What,
    quotable,
};

/// Everything that is known of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub(crate) started: Moment,
    pub(crate) ended: Option<(Moment, Ending)>,
    /// The last report of each source, the youngest last.
    pub(crate) reports: Vec<Reported>,
    pub(crate) n_late_reports: u64,
    pub(crate) announced: Option<Said>,
    pub(crate) signals: Signals,
    pub(crate) screen: Option<Said>,
    pub(crate) life: Life,
}

/// What a program says in band, besides its state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Signals {
    /// It has told how far it is, and what that says now.
    pub(crate) progress: Option<Said>,
    pub(crate) was_busy: bool,
    pub(crate) title: Option<Said>,
    pub(crate) notified: Option<Said>,
    pub(crate) marked: Option<Said>,
    pub(crate) rang: Option<Moment>,
}

/// Signs of life, and who causes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Life {
    /// When the program wrote something last, but for repaints.
    pub(crate) wrote: Option<Moment>,
    pub(crate) disturbed: Option<Moment>,
    pub(crate) typed: Option<Moment>,
    pub(crate) entered: Option<Moment>,
    /// The program stands in its terminal's foreground itself.
    pub(crate) is_in_front: Option<bool>,
}

/// The last report of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reported {
    pub(crate) source: String,
    pub(crate) seq: Option<u64>,
    pub(crate) said: Said,
}

/// A claim, in whose words, since when, and how fresh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) claim: Claim,
    /// The rule, source or word that made a claim of it.
    pub(crate) by: String,
    pub(crate) message: Option<String>,
    /// Since when it says so.
    pub(crate) began: Moment,
    /// When it said so last.
    pub(crate) seen: Moment,
}

impl Evidence {
    /// Returns the evidence of a program that starts now.
    #[must_use]
    pub fn new(started: Moment) -> Self {
        Self { started, ..Self::default() }
    }

    /// Moves all moments to a clock that is so many milliseconds ahead.
    #[must_use]
    pub fn on_clock_ahead_by(mut self, millis: i64) -> Self {
        let shift = |at: &mut Moment| *at = at.moved(millis);
        shift(&mut self.started);
        if let Some((at, _)) = &mut self.ended {
            shift(at);
        }
        let Signals { progress, title, notified, marked, rang, .. } = &mut self.signals;
        let said = [progress, title, notified, marked, &mut self.announced, &mut self.screen];
        let reports = self.reports.iter_mut().map(|report| &mut report.said);
        for said in said.into_iter().flatten().chain(reports) {
            shift(&mut said.began);
            shift(&mut said.seen);
        }
        let Life { wrote, disturbed, typed, entered, .. } = &mut self.life;
        for at in [wrote, disturbed, typed, entered, rang].into_iter().flatten() {
            shift(at);
        }
        self
    }

    /// Takes a fact in. `reads` says what texts mean.
    pub(crate) fn note(&mut self, fact: Fact, reads: &dyn Fn(&What) -> Option<Seen>) {
        let at = fact.at;
        let seen = reads(&fact.what);
        match fact.what {
            What::Ended(ending) => self.ended = Some((at, ending)),
            What::Reported(report) => self.report(at, report),
            What::Announced(told) => {
                self.announced = told.map(|told| {
                    let Announcement { claim, word, message } = told;
                    Said::of(self.announced.take(), claim, quotable(&word), message, at)
                });
            }
            What::Progress(progress) => self.progress(at, progress),
            What::Notified(_) => {
                self.signals.notified =
                    seen.map(|it| Said::once(it, at)).or(self.signals.notified.take())
            }
            What::Marked(mark) => {
                let (claim, word) = match mark {
                    Mark::Prompt => (Claim::Idle, "prompt"),
                    Mark::Running => (Claim::Working, "command"),
                };
                let before = self.signals.marked.take();
                self.signals.marked = Some(Said::of(before, claim, word.to_owned(), None, at));
            }
            What::Rang => self.signals.rang = Some(at),
            What::Titled(_) => {
                let before = self.signals.title.take();
                self.signals.title = seen.map(|it| Said::level(before, it, at));
            }
            What::Looked(look) => self.look(look),
            What::Wrote => {
                if !self.is_disturbed(at) {
                    self.life.wrote = Some(at);
                }
            }
            What::Disturbed => self.life.disturbed = Some(at),
            What::Typed(key) => {
                self.life.typed = Some(at);
                // What is drawn after a key is an answer to it, and no repaint.
                self.life.disturbed = None;
                if key == Key::Enter {
                    self.life.entered = Some(at);
                }
                self.answered(key);
            }
            What::InFront(is_in_front) => self.life.is_in_front = Some(is_in_front),
        }
    }

    fn is_disturbed(&self, at: Moment) -> bool {
        self.life.disturbed.is_some_and(|since| at.since(since) < ARBITER_DISTURBED_MS)
    }

    fn report(&mut self, at: Moment, report: Report) {
        let Report { source, claim, message, seq } = report;
        let source = quotable(&source);
        let before = self.reports.iter().position(|other| other.source == source);
        let before = before.map(|idx| self.reports.remove(idx));
        let is_late = before.as_ref().is_some_and(|before| {
            let is_lower = before.seq.zip(seq).is_some_and(|(last, seq)| seq <= last);
            is_lower && at.since(before.said.seen) < ARBITER_RESTART_MS
        });
        if let Some(before) = before.clone().filter(|_| is_late) {
            self.n_late_reports += 1;
            self.reports.push(before);
            self.reports.sort_by_key(|report| report.said.seen);
            return;
        }
        if ARBITER_SOURCES_MAX <= self.reports.len() {
            self.reports.remove(0);
        }
        let said = Said::of(before.map(|it| it.said), claim, source.clone(), message, at);
        self.reports.push(Reported { source, seq, said });
    }

    fn progress(&mut self, at: Moment, progress: Progress) {
        let (claim, word) = match progress {
            Progress::None => (Claim::Idle, "none"),
            Progress::Failed => (Claim::Idle, "failed"),
            Progress::Busy => (Claim::Working, "busy"),
            Progress::Paused => (Claim::Blocked, "paused"),
        };
        self.signals.was_busy |= claim == Claim::Working;
        let before = self.signals.progress.take();
        self.signals.progress = Some(Said::of(before, claim, word.to_owned(), None, at));
    }

    fn look(&mut self, look: Look) {
        let before = self.screen.take();
        let is_repaint = self.is_disturbed(look.drawn);
        self.screen = look.seen.map(|seen| {
            let same = before.filter(|before| before.claim == seen.claim);
            let last = same.as_ref().map(|same| same.seen).filter(|_| is_repaint);
            let mut said = Said::level(same, seen, look.drawn);
            // What a client's coming makes a program paint again is no news.
            said.seen = last.unwrap_or(said.seen);
            said
        });
    }

    /// A person has acted on what was asked once.
    fn answered(&mut self, key: Key) {
        let is_over = |said: &Said| match said.claim {
            Claim::Blocked => true,
            Claim::Idle => key == Key::Enter,
            Claim::Working => false,
        };
        if self.signals.notified.as_ref().is_some_and(is_over) {
            self.signals.notified = None;
        }
    }
}

impl Said {
    /// Says something anew, or on.
    fn of(
        before: Option<Self>,
        claim: Claim,
        by: String,
        message: Option<String>,
        at: Moment,
    ) -> Self {
        let began = before.filter(|before| before.claim == claim).map_or(at, |before| before.began);
        let message = message.map(|text| quotable(&text)).filter(|text| !text.is_empty());
        Self { claim, by, message, began, seen: at }
    }

    fn level(before: Option<Self>, seen: Seen, at: Moment) -> Self {
        Self::of(before, seen.claim, seen.rule, seen.waiting_for, at)
    }

    fn once(seen: Seen, at: Moment) -> Self {
        Self::level(None, seen, at)
    }
}
