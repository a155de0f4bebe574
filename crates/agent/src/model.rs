//! One model call: it is stored as begun, its answer streams, is stored at intervals and at its end.
//!
//! Only a call that failed before its first word is tried again, and only where its failure says so.

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use provider::{
    delta::{Delta, ProviderFailure, Retry},
    prompt::Prompt,
};
use tokio::time::Instant;
use vocab::{
    fact::RunFact,
    limits::{RETRY_ATTEMPTS_MAX, RETRY_WAIT_MS_MAX},
    live::Chunk,
    message::{ModelRef, Part, RunEnd, StopReason, Usage},
    outcome::{Effect, Failure},
};

use crate::{
    ahead::Begun,
    draft::Draft,
    journal::{Durability, Entry, Pulse},
    outlook::Outlook,
    parts::{beginning, in_step},
    prompt,
    turn::Loop,
};

/// How a model call went.
#[derive(Debug)]
pub(crate) enum Called {
    /// The model spoke to its end, and that is stored, with what it began.
    Done(Begun),
    /// It broke off: what is left to store, and how the run ends.
    Broken(Box<Entry>, RunEnd),
}

/// How listening to one attempt ended.
enum Heard {
    Done(StopReason),
    Failed(ProviderFailure),
    Aborted,
}

/// A model call that is under way.
struct Call {
    step: usize,
    model: ModelRef,
    /// Tokens of attempts that are over.
    spent: Usage,
    draft: Draft,
}

impl Call {
    fn step_part(&self, stop: Option<StopReason>) -> (usize, Part) {
        let mut usage = self.spent;
        usage.add(&self.draft.usage());
        (self.step, Part::Step { model: self.model.clone(), usage: Some(usage), stop })
    }
}

