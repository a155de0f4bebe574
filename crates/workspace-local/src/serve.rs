//! The workspace as everybody above the seam sees it: calls are admitted here, then run elsewhere.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use vocab::{
    ids::RunId,
    limits::{CHILD_GRACE_MS, PROGRESS_INTERVAL_MS, RECENT_CALLS_MAX},
    outcome::{Effect, Failure, Outcome},
    tool::{Reach, ToolSpec},
};
use workspace::{
    call::{Call, CallContext, Progress, ProgressSink},
    catalog::Catalog,
    source::ToolSource,
};

use crate::{
    output::Pending,
    pool::Pool,
    site::Site,
    stop::Stop,
    tools::{self, Job, Run},
};

/// A workspace that is a directory of this machine.
#[derive(Clone)]
pub struct LocalWorkspace(pub(crate) Arc<Site>);

impl std::fmt::Debug for LocalWorkspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalWorkspace").field("id", &self.0.id).finish_non_exhaustive()
    }
}

/// A call that changes something, for whoever asks for it again.
pub(crate) type Recent = Shared<BoxFuture<'static, Outcome>>;

impl ToolSource for LocalWorkspace {
    fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.0.catalog)
    }

    fn call(&self, call: Call, context: CallContext) -> BoxFuture<'static, Outcome> {
        let (spec, run) = match admit(&self.0, &call) {
            Ok(admitted) => admitted,
            Err(failure) => return Box::pin(std::future::ready(Outcome::failed(failure))),
        };
        let Some(key) = call.idempotency_key.clone().filter(|_| spec.reach != Reach::Reads) else {
            return self.start(call, context, (&spec, run));
        };
        let mut recent = self.0.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = recent.iter().find(|(seen, _)| *seen == key) {
            return Box::pin(known.clone());
        }
        let started = self.start(call, context, (&spec, run)).shared();
        if recent.len() >= RECENT_CALLS_MAX {
            recent.pop_front();
        }
        recent.push_back((key, started.clone()));
        Box::pin(started)
    }

    fn end_run(&self, run: &RunId) -> BoxFuture<'static, Vec<String>> {
        let Some(programs) = &self.0.programs else {
            return Box::pin(std::future::ready(Vec::new()));
        };
        let scope = programs.scopes.lock().unwrap_or_else(PoisonError::into_inner).open.remove(run);
        let Some(scope) = scope else { return Box::pin(std::future::ready(Vec::new())) };
        let (done, killed) = tokio::sync::oneshot::channel();
        // A thread of its own, since all of the pool's may be busy with what is to be ended.
        let end = move || done.send(scope.end(Duration::from_millis(CHILD_GRACE_MS))).ok();
        let started = std::thread::Builder::new().name("workspace-end-run".into()).spawn(end);
        Box::pin(async move {
            if let Err(error) = started {
                return vec![format!("what the run left running could not be ended: {error}")];
            }
            let killed = killed.await.unwrap_or_default();
            killed
                .iter()
                .map(|one| {
                    let how = if one.gone { "ended" } else { "could not end" };
                    format!("{how} {} {}", one.pid, one.command)
                })
                .collect()
        })
    }
}

/// Checks all that can be checked before anything starts.
fn admit(site: &Site, call: &Call) -> Result<(Arc<ToolSpec>, Run), Failure> {
    let catalog = &site.catalog;
    if call.expected_generation != catalog.generation {
        let message = format!(
            "the catalog is at generation {}, the call was made for {}",
            catalog.generation, call.expected_generation
        );
        return Err(stale(message));
    }
    let unknown = || {
        Failure::not_started("unknown_tool", format!("this workspace has no tool {:?}", call.tool))
    };
    let spec = catalog.find(&call.tool).ok_or_else(unknown)?;
    let run = tools::runner(spec.name).ok_or_else(unknown)?;
    if call.schema_hash != spec.schema_hash() {
        return Err(stale(format!("the call was made for another schema of {}", spec.name)));
    }
    spec.validate(&call.arguments).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let message = format!("the arguments of {} do not fit:\n{}", spec.name, lines.join("\n"));
        Failure::not_started("invalid_arguments", message)
    })?;
    Ok((Arc::clone(spec), run))
}

fn stale(message: String) -> Failure {
    Failure::not_started("stale_generation", message).with_hint("fetch the catalog again")
}

impl LocalWorkspace {
    /// Puts a call in order and starts it. It runs to its end also when nobody waits for it.
    fn start(
        &self,
        call: Call,
        context: CallContext,
        (spec, run): (&ToolSpec, Run),
    ) -> BoxFuture<'static, Outcome> {
        let site = Arc::clone(&self.0);
        let runs = spec.reach == Reach::Runs;
        let pool = match &site.programs {
            Some(programs) if runs => programs.pool.clone(),
            _ => site.files.clone(),
        };
        // A command's time is the plan's business, since only it knows when the command started.
        let timeout_ms = if runs { None } else { call.timeout_ms };
        let stop = Stop::new(context.cancel, &site.clock, timeout_ms);
        let turn = (spec.reach == Reach::Writes).then(|| site.turns.take());
        let mut arguments = call.arguments;
        if let Some(ms) = call.timeout_ms.filter(|_| runs) {
            tools::bound_timeout(&mut arguments, ms);
        }
        let pending = Arc::new(Pending::default());
        let told = Arc::clone(&pending);
        let progress: ProgressSink = Arc::new(move |Progress::Output(text)| told.push(&text));
        let (envelope, run_id) = (call.envelope, call.run);
        let job =
            Job { site, arguments, run: run_id, envelope, progress, stop: stop.clone(), turn };
        let ended = submitted(pool, stop, job, run);
        let watched = watch(ended, pending, context.progress);
        if !runs {
            return watched;
        }
        // A task of its own: cancelling must reach the command also when nobody polls the answer.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                let task = runtime.spawn(watched);
                Box::pin(async move { task.await.unwrap_or_else(|_lost| Outcome::failed(lost())) })
            }
            Err(_) => watched,
        }
    }
}

fn lost() -> Failure {
    Failure::new("internal", Effect::Indeterminate, "the call ended unexpectedly")
}

/// Queues the work at once, so that order is that of the calls and not of their polling.
fn submitted(pool: Pool, stop: Stop, job: Job, run: Run) -> BoxFuture<'static, Outcome> {
    let answered = Site::on(&pool, stop, move || run(job));
    Box::pin(async move {
        match answered.await {
            Ok(outcome) => outcome,
            Err(failure) => Outcome::failed(failure),
        }
    })
}

/// Waits for the end and hands on what comes before it, at most ten times a second.
fn watch(
    mut ended: BoxFuture<'static, Outcome>,
    pending: Arc<Pending>,
    sink: ProgressSink,
) -> BoxFuture<'static, Outcome> {
    let flush = move |pending: &Pending| {
        if let Some(text) = pending.take() {
            sink(Progress::Output(text));
        }
    };
    Box::pin(async move {
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut ended => break outcome,
                () = pending.more.notified() => flush(&pending),
            }
            let pause = tokio::time::sleep(Duration::from_millis(PROGRESS_INTERVAL_MS));
            tokio::select! {
                biased;
                outcome = &mut ended => break outcome,
                () = pause => {}
            }
        };
        flush(&pending);
        outcome
    })
}

#[cfg(test)]
mod tests;
