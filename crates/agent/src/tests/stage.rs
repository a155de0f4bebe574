//! A script that speaks and tools that act.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::BoxStream};
use provider::{
    delta::{Delta, ProviderFailure, Retry},
    prompt::Prompt,
    seam::Provider,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::{CallId, RunId},
    message::{StopReason, Usage},
    outcome::{Effect, Failure, Outcome},
    schema::{Property, Schema},
    tool::{Execution, Reach, ToolSpec},
};
use workspace::{
    call::{Call, CallContext, Progress},
    catalog::Catalog,
    source::ToolSource,
};

/// One thing that the script does.
#[derive(Debug, Clone)]
pub(super) enum Say {
    Delta(Delta),
    Wait(u64),
    Hang,
    Panic,
}

pub(super) type Turn = Vec<Say>;

pub(super) fn turn(deltas: impl IntoIterator<Item = Vec<Delta>>) -> Turn {
    deltas.into_iter().flatten().map(Say::Delta).collect()
}

pub(super) fn text(words: &str) -> Vec<Delta> {
    vec![Delta::TextStart, Delta::Text(words.to_owned()), Delta::TextEnd]
}

pub(super) fn call(id: &str, tool: &str, input: Value) -> Vec<Delta> {
    vec![
        Delta::CallStart { id: CallId(id.to_owned()), tool: tool.to_owned() },
        Delta::CallInput(input.to_string()),
        Delta::CallEnd { input },
    ]
}

pub(super) fn stop(reason: StopReason) -> Vec<Delta> {
    vec![Delta::Usage(Usage { input: 10, output: 1, ..Usage::default() }), Delta::Done(reason)]
}

pub(super) fn fail(code: &str, retry: Retry) -> Vec<Delta> {
    let failure = Failure::new(code, Effect::Indeterminate, format!("it said {code}"));
    vec![Delta::Failed(ProviderFailure { failure, retry })]
}

/// A turn that calls the tools given as `id tool path do`, and waits for them.
pub(super) fn calls(list: &[(&str, &str, &str)]) -> Turn {
    let deltas = list.iter().map(|(id, tool, act)| call(id, tool, json!({"path": "p", "do": act})));
    turn(deltas.chain([stop(StopReason::ToolUse)]))
}

pub(super) fn says(words: &str) -> Turn {
    turn([text(words), stop(StopReason::Stop)])
}

pub(super) struct Script {
    turns: Mutex<VecDeque<Turn>>,
    pub(super) prompts: Mutex<Vec<Prompt>>,
}

impl Script {
    pub(super) fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: Mutex::new(turns.into_iter().collect()), prompts: Mutex::default() }
    }
}

impl Provider for Script {
    fn stream(&self, prompt: Prompt, cancel: CancellationToken) -> BoxStream<'static, Delta> {
        self.prompts.lock().unwrap().push(prompt);
        let turn = self.turns.lock().unwrap().pop_front().expect("the script has a turn left");
        let said = futures_util::stream::iter(turn).filter_map(|say| async move {
            match say {
                Say::Delta(delta) => Some(delta),
                Say::Wait(ms) => {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    None
                }
                Say::Hang => std::future::pending().await,
                Say::Panic => panic!("the script fell over"),
            }
        });
        said.take_until(cancel.cancelled_owned()).boxed()
    }
}

pub(super) type Hook = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Tools whose `do` says what they do: nothing, `ms:N`, `hook`, `panic`, `wait` (until cancelled),
/// `hang` (for ever), `talk`, `stale`, `fail`, `says:WORDS`, `panic:WORDS`.
pub(super) struct Tools {
    catalog: Mutex<Arc<Catalog>>,
    hook: Mutex<Option<Hook>>,
    left: Mutex<Vec<String>>,
    pub(super) hang_at_end: Mutex<bool>,
    pub(super) seen: Arc<Mutex<Seen>>,
}