impl Loop {
    /// Asks the model once and stores what it says. The call may be stored as begun already.
    pub(crate) async fn call_model(&self, begun: bool) -> Result<Called, Failure> {
        if !begun {
            self.pen.write(|transcript| Ok(begin(&Outlook::now(transcript)))).await?;
        }
        let transcript = self.pen.transcript();
        let parts = transcript.parts();
        let mut call = Call {
            step: parts.len().saturating_sub(1),
            model: transcript.run.model.clone(),
            spent: Usage::default(),
            draft: Draft::after(parts),
        };
        drop(transcript);
        let mut attempt = 1;
        loop {
            let transcript = self.pen.transcript();
            let prompt = prompt::assemble(&transcript, &self.tools.kit(), &self.settings);
            drop(transcript);
            let mut failed = match self.listen(&mut call.draft, prompt).await? {
                Heard::Done(stop) => {
                    return Ok(Called::Done(self.store_answer(call, stop).await?));
                }
                Heard::Aborted => return Ok(self.broken(call, RunEnd::Aborted)),
                Heard::Failed(failed) => failed,
            };
            let wait = self.wait_before(attempt + 1, &mut failed);
            let (Some(wait), false) = (wait, call.draft.begun()) else {
                return Ok(self.broken(call, RunEnd::Failed { failure: failed.failure }));
            };
            attempt += 1;
            self.tell_retry(attempt, wait, &failed.failure).await?;
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Ok(self.broken(call, RunEnd::Aborted)),
                () = tokio::time::sleep(wait) => {}
            }
            tracing::debug!(attempt, "trying a model call again");
            call.spent.add(&call.draft.usage());
            call.draft = Draft::after(self.pen.transcript().parts());
        }
    }

    /// Listens to one attempt. What is heard is told at once, and stored at intervals.
    async fn listen(&self, draft: &mut Draft, prompt: Prompt) -> Result<Heard, Failure> {
        let cancel = self.cancel.child_token();
        let _dropped = cancel.clone().drop_guard();
        let mut stream = self.provider.stream(prompt, cancel);
        loop {
            if self.cancel.is_cancelled() {
                return Ok(Heard::Aborted);
            }
            // While more is ready it is taken first, so that a fast answer is stored once.
            let ready = stream.next().now_or_never();
            if ready.is_none() && draft.part_ended() {
                self.store_text(draft).await?;
            }
            let heard = match ready {
                Some(heard) => heard,
                None => tokio::select! {
                    biased;
                    () = self.cancel.cancelled() => return Ok(Heard::Aborted),
                    heard = stream.next() => heard,
                    () = due(draft.due()) => {
                        self.store_text(draft).await?;
                        continue;
                    }
                },
            };
            let delta = match heard {
                Some(Delta::Done(stop)) => return Ok(Heard::Done(stop)),
                Some(Delta::Failed(_)) if self.cancel.is_cancelled() => return Ok(Heard::Aborted),
                Some(Delta::Failed(failed)) => return Ok(Heard::Failed(failed)),
                None => return Ok(Heard::Failed(cut())),
                Some(delta) => delta,
            };
            if let Some(pulse) = draft.hear(delta, Instant::now()) {
                self.pen.pulse(pulse);
            }
            if draft.too_long() {
                return Ok(Heard::Failed(too_long()));
            }
            if draft.full() || draft.due().is_some_and(|due| due <= Instant::now()) {
                self.store_text(draft).await?;
            }
            tokio::task::coop::consume_budget().await;
        }
    }

    async fn store_text(&self, draft: &mut Draft) -> Result<(), Failure> {
        let parts = draft.take_unsaved();
        self.pen.write(|_| Ok(Entry { parts, ..Entry::default() })).await
    }

    async fn store_answer(&self, mut call: Call, stop: StopReason) -> Result<Begun, Failure> {
        let now = Instant::now();
        if let Some(chunk) = call.draft.end_open_call(now) {
            self.pen.pulse(Pulse::Chunk(chunk));
        }
        if let Some(pulse) = call.draft.end_open_text(now) {
            self.pen.pulse(pulse);
        }
        let mut parts = vec![call.step_part(Some(stop))];
        parts.extend(call.draft.take_unsaved());
        let mut begun = Begun::Nothing;
        self.pen
            .write(|transcript| {
                let entry = Entry {
                    parts,
                    facts: vec![RunFact::StepEnded { run: transcript.run.id.clone() }],
                    durability: Durability::Process,
                    ..Entry::default()
                };
                let (entry, next) = self.with_next(transcript, entry);
                begun = next;
                Ok(entry)
            })
            .await?;
        Ok(begun)
    }

    /// Returns what a broken answer leaves to store; text that is open is closed with the run.
    fn broken(&self, mut call: Call, end: RunEnd) -> Called {
        let mut entry = Entry::default();
        entry.chunks.extend(call.draft.end_open_call(Instant::now()));
        entry.parts.push(call.step_part(None));
        entry.parts.extend(call.draft.take_unsaved());
        let run = self.pen.transcript().run.id.clone();
        entry.facts.push(RunFact::StepEnded { run });
        Called::Broken(Box::new(entry), end)
    }

    /// Returns how long to wait before an attempt, or that there will be none.
    fn wait_before(&self, attempt: u32, failed: &mut ProviderFailure) -> Option<Duration> {
        let wait = match failed.retry {
            Retry::Never => return None,
            Retry::Backoff => self.settings.retry_base * 2_u32.pow(attempt.saturating_sub(2)),
            Retry::After { wait_ms } if RETRY_WAIT_MS_MAX < wait_ms => {
                // A provider that asks for a longer wait than anybody bears has failed.
                let seconds = wait_ms.div_ceil(1_000);
                let hint = format!("the provider asks to wait {seconds} s; try again then");
                failed.failure.hint = Some(hint);
                return None;
            }
            Retry::After { wait_ms } => Duration::from_millis(wait_ms),
        };
        (attempt <= RETRY_ATTEMPTS_MAX).then_some(wait)
    }

    async fn tell_retry(
        &self,
        attempt: u32,
        wait: Duration,
        failure: &Failure,
    ) -> Result<(), Failure> {
        let kind = "retry".to_owned();
        let text = format!(
            "the model could not be asked ({}); attempt {attempt} of {RETRY_ATTEMPTS_MAX} begins in {:.1} s",
            beginning(&failure.message, 300),
            wait.as_secs_f64(),
        );
        self.pen
            .write(|transcript| {
                let part = transcript.parts().len();
                Ok(Entry {
                    parts: vec![(part, Part::Note { kind: kind.clone(), text: text.clone() })],
                    facts: vec![RunFact::StepRetried {
                        run: transcript.run.id.clone(),
                        attempt,
                        delay_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                        code: failure.code.clone(),
                    }],
                    chunks: vec![Chunk::Note { part, kind, text }],
                    ..Entry::default()
                })
            })
            .await
    }
}

/// Returns the entry with which a model call begins.
pub(crate) fn begin(outlook: &Outlook<'_>) -> Entry {
    let parts = outlook.parts.as_slice();
    let mut chunks = Vec::new();
    if in_step(parts) {
        chunks.push(Chunk::StepEnd);
    }
    chunks.push(Chunk::StepStart);
    let step = Part::Step { model: outlook.run.model.clone(), usage: None, stop: None };
    Entry { parts: vec![(parts.len(), step)], chunks, ..Entry::default() }
}

/// Waits until unsaved text is due; for ever when there is none.
async fn due(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn cut() -> ProviderFailure {
    ProviderFailure::fatal(
        "answer_cut",
        Effect::Indeterminate,
        "the model's answer ended without saying so",
    )
}

fn too_long() -> ProviderFailure {
    ProviderFailure::fatal(
        "answer_too_long",
        Effect::Completed,
        "the model's answer is longer than any should be, and was cut off",
    )
}
