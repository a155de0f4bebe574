//! The driver: look at the transcript, do the one next thing, store it, look again.
//!
//! It decides nothing; `next` does. Between two steps it keeps what the last entry began, if any.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use provider::seam::SharedProvider;
use stdx::clock::Clock;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use vocab::{
    fact::RunFact,
    ids::{BlockId, MessageId},
    limits::{END_RUN_WAIT_MS, RETRY_WAIT_MS_BASE, RUN_FAILURE_BYTES_MAX, STEPS_MAX},
    live::Chunk,
    message::{Block, CallState, Part, RunEnd, RunState, StopReason, Usage},
    outcome::{Effect, Failure, Outcome},
};
use workspace::call::Envelope;

use crate::{
    ahead::Begun,
    answer,
    calls::{self, changed},
    close::{LastNote, close_with},
    journal::{Durability, Entry},
    model::Called,
    next::{Rules, Step, next},
    outlook::Outlook,
    parts::{beginning, in_step, last_step},
    pen::Pen,
    toolbelt::{Kit, Toolbelt},
    transcript::Transcript,
};

/// What a run needs to work.
#[derive(Clone)]
pub struct Loop {
    /// Where it is stored.
    pub pen: Pen,
    /// Who answers.
    pub provider: SharedProvider,
    /// What it can do.
    pub tools: Arc<Toolbelt>,
    /// What time it is.
    pub clock: Clock,
    /// Stops it.
    pub cancel: CancellationToken,
    /// How it works.
    pub settings: Settings,
}

impl std::fmt::Debug for Loop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loop").field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// How a run works.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The system text.
    pub system: String,
    /// The most model calls.
    pub steps_max: u32,
    /// The most output tokens of one model call.
    pub output_tokens_max: u32,
    /// Whether the model sees pictures.
    pub images: bool,
    /// The wait before the second attempt of a model call; it doubles with each further one.
    pub retry_base: Duration,
    /// How long a question waits before it counts as denied; for ever when absent.
    pub answer_within: Option<Duration>,
    /// What the run wants of every tool call.
    pub envelope: Envelope,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            system: String::new(),
            steps_max: STEPS_MAX,
            output_tokens_max: 8_192,
            images: true,
            retry_base: Duration::from_millis(RETRY_WAIT_MS_BASE),
            answer_within: None,
            envelope: Envelope::default(),
        }
    }
}

/// Works on a run until it is over or waits for a person, and returns where it stands then.
///
/// Begin, resume and go on after an answer are all this. When the journal refuses, the run stops at
/// once: the failure is returned as its end although nobody could store it.
#[must_use]
pub fn drive(work: Loop) -> BoxFuture<'static, RunState> {
    let span = {
        let transcript = work.pen.transcript();
        // Of the highest level, so that its ids stand on every line whatever the log's level is.
        tracing::error_span!("run", session = %transcript.session, run = %transcript.run.id)
    };
    let driven = async move {
        match AssertUnwindSafe(work.turn()).catch_unwind().await {
            Ok(Ok(state)) => return state,
            Ok(Err(failure)) => {
                tracing::error!(code = failure.code, effect = %failure.effect, "a run stopped");
                work.end_left_running().await;
                return RunState::Ended(RunEnd::Failed { failure });
            }
            // What it says may quote a payload; where it was, the panic hook has told.
            Err(_) => tracing::error!(code = "internal", "a run met a bug"),
        }
        let failure = Failure::new("internal", Effect::Indeterminate, "the run met a bug of ours")
            .with_hint("the daemon's log says where");
        let end = RunEnd::Failed { failure };
        let closed = AssertUnwindSafe(work.end(Entry::default(), end.clone())).catch_unwind().await;
        match closed {
            Ok(Ok(())) => work.pen.transcript().run.state.clone(),
            Ok(Err(failure)) => RunState::Ended(RunEnd::Failed { failure }),
            Err(_) => RunState::Ended(end),
        }
    };
    Box::pin(driven.instrument(span))
}

impl Loop {
    async fn turn(&self) -> Result<RunState, Failure> {
        let mut begun = Begun::Nothing;
        loop {
            let kit = self.tools.kit();
            let (step, started) = match std::mem::take(&mut begun) {
                Begun::Nothing => (self.next(&kit), 0),
                Begun::Model => (Step::CallModel, 1),
                Begun::Calls { batch, started } => (Step::RunCalls(batch), started),
            };
            match step {
                Step::CallModel => match self.call_model(started > 0).await? {
                    Called::Done(next) => begun = next,
                    Called::Broken(tail, end) => self.end(*tail, end).await?,
                },
                Step::Settle { refuse, ask } => {
                    self.pen.write(|transcript| Ok(settle(transcript, refuse, &ask))).await?;
                }
                Step::RunCalls(batch) => begun = self.run_calls(&kit, batch, started).await?,
                Step::Park => {
                    let now = self.clock.now().as_millis();
                    let within = self.settings.answer_within;
                    self.pen.write(|transcript| Ok(park(transcript, &kit, now, within))).await?;
                    let state = self.pen.transcript().run.state.clone();
                    // A parked run is nobody's work any more: a stop that comes now finds it stored.
                    if matches!(state, RunState::Parked { .. }) {
                        return Ok(state);
                    }
                }
                Step::Resume => self.pen.write(|transcript| Ok(resume(transcript))).await?,
                Step::Expire(blocks) => self.expire(blocks).await?,
                Step::TakeSteering(messages) => {
                    self.pen.write(|transcript| Ok(steer(transcript, messages))).await?;
                }
                Step::End(end) => self.end(Entry::default(), end).await?,
                Step::Rest => return Ok(self.pen.transcript().run.state.clone()),
            }
        }
    }

