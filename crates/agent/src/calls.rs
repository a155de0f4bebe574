//! A batch of tool calls: begun in order, run side by side where all of them allow it, and stored as
//! each one ends. Approvals were decided before; a call that gets here may run.

use std::{
    borrow::Borrow,
    collections::VecDeque,
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use vocab::{
    fact::RunFact,
    limits::{ABORT_WAIT_MS, CALLS_AT_ONCE_MAX},
    live::Chunk,
    message::{CallState, Part},
    outcome::{Failure, Outcome},
    tool::Execution,
};
use workspace::call::{CallContext, Progress};

use crate::{
    ahead::Begun,
    close::ended_fact,
    journal::{Entry, Pulse},
    outlook::Outlook,
    parts::next_ordinal,
    prompt::bounded,
    toolbelt::{Asked, Kit},
    turn::Loop,
};

type Running = FuturesUnordered<BoxFuture<'static, (usize, Outcome)>>;

impl Loop {
    /// Runs these calls to their ends; the first `started` of them are stored as started already. When
    /// the run is aborted no further call begins, and those that do not end in time are left as started,
    /// for the end of the run to close.
    pub(crate) async fn run_calls(
        &self,
        kit: &Kit,
        batch: Vec<usize>,
        started: usize,
    ) -> Result<Begun, Failure> {
        let window = window(kit, self.pen.transcript().parts(), &batch);
        let cancel = self.cancel.child_token();
        let _dropped = cancel.clone().drop_guard();
        let mut waiting: VecDeque<(usize, Asked)> = self.asked(&batch).into();
        let mut starting: Vec<_> = waiting.drain(..started.min(waiting.len())).collect();
        let mut running = Running::new();
        let mut ended: Vec<(usize, Outcome)> = Vec::new();
        let mut give_up: Option<Instant> = None;
        loop {
            for (idx, asked) in starting.drain(..) {
                running.push(self.begin_call(kit, idx, asked, &cancel));
            }
            let room = window.saturating_sub(running.len());
            let room = if cancel.is_cancelled() { 0 } else { room.min(waiting.len()) };
            starting.extend(waiting.drain(..room));
            let over = running.is_empty() && starting.is_empty();
            if !ended.is_empty() || !starting.is_empty() {
                let ends = std::mem::take(&mut ended);
                let begins = starting.iter().map(|(idx, _)| *idx).collect();
                let begun = self.store_calls(ends, begins, over).await?;
                if over {
                    return Ok(begun);
                }
                continue;
            }
            if over {
                return Ok(Begun::Nothing);
            }
            tokio::select! {
                biased;
                Some(end) = running.next() => ended.push(end),
                () = cancelled_first(&cancel, give_up.is_some()) => {
                    give_up = Some(Instant::now() + Duration::from_millis(ABORT_WAIT_MS));
                }
                () = until(give_up) => return Ok(Begun::Nothing),
            }
            while let Some(Some(end)) = running.next().now_or_never() {
                ended.push(end);
            }
        }
    }

    /// Stores ends and beginnings of calls, and with the last end of all what it begins.
    async fn store_calls(
        &self,
        ends: Vec<(usize, Outcome)>,
        begins: Vec<usize>,
        over: bool,
    ) -> Result<Begun, Failure> {
        let mut begun = Begun::Nothing;
        self.pen
            .write(|transcript| {
                let mut entry = entry(&Outlook::now(transcript), ends, &begins);
                if over {
                    (entry, begun) = self.with_next(transcript, entry);
                }
                Ok(entry)
            })
            .await?;
        Ok(begun)
    }

    fn asked(&self, batch: &[usize]) -> Vec<(usize, Asked)> {
        let transcript = self.pen.transcript();
        let of = |idx: &usize| match transcript.parts().get(*idx) {
            Some(Part::Call { call, tool, input, .. }) => Some((
                *idx,
                Asked {
                    run: transcript.run.id.clone(),
                    call: call.clone(),
                    tool: tool.clone(),
                    input: input.clone(),
                    envelope: self.settings.envelope.clone(),
                },
            )),
            _ => None,
        };
        batch.iter().filter_map(of).collect()
    }

    fn begin_call(
        &self,
        kit: &Kit,
        idx: usize,
        asked: Asked,
        cancel: &CancellationToken,
    ) -> BoxFuture<'static, (usize, Outcome)> {
        let over = Arc::new(AtomicBool::new(false));
        let (pen, call, quiet) = (self.pen.clone(), asked.call.clone(), over.clone());
        let context = CallContext {
            cancel: cancel.child_token(),
            progress: Arc::new(move |Progress::Output(text)| {
                // What comes after the end is not progress of anything.
                if !quiet.load(Ordering::Acquire) {
                    pen.pulse(Pulse::Progress { call: call.clone(), text });
                }
            }),
        };
        let span = self.call_span(kit, &asked);
        let begun = Instant::now();
        let outcome = span.in_scope(|| {
            tracing::info!("a call begins");
            self.tools.call(kit, asked, context)
        });
        let ending = async move {
            let outcome = outcome.await;
            over.store(true, Ordering::Release);
            tell_end(&outcome, begun);
            (idx, bounded(outcome))
        };
        Box::pin(ending.instrument(span))
    }

    /// Returns what stands on every line of a call. A name that no tool has is the model's own words
    /// and stays out of the log.
    fn call_span(&self, kit: &Kit, asked: &Asked) -> tracing::Span {
        let session = self.pen.transcript().session.clone();
        let (run, call) = (&asked.run, &asked.call);
        let tool = kit.find(&asked.tool).map_or("unknown", |tool| tool.spec.name);
        tracing::error_span!("call", %session, %run, %call, tool)
    }
}

