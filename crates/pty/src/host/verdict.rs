//! How the job is: what the host sees goes to the arbiter as facts, and its verdict to whoever is told.
//!
//! A timer runs only while something may change by itself: a screen that was drawn and not looked at yet, a
//! verdict that waits, a program that is about to be called quiet. What facts mean is the arbiter's business.

use arbiter::{
    Arbiter, Explanation, Verdict,
    fact::{Announcement, Claim, Ending, Fact, Key, Mark, Moment, Progress, Report, What},
};
use rustix::termios::tcgetpgrp;
use screen::{Event, ProgramState, ProgramStatus, PromptMark};
use stdx::{
    clock::{Clock, Timestamp},
    secret::Secret,
    state_file,
};
use vocab::{limits::ARBITER_RULES_BYTES_MAX, outcome::Failure};

use super::{Host, handed::Known};
use crate::{
    hello::{Said, Token},
    job::{ExitRecord, JobFiles, JobRecord},
};

/// What watches over one program's state.
#[derive(Debug)]
pub(super) struct Watch {
    clock: Clock,
    arbiter: Arbiter,
    /// What whoever reports proves itself with.
    token: Secret,
    /// Since when it is so, on the wall.
    since: Timestamp,
    is_news: bool,
}

impl Watch {
    /// Watches a program that starts now. Rules in the job's directory stand in place of the embedded ones.
    pub(super) fn new(files: &JobFiles, record: Option<&JobRecord>, clock: &Clock) -> Self {
        let rules_max = u64::try_from(ARBITER_RULES_BYTES_MAX).unwrap_or(u64::MAX);
        let (rules, fault) = match state_file::read(&files.rules(), rules_max) {
            Ok(rules) => (rules, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let rules = rules.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let command = record.map(|record| &record.command[..]).unwrap_or_default();
        let mut arbiter = Arbiter::new(command, rules.as_deref(), moment(clock));
        if let Some(fault) = fault {
            arbiter.blame_rules(fault);
        }
        // Without a record nobody can prove anything.
        let token = Secret::new(record.map(|record| record.token.clone()).unwrap_or_default());
        Self { clock: clock.clone(), arbiter, token, since: clock.now(), is_news: false }
    }

    /// Returns what is known, for the build that goes on in this one's place.
    pub(super) fn known(&self) -> Known {
        let evidence = self.arbiter.evidence().clone();
        Known { now_ms: moment(&self.clock).as_millis(), evidence }
    }

    /// Goes on with what the build before knew. Its clock may have begun at another moment.
    pub(super) fn go_on(&mut self, known: Known) {
        let now = moment(&self.clock);
        let evidence = known.evidence.on_clock_ahead_by(now.as_millis() - known.now_ms);
        self.arbiter.resume(evidence, now);
        self.changed(true);
    }

    pub(super) fn note(&mut self, what: What) {
        let now = moment(&self.clock);
        let has_changed = self.arbiter.note(Fact::new(now, what));
        self.changed(has_changed);
    }

    /// Notes what the program told besides its picture.
    pub(super) fn hear(&mut self, event: Event) {
        if let Some(what) = meaning(event) {
            self.note(what);
        }
    }

    /// Notes what somebody typed.
    pub(super) fn typed(&mut self, bytes: &[u8]) {
        // As a key that is told plainly, or by a keyboard that tells each key by its number.
        let enters = bytes.contains(&b'\r') || bytes.windows(4).any(|part| part == b"\x1b[13");
        self.note(What::Typed(if enters { Key::Enter } else { Key::Other }));
    }

    /// Notes how the program ended.
    pub(super) fn ended(&mut self, exit: &ExitRecord) {
        let ending = match exit {
            exit if exit.stopped => Ending::Stopped,
            exit if exit.code == Some(0) => Ending::Done,
            _ => Ending::Failed,
        };
        self.note(What::Ended(ending));
    }

    /// Notes a report from inside the job.
    ///
    /// # Errors
    /// When whoever reports does not know the job's token.
    pub(super) fn report(&mut self, report: Report, token: &Token) -> Result<(), Failure> {
        let is_known = !self.token.expose().is_empty() && self.token.matches(token.0.as_bytes());
        if !is_known {
            return Err(Failure::not_started("forbidden", "this is not the token of the job"));
        }
        self.note(What::Reported(report));
        Ok(())
    }

    pub(super) fn due(&self) -> Option<std::time::Duration> {
        let due = self.arbiter.due()?.as_millis();
        Some(std::time::Duration::from_millis(u64::try_from(due).unwrap_or_default()))
    }

    pub(super) fn verdict(&self) -> Verdict {
        self.arbiter.verdict()
    }

    pub(super) fn since(&self) -> Timestamp {
        self.since
    }

    pub(super) fn explain(&self) -> Explanation {
        self.arbiter.explain(moment(&self.clock))
    }

    fn changed(&mut self, has_changed: bool) {
        if has_changed {
            self.is_news = true;
            let now = moment(&self.clock);
            let age = now.since(self.arbiter.verdict().since);
            let age = i64::try_from(age).unwrap_or(i64::MAX);
            self.since = Timestamp::from_millis(self.clock.now().as_millis().saturating_sub(age));
        }
    }
}

impl Host {
    /// Looks and judges where that is due, and tells what has changed.
    pub(super) fn judge_when_due(&mut self) {
        let now = moment(&self.clock);
        if self.program.watch.arbiter.due().is_some_and(|due| due <= now) {
            if self.program.watch.arbiter.wants_look(now) && !self.mirror.is_drawing() {
                let has_changed = self.program.watch.arbiter.look(now, &self.mirror.screen_text());
                self.program.watch.changed(has_changed);
            }
            let program = rustix::process::Pid::from_raw(self.program.child.id().pid.cast_signed());
            if let Ok(front) = tcgetpgrp(&self.pty) {
                self.program.watch.note(What::InFront(Some(front) == program));
            }
            let has_changed = self.program.watch.arbiter.judge(now);
            self.program.watch.changed(has_changed);
        }
        if std::mem::take(&mut self.program.watch.is_news) {
            self.tell_states();
        }
    }
}

fn moment(clock: &Clock) -> Moment {
    Moment::from_millis(i64::try_from(clock.monotonic().as_millis()).unwrap_or(i64::MAX))
}

/// Says in the arbiter's words what a program told.
fn meaning(event: Event) -> Option<What> {
    Some(match event {
        Event::Title(title) => What::Titled(title),
        Event::Bell => What::Rang,
        Event::Progress(progress) => What::Progress(match progress {
            screen::Progress::None => Progress::None,
            screen::Progress::Done(_) | screen::Progress::Busy => Progress::Busy,
            screen::Progress::Failed(_) => Progress::Failed,
            screen::Progress::Paused(_) => Progress::Paused,
        }),
        Event::Notification { title, body } => {
            let parts = [title.unwrap_or_default(), body];
            What::Notified(parts.join(" ").trim().to_owned())
        }
        Event::Status(status) => What::Announced(status.map(announcement)),
        Event::Prompt(PromptMark::Output) => What::Marked(Mark::Running),
        Event::Prompt(PromptMark::Prompt | PromptMark::Input | PromptMark::End(_)) => {
            What::Marked(Mark::Prompt)
        }
        Event::Directory(_) | Event::Focus(_) | Event::Alternate(_) | Event::Asked(_) => {
            return None;
        }
    })
}

fn announcement(status: ProgramStatus) -> Announcement {
    let (claim, word) = match status.state {
        ProgramState::Idle => (Claim::Idle, "idle"),
        ProgramState::Done => (Claim::Idle, "done"),
        ProgramState::Error => (Claim::Idle, "failed"),
        ProgramState::Working => (Claim::Working, "working"),
        ProgramState::Blocked => (Claim::Blocked, "blocked"),
    };
    let kind = status.kind.map(|kind| match kind.as_str() {
        "permission" => "a permission".to_owned(),
        "auth" => "a login".to_owned(),
        _ => "an answer".to_owned(),
    });
    Announcement { claim, word: word.to_owned(), message: status.message.or(kind) }
}

impl From<Said> for Claim {
    fn from(said: Said) -> Self {
        match said {
            Said::Working => Self::Working,
            Said::Blocked => Self::Blocked,
            Said::Idle | Said::Done => Self::Idle,
        }
    }
}