#[derive(Default, Debug)]
pub(super) struct Seen {
    pub(super) calls: Vec<String>,
    pub(super) now: usize,
    pub(super) at_once: usize,
    pub(super) ended_runs: usize,
}

fn specs() -> Vec<Arc<ToolSpec>> {
    let of = |name: &'static str, reach, execution| {
        Arc::new(ToolSpec {
            name,
            description: "A tool of the tests.\nMore of it.",
            parameters: Schema::Object(vec![
                Property::required("path", Schema::Text { description: "where" }),
                Property::optional("do", Schema::Text { description: "what" }),
                Property::optional(
                    "n",
                    Schema::Integer { description: "how often", minimum: 1, maximum: 9 },
                ),
            ]),
            reach,
            execution,
            prepare: |arguments| arguments,
        })
    };
    vec![
        of("look", Reach::Reads, Execution::Parallel),
        of("change", Reach::Writes, Execution::Parallel),
        of("exec", Reach::Runs, Execution::Parallel),
        of("alone", Reach::Reads, Execution::Sequential),
    ]
}

impl Tools {
    pub(super) fn new() -> Self {
        Self {
            catalog: Mutex::new(Arc::new(Catalog::new(1, specs()))),
            hook: Mutex::default(),
            left: Mutex::default(),
            hang_at_end: Mutex::default(),
            seen: Arc::default(),
        }
    }

    pub(super) fn on_hook(&self, hook: Hook) {
        *self.hook.lock().unwrap() = Some(hook);
    }

    pub(super) fn leave(&self, what: &str) {
        self.left.lock().unwrap().push(what.to_owned());
    }
}

impl ToolSource for Tools {
    fn catalog(&self) -> Arc<Catalog> {
        self.catalog.lock().unwrap().clone()
    }

    fn call(&self, call: Call, context: CallContext) -> BoxFuture<'static, Outcome> {
        let seen = self.seen.clone();
        {
            let mut seen = seen.lock().unwrap();
            seen.calls.push(call.id.to_string());
            seen.now += 1;
            seen.at_once = seen.at_once.max(seen.now);
        }
        let act = call.arguments["do"].as_str().unwrap_or_default().to_owned();
        let hook = self.hook.lock().unwrap().clone();
        if act == "stale" && call.expected_generation == 1 {
            *self.catalog.lock().unwrap() = Arc::new(Catalog::new(2, specs()));
            seen.lock().unwrap().now -= 1;
            return Box::pin(async {
                Outcome::failed(Failure::not_started("stale_generation", "look again"))
            });
        }
        Box::pin(async move {
            let outcome = behave(&act, hook, &context).await;
            seen.lock().unwrap().now -= 1;
            outcome
        })
    }

    fn end_run(&self, _run: &RunId) -> BoxFuture<'static, Vec<String>> {
        self.seen.lock().unwrap().ended_runs += 1;
        if *self.hang_at_end.lock().unwrap() {
            return std::future::pending().boxed();
        }
        let left = self.left.lock().unwrap().clone();
        async move { left }.boxed()
    }
}

async fn behave(act: &str, hook: Option<Hook>, context: &CallContext) -> Outcome {
    match act {
        "hook" => hook.expect("a hook")().await,
        "panic" => panic!("the tool fell over"),
        "hang" => std::future::pending().await,
        "talk" => (context.progress)(Progress::Output("half way".to_owned())),
        "fail" => return Outcome::failed(Failure::new("broke", Effect::Completed, "it broke")),
        "wait" => {
            context.cancel.cancelled().await;
            let failure = Failure::new("aborted", Effect::Completed, "stopped half way");
            return Outcome::failed(failure);
        }
        other => {
            if let Some(words) = other.strip_prefix("says:") {
                return Outcome::text(words);
            }
            assert!(!other.starts_with("panic:"), "the tool fell over: {other}");
            if let Some(ms) = other.strip_prefix("ms:") {
                tokio::time::sleep(Duration::from_millis(ms.parse().unwrap())).await;
            }
        }
    }
    Outcome::text("done")
}
