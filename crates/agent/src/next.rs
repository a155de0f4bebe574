//! What a run does next, decided from what is stored and from nothing else.
//!
//! Pure: no clock, no I/O. Doing it is the driver's business.

use vocab::{
    ids::{BlockId, MessageId},
    message::{CallState, Part, RunEnd, RunState, StopReason},
    outcome::Failure,
};

use crate::{
    answer::overdue,
    approve::{Approval, approve},
    check,
    outlook::Outlook,
    parts::{last_step, steps},
    toolbelt::Kit,
    transcript::Transcript,
};

/// What holds around the transcript at the moment of looking.
#[derive(Debug)]
pub struct Rules<'a> {
    /// The tools there are.
    pub kit: &'a Kit,
    /// The most model calls of a run.
    pub steps_max: u32,
    /// The time, milliseconds since the Unix epoch.
    pub now: i64,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask the model.
    CallModel,
    /// End the calls that cannot run, and ask people about those that need it.
    Settle {
        /// Calls that end without having begun, by part.
        refuse: Vec<(usize, Failure)>,
        /// Calls that wait for a person, by part.
        ask: Vec<usize>,
    },
    /// Run these calls, by part.
    RunCalls(Vec<usize>),
    /// Wait for people; nothing else is left to do.
    Park,
    /// All questions are answered: work again.
    Resume,
    /// The time to answer these is over.
    Expire(Vec<BlockId>),
    /// Take up what the user said meanwhile.
    TakeSteering(Vec<MessageId>),
    /// End the run.
    End(RunEnd),
    /// Nothing: it is over, or it waits for a person.
    Rest,
}

/// Decides what a run does next.
#[must_use]
pub fn next(transcript: &Transcript, rules: &Rules<'_>) -> Step {
    look(&Outlook::now(transcript), rules)
}

/// Decides what the run does next once the entry of an outlook is stored.
#[must_use]
pub(crate) fn look(outlook: &Outlook<'_>, rules: &Rules<'_>) -> Step {
    match outlook.state {
        RunState::Running => working(outlook, rules),
        RunState::Ended(_) => Step::Rest,
        RunState::Parked { blocks } => {
            let late = overdue(outlook.state, rules.now);
            if !late.is_empty() {
                return Step::Expire(late);
            }
            let open = blocks.iter().any(|block| block.answer.is_none());
            if open { Step::Rest } else { Step::Resume }
        }
    }
}

fn working(outlook: &Outlook<'_>, rules: &Rules<'_>) -> Step {
    let parts = outlook.parts.as_slice();
    let Some(last) = last_step(parts) else { return go_on(outlook, rules) };
    // A step that has no end and that nobody is writing was broken off by the death of its writer.
    let Some(stop) = last.stop else { return Step::End(RunEnd::Interrupted) };
    // So was a call that has begun and that nobody is running.
    let begun = |part: &&Part| matches!(part, Part::Call { state: CallState::Started, .. });
    if parts.iter().any(begun) {
        return Step::End(RunEnd::Interrupted);
    }
    let mut batch = Batch::default();
    for (idx, part) in parts.iter().copied().enumerate().skip(last.at) {
        batch.look(outlook, rules, stop, (idx, part));
    }
    if !batch.refuse.is_empty() || !batch.ask.is_empty() {
        return Step::Settle { refuse: batch.refuse, ask: batch.ask };
    }
    if !batch.run.is_empty() {
        return Step::RunCalls(batch.run);
    }
    if batch.blocked {
        return Step::Park;
    }
    let steered = parts.iter().skip(last.at).any(|part| matches!(part, Part::Steer { .. }));
    let may_go_on = steps(parts) < rules.steps_max;
    if batch.called || steered || (may_go_on && !outlook.steering().is_empty()) {
        return go_on(outlook, rules);
    }
    Step::End(RunEnd::Finished)
}

/// What is to be done about the calls of one model answer.
#[derive(Default)]
struct Batch {
    called: bool,
    blocked: bool,
    refuse: Vec<(usize, Failure)>,
    ask: Vec<usize>,
    run: Vec<usize>,
}

impl Batch {
    fn look(
        &mut self,
        outlook: &Outlook<'_>,
        rules: &Rules<'_>,
        stop: StopReason,
        (idx, part): (usize, &Part),
    ) {
        let Part::Call { tool, input, state, .. } = part else { return };
        self.called = true;
        let asked_already = match state {
            CallState::Ended { .. } | CallState::Started => return,
            CallState::Blocked => {
                self.blocked = true;
                return;
            }
            CallState::Requested => false,
            CallState::Approved => true,
        };
        match check::sound(rules.kit, stop, tool, input) {
            Err(failure) => self.refuse.push((idx, failure)),
            Ok(_) if asked_already => self.run.push(idx),
            Ok(tool) => match approve(outlook.run, tool.spec.name, tool.spec.reach) {
                Approval::Allow => self.run.push(idx),
                Approval::Ask => self.ask.push(idx),
                Approval::Refuse(failure) => self.refuse.push((idx, failure)),
            },
        }
    }
}

/// Goes on with what the user said meanwhile, then with the model, up to the limit of steps.
fn go_on(outlook: &Outlook<'_>, rules: &Rules<'_>) -> Step {
    if steps(&outlook.parts) >= rules.steps_max {
        return Step::End(RunEnd::StepLimit { steps_max: rules.steps_max });
    }
    let steering = outlook.steering();
    if steering.is_empty() { Step::CallModel } else { Step::TakeSteering(steering) }
}
