//! Tools of a remote workspace.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::RunId,
    outcome::{Effect, Failure, Outcome},
    tool::Reach,
};
use workspace::{
    call::{Call, CallContext, ProgressSink},
    catalog::Catalog,
    source::ToolSource,
};

use super::{
    RemoteWorkspace,
    link::{Asked, Link},
    pending::{Ended, Lane},
    unreadable,
};
use crate::protocol::{self, EndRun, call::Envelope, write};

impl ToolSource for RemoteWorkspace {
    fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.0.core().catalog)
    }

    fn call(&self, call: Call, context: CallContext) -> BoxFuture<'static, Outcome> {
        if context.cancel.is_cancelled() {
            let message = "stopped because the call was cancelled";
            let failure = Failure::not_started("aborted", message);
            return Box::pin(std::future::ready(Outcome::failed(failure)));
        }
        let link = Arc::clone(&self.0);
        let seen = link.core().catalog.generation;
        let asked = match ask(&link, &call, &context.progress) {
            Ok(asked) => asked,
            Err(failure) => return Box::pin(std::future::ready(Outcome::failed(failure))),
        };
        let runtime = link.runtime.clone();
        // A task of its own: cancelling must reach the server also when nobody polls the answer.
        let task = runtime.spawn(async move {
            let outcome = outcome(link.ended(asked, &context.cancel).await);
            match renewed(&link, (call, seen), &outcome, &context.cancel).await {
                Some(call) => match ask(&link, &call, &context.progress) {
                    Ok(asked) => self::outcome(link.ended(asked, &context.cancel).await),
                    Err(failure) => Outcome::failed(failure),
                },
                None => outcome,
            }
        });
        Box::pin(async move {
            task.await.unwrap_or_else(|_lost| {
                let message = "the call ended unexpectedly";
                Outcome::failed(Failure::new("internal", Effect::Indeterminate, message))
            })
        })
    }

    fn end_run(&self, run: &RunId) -> BoxFuture<'static, Vec<String>> {
        let run = run.clone();
        let opening = |id| write(&EndRun { id, run });
        let asked = self.0.ask(Lane::Calls, opening, |pending| pending.changing());
        let link = Arc::clone(&self.0);
        Box::pin(async move {
            let told = |failure: Failure| {
                vec![format!("what the run left running may still run: {failure}")]
            };
            let asked = match asked {
                Ok(asked) => asked,
                Err(failure) => return told(failure),
            };
            match link.ended(asked, &CancellationToken::new()).await {
                Ended::Value(value, _) => {
                    serde_json::from_str(value.get()).unwrap_or_else(|_shape| told(unreadable()))
                }
                Ended::Outcome(_) => told(unreadable()),
                Ended::Failed(failure) => told(failure),
            }
        })
    }
}

fn ask(link: &Link, call: &Call, progress: &ProgressSink) -> Result<Asked, Failure> {
    let catalog = Arc::clone(&link.core().catalog);
    let reads = catalog.find(&call.tool).is_some_and(|spec| spec.reach == Reach::Reads);
    let opening = |id| {
        write(&protocol::Call {
            id,
            call_id: call.id.clone(),
            run: call.run.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            arguments_prepared: true,
            expected_generation: call.expected_generation,
            schema_hash: call.schema_hash.clone(),
            timeout_ms: call.timeout_ms,
            idempotency_key: call.idempotency_key.clone(),
            envelope: Envelope {
                image_resize: call.envelope.image_resize,
                command_prefix: call.envelope.command_prefix.clone(),
            },
        })
    };
    link.ask(Lane::Calls, opening, |mut pending| {
        pending.changes = !reads;
        pending.progress = Some(Arc::clone(progress));
        pending
    })
}

fn outcome(ended: Ended) -> Outcome {
    match ended {
        Ended::Outcome(outcome) => outcome,
        Ended::Value(..) => Outcome::failed(unreadable()),
        Ended::Failed(failure) => Outcome::failed(failure),
    }
}

/// Returns the call for the present generation where the server refused it as old before it began, and the tool
/// is still the same. A call that was made for another generation than we had is its caller's mistake.
async fn renewed(
    link: &Link,
    (mut call, seen): (Call, u64),
    outcome: &Outcome,
    cancel: &CancellationToken,
) -> Option<Call> {
    let failure = outcome.failure.as_ref()?;
    let stale = failure.code == "stale_generation" && failure.effect == Effect::NotStarted;
    if !stale || call.expected_generation != seen || cancel.is_cancelled() {
        return None;
    }
    let mut fetched = {
        let mut core = link.core();
        let fetched = core.fetched.subscribe();
        if core.catalog.generation == seen {
            core.refresh();
            Some(fetched)
        } else {
            None
        }
    };
    link.wake.notify_one();
    if let Some(fetched) = &mut fetched {
        tokio::select! {
            changed = fetched.changed() => changed.ok()?,
            () = cancel.cancelled() => return None,
        }
    }
    let catalog = Arc::clone(&link.core().catalog);
    let spec = catalog.find(&call.tool)?;
    if catalog.generation == seen || spec.schema_hash() != call.schema_hash {
        return None;
    }
    call.expected_generation = catalog.generation;
    Some(call)
}