/// Logs how a call ended, without what it returned.
fn tell_end(outcome: &Outcome, begun: Instant) {
    let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let code = outcome.failure.as_ref().map_or("ok", |failure| failure.code.as_str());
    tracing::info!(effect = %outcome.effect(), code, duration_ms, "a call ended");
}

/// Returns how many of these calls may run at once: one, if any of their tools wants it so.
pub(crate) fn window<P: Borrow<Part>>(kit: &Kit, parts: &[P], batch: &[usize]) -> usize {
    let sequential = |idx: &usize| match parts.get(*idx).map(Borrow::borrow) {
        Some(Part::Call { tool, .. }) => {
            kit.find(tool).is_some_and(|tool| tool.spec.execution == Execution::Sequential)
        }
        _ => false,
    };
    if batch.iter().any(sequential) { 1 } else { CALLS_AT_ONCE_MAX }
}

/// Returns the entry that stores these ends, in the order they came, and then these beginnings.
pub(crate) fn entry(outlook: &Outlook<'_>, ends: Vec<(usize, Outcome)>, begins: &[usize]) -> Entry {
    let mut entry = Entry::default();
    let mut ordinal = next_ordinal(&outlook.parts);
    for (idx, outcome) in ends {
        let Some((part, call)) = changed(&outlook.parts, idx, |_| CallState::Ended {
            outcome: outcome.clone(),
            ordinal,
        }) else {
            continue;
        };
        ordinal = ordinal.saturating_add(1);
        entry.facts.push(ended_fact(outlook.run, &call, &outcome));
        let block = if let Part::Call { block, .. } = &part { block.clone() } else { None };
        entry.chunks.push(Chunk::Output { call, block, outcome: Arc::new(outcome) });
        entry.parts.push((idx, part));
    }
    for idx in begins {
        let Some((part, call)) = changed(&outlook.parts, *idx, |_| CallState::Started) else {
            continue;
        };
        if let Part::Call { tool, .. } = &part {
            let (run, tool) = (outlook.run.id.clone(), tool.clone());
            entry.facts.push(RunFact::CallStarted { run, call, tool });
        }
        entry.parts.push((*idx, part));
    }
    entry
}

/// Returns a call with another state, and its id.
pub(crate) fn changed<P: Borrow<Part>>(
    parts: &[P],
    idx: usize,
    to: impl FnOnce(&CallState) -> CallState,
) -> Option<(Part, vocab::ids::CallId)> {
    let mut part = parts.get(idx)?.borrow().clone();
    let Part::Call { state, call, .. } = &mut part else { return None };
    *state = to(state);
    let call = call.clone();
    Some((part, call))
}

async fn cancelled_first(cancel: &CancellationToken, noticed: bool) {
    if noticed { pending().await } else { cancel.cancelled().await }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => pending().await,
    }
}