    fn next(&self, kit: &Kit) -> Step {
        let transcript = self.pen.transcript();
        let over = matches!(transcript.run.state, RunState::Ended(_));
        if self.cancel.is_cancelled() && !over {
            return Step::End(RunEnd::Aborted);
        }
        let now = self.clock.now().as_millis();
        next(&transcript, &Rules { kit, steps_max: self.settings.steps_max, now })
    }

    /// Ends the run: first what it left running, then what is open, in one entry.
    async fn end(&self, tail: Entry, end: RunEnd) -> Result<(), Failure> {
        let left = self.end_left_running().await;
        self.pen
            .write(|transcript| {
                let notes = last_notes(transcript, &end, &left);
                Ok(close_with(transcript, tail, end, &notes))
            })
            .await
    }

    async fn end_left_running(&self) -> Vec<String> {
        let run = self.pen.transcript().run.id.clone();
        let ending = AssertUnwindSafe(self.tools.end_run(&run)).catch_unwind();
        match tokio::time::timeout(Duration::from_millis(END_RUN_WAIT_MS), ending).await {
            Ok(Ok(left)) => left,
            Ok(Err(_)) | Err(_) => {
                tracing::error!("what a run left running could not be ended");
                vec!["what the run left running could not be ended in time".to_owned()]
            }
        }
    }

    async fn expire(&self, blocks: Vec<BlockId>) -> Result<(), Failure> {
        for block in blocks {
            match self.pen.write(|transcript| answer::expire(transcript, &block)).await {
                // Somebody answered in this very moment.
                Err(failure) if failure.code == "already_answered" => {}
                stored => stored?,
            }
        }
        Ok(())
    }
}

fn settle(transcript: &Transcript, refuse: Vec<(usize, Failure)>, ask: &[usize]) -> Entry {
    let mut asked = Entry::default();
    for idx in ask {
        let Some((mut part, call)) = changed(transcript.parts(), *idx, |_| CallState::Blocked)
        else {
            continue;
        };
        let id = BlockId::generate();
        if let Part::Call { block, .. } = &mut part {
            *block = Some(id.clone());
        }
        let run = transcript.run.id.clone();
        asked.facts.push(RunFact::RunBlocked { run, block: id.clone() });
        asked.chunks.push(Chunk::Approval { call, block: id });
        asked.parts.push((*idx, part));
    }
    let ends = refuse.into_iter().map(|(idx, failure)| (idx, Outcome::failed(failure))).collect();
    let ended = calls::entry(&Outlook::now(transcript), ends, &[]);
    asked.parts.extend(ended.parts);
    asked.facts.extend(ended.facts);
    asked.chunks.extend(ended.chunks);
    asked
}

fn park(transcript: &Transcript, kit: &Kit, now: i64, within: Option<Duration>) -> Entry {
    let deadline_at = within
        .map(|within| now.saturating_add(i64::try_from(within.as_millis()).unwrap_or(i64::MAX)));
    let mut blocks = Vec::new();
    for part in transcript.parts() {
        if let Part::Call { call, tool, input, block: Some(block), state: CallState::Blocked } =
            part
        {
            // Asked is what would run, not what was written: repaired, and without what nobody knows.
            let input = input.clone();
            let input = kit.find(tool).map_or(input.clone(), |tool| tool.spec.prepare(input));
            blocks.push(Block {
                id: block.clone(),
                call: call.clone(),
                tool: tool.clone(),
                input,
                asked_at: now,
                deadline_at,
                answer: None,
            });
        }
    }
    // The last question was answered between looking and storing.
    if blocks.is_empty() {
        return Entry::default();
    }
    let state = RunState::Parked { blocks };
    let usage = Usage::of(transcript.parts());
    Entry {
        state: Some(state.clone()),
        chunks: vec![Chunk::Finish { state, usage }],
        durability: Durability::Power,
        ..Entry::default()
    }
}

fn resume(transcript: &Transcript) -> Entry {
    Entry {
        state: Some(RunState::Running),
        facts: vec![RunFact::RunResumed { run: transcript.run.id.clone() }],
        ..Entry::default()
    }
}

fn steer(transcript: &Transcript, messages: Vec<MessageId>) -> Entry {
    let parts = transcript.parts();
    let mut entry = Entry::default();
    if in_step(parts) {
        entry.chunks.push(Chunk::StepEnd);
    }
    for (nth, message) in messages.into_iter().enumerate() {
        entry.chunks.push(Chunk::Steer { message: message.clone() });
        entry.parts.push((parts.len() + nth, Part::Steer { message }));
    }
    entry
}

fn last_notes(transcript: &Transcript, end: &RunEnd, left: &[String]) -> Vec<LastNote> {
    let mut notes = Vec::new();
    if let RunEnd::StepLimit { steps_max } = end {
        let text = format!("stopped after {steps_max} model calls, the configured limit");
        notes.push(LastNote { kind: "step_limit", text });
    }
    let cut =
        last_step(transcript.parts()).is_some_and(|step| step.stop == Some(StopReason::Length));
    if cut && matches!(end, RunEnd::Finished) {
        let text = "the answer reached the model's output limit and was cut".to_owned();
        notes.push(LastNote { kind: "answer_cut", text });
    }
    if !left.is_empty() {
        let text = beginning(&left.join("; "), RUN_FAILURE_BYTES_MAX).to_owned();
        notes.push(LastNote { kind: "left_running", text: format!("ended with the run: {text}") });
    }
    notes
}
