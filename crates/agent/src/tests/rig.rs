//! A script that speaks, tools that act, and a journal that keeps and checks everything.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::BoxStream};
use provider::{
    delta::{Delta, ProviderFailure, Retry},
    prompt::{Prompt, PromptMessage},
    seam::Provider,
};
use serde_json::{Value, json};
use stdx::clock::{Clock, Timestamp};
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::{CallId, MessageId, RunId, SessionId},
    live::{Chunk, Log},
    message::{Message, Mode, ModelRef, Part, Role, Run, RunState, StopReason, Usage},
    outcome::{Effect, Failure, Outcome},
    schema::{Property, Schema},
    tool::{Execution, Reach, ToolSpec},
};
use workspace::{
    call::{Call, CallContext, Progress},
    catalog::Catalog,
    source::ToolSource,
};

use super::words;
use crate::{
    journal::{Entry, Journal, Pulse},
    pen::Pen,
    toolbelt::Toolbelt,
    transcript::Transcript,
    turn::{Loop, Settings, drive},
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

#[derive(Default)]
pub(super) struct Script {
    turns: Mutex<VecDeque<Turn>>,
    pub(super) prompts: Mutex<Vec<Prompt>>,
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

type Hook = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Tools whose `do` says what they do: nothing, `ms:N`, `hook`, `panic`, `wait` (until cancelled),
/// `hang` (for ever), `talk`, `stale`, `fail`.
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
            if let Some(ms) = other.strip_prefix("ms:") {
                tokio::time::sleep(Duration::from_millis(ms.parse().unwrap())).await;
            }
        }
    }
    Outcome::text("done")
}

pub(super) struct TestJournal {
    inner: Mutex<Inner>,
}

struct Inner {
    transcript: Arc<Transcript>,
    log: Log,
    entries: Vec<Entry>,
    lines: Vec<String>,
    fails_at: Option<usize>,
    /// Told and not stored, by design of the test.
    unchecked: bool,
}

fn fold(transcript: &Transcript) -> Log {
    let run = &transcript.run;
    let own = transcript.messages.iter().find(|m| m.id == run.message).unwrap();
    Log::of_message(&transcript.session, &run.id, own, &run.state)
}

/// A log without the raw text of arguments, which is not kept.
pub(super) fn normal(log: &Log) -> Vec<(Chunk, String)> {
    let text = |entry: &vocab::live::Entry| match entry.chunk {
        Chunk::InputStart { .. } => String::new(),
        _ => entry.text.clone(),
    };
    log.entries().iter().map(|entry| (entry.chunk.clone(), text(entry))).collect()
}

pub(super) fn folded(transcript: &Transcript) -> Vec<(Chunk, String)> {
    normal(&fold(transcript))
}

impl TestJournal {
    fn new(transcript: Transcript) -> Self {
        let log = fold(&transcript);
        let inner = Inner {
            transcript: Arc::new(transcript),
            log,
            entries: Vec::new(),
            lines: Vec::new(),
            fails_at: None,
            unchecked: false,
        };
        Self { inner: Mutex::new(inner) }
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.inner.lock().unwrap().entries.clone()
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.inner.lock().unwrap().lines.clone()
    }

    pub(super) fn fail_at(&self, entry: usize) {
        self.inner.lock().unwrap().fails_at = Some(entry);
    }

    pub(super) fn leave_unchecked(&self) {
        self.inner.lock().unwrap().unchecked = true;
    }

    pub(super) fn user_says(&self, words: &str) {
        let mut inner = self.inner.lock().unwrap();
        let mut transcript = (*inner.transcript).clone();
        transcript.messages.push(message(Role::User, words));
        inner.transcript = Arc::new(transcript);
    }
}

impl Journal for TestJournal {
    fn append(&self, entry: Entry) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            let mut inner = self.inner.lock().unwrap();
            if inner.fails_at.is_some_and(|at| inner.entries.len() >= at) {
                return Err(Failure::not_started("stale_epoch", "another daemon owns this run"));
            }
            let mut transcript = (*inner.transcript).clone();
            if entry.state.is_some() && matches!(transcript.run.state, RunState::Parked { .. }) {
                inner.log.reopen();
            }
            transcript.apply(&entry);
            for chunk in &entry.chunks {
                inner.log.push(chunk.clone());
            }
            inner.lines.push(words::entry(&entry));
            inner.entries.push(entry);
            inner.transcript = Arc::new(transcript);
            let open_input = inner
                .log
                .entries()
                .last()
                .is_some_and(|last| matches!(last.chunk, Chunk::InputStart { .. }));
            if !open_input && !inner.unchecked {
                let lines = inner.lines.join("\n");
                assert_eq!(normal(&inner.log), folded(&inner.transcript), "after\n{lines}");
            }
            Ok(())
        })
    }

    fn pulse(&self, pulse: Pulse) {
        let mut inner = self.inner.lock().unwrap();
        inner.lines.push(words::pulse(&pulse));
        match pulse {
            Pulse::Chunk(chunk) => {
                inner.log.push(chunk);
            }
            Pulse::Text(text) => {
                inner.log.push_text(&text).expect("text follows a chunk that takes it");
            }
            Pulse::Progress { .. } => {}
        }
    }

    fn transcript(&self) -> Arc<Transcript> {
        self.inner.lock().unwrap().transcript.clone()
    }
}

pub(super) fn message(role: Role, words: &str) -> Message {
    let parts = if words.is_empty() {
        Vec::new()
    } else {
        vec![Part::Text { text: words.to_owned(), done: true }]
    };
    Message { id: MessageId::generate(), role, run: None, parts, created_at: 0 }
}

/// A transcript with a prompt and a run that has said nothing yet.
pub(super) fn fresh(mode: Mode, interactive: bool) -> Transcript {
    let messages = vec![message(Role::User, "please"), message(Role::Assistant, "")];
    begin_run(SessionId::generate(), messages, mode, interactive)
}

pub(super) fn begin_run(
    session: SessionId,
    messages: Vec<Message>,
    mode: Mode,
    interactive: bool,
) -> Transcript {
    let run = Run {
        id: RunId::generate(),
        message: messages.last().unwrap().id.clone(),
        model: ModelRef::parse("test/one").unwrap(),
        mode,
        interactive,
        state: RunState::Running,
        started_at: 0,
    };
    Transcript { session, messages, run }
}

/// A run with everything it needs.
pub(super) struct Rig {
    pub(super) start: Transcript,
    pub(super) journal: Arc<TestJournal>,
    pub(super) script: Arc<Script>,
    pub(super) tools: Arc<Tools>,
    pub(super) pen: Pen,
    pub(super) cancel: CancellationToken,
    pub(super) clock: Clock,
    pub(super) settings: Settings,
}

impl Rig {
    pub(super) fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::of(fresh(Mode::Auto, true), turns)
    }

    pub(super) fn of(start: Transcript, turns: impl IntoIterator<Item = Turn>) -> Self {
        let journal = Arc::new(TestJournal::new(start.clone()));
        let script = Script { turns: Mutex::new(turns.into_iter().collect()), ..Script::default() };
        let tools = Tools {
            catalog: Mutex::new(Arc::new(Catalog::new(1, specs()))),
            hook: Mutex::default(),
            left: Mutex::default(),
            hang_at_end: Mutex::default(),
            seen: Arc::default(),
        };
        Self {
            start,
            pen: Pen::new(journal.clone()),
            journal,
            script: Arc::new(script),
            tools: Arc::new(tools),
            cancel: CancellationToken::new(),
            clock: Clock::manual(Timestamp::from_millis(1_000)),
            settings: Settings { system: "you are a test".to_owned(), ..Settings::default() },
        }
    }

    pub(super) fn belt(&self) -> Arc<Toolbelt> {
        Arc::new(Toolbelt::new(vec![self.tools.clone()]))
    }

    pub(super) fn work(&self) -> Loop {
        Loop {
            pen: self.pen.clone(),
            provider: self.script.clone(),
            tools: self.belt(),
            clock: self.clock.clone(),
            cancel: self.cancel.clone(),
            settings: self.settings.clone(),
        }
    }

    pub(super) async fn drive(&self) -> RunState {
        drive(self.work()).await
    }

    pub(super) fn on_hook(
        &self,
        hook: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) {
        *self.tools.hook.lock().unwrap() = Some(Arc::new(hook));
    }

    pub(super) fn leave_running(&self, what: &str) {
        self.tools.left.lock().unwrap().push(what.to_owned());
    }

    /// The lines of what was stored, without what was only told.
    pub(super) fn stored(&self) -> Vec<String> {
        self.journal.lines().into_iter().filter(|line| line.starts_with('+')).collect()
    }

    /// The states in which the calls ended, in the order of the calls.
    pub(super) fn ends(&self) -> Vec<String> {
        let transcript = self.pen.transcript();
        let of = |part: &Part| match part {
            Part::Call {
                call,
                state: vocab::message::CallState::Ended { outcome, ordinal },
                ..
            } => Some(format!("{call} {}#{ordinal}", words::end(outcome))),
            _ => None,
        };
        transcript.parts().iter().filter_map(of).collect()
    }

    /// The messages of the last prompt, one line each.
    pub(super) fn last_prompt(&self) -> Vec<String> {
        let prompts = self.script.prompts.lock().unwrap();
        prompts.last().unwrap().messages.iter().map(prompt_line).collect()
    }
}

pub(super) fn prompt_line(message: &PromptMessage) -> String {
    use provider::prompt::AssistantPart;
    match message {
        PromptMessage::User(content) => {
            let outcome = Outcome { content: content.clone(), details: None, failure: None };
            format!("user {:?}", outcome.plain_text())
        }
        PromptMessage::Assistant { parts, .. } => {
            let of = |part: &AssistantPart| match part {
                AssistantPart::Text(text) => format!("{text:?}"),
                AssistantPart::Reasoning { text, .. } => format!("think {text:?}"),
                AssistantPart::Call { id, input, .. } => format!("{id}{input}"),
            };
            format!("model {}", parts.iter().map(of).collect::<Vec<_>>().join(" "))
        }
        PromptMessage::Results(results) => {
            let of = |(id, _, outcome): &(CallId, String, Outcome)| {
                format!("{id}={}", words::end(outcome))
            };
            format!("results {}", results.iter().map(of).collect::<Vec<_>>().join(" "))
        }
    }
}

/// Checks that every call of a prompt is followed by exactly one result.
pub(super) fn assert_valid(messages: &[PromptMessage]) {
    use provider::prompt::AssistantPart;
    let mut asked: Vec<CallId> = Vec::new();
    for message in messages {
        match message {
            PromptMessage::Assistant { parts, .. } => {
                assert!(asked.is_empty(), "calls without results: {asked:?}");
                assert!(!parts.is_empty());
                asked.extend(parts.iter().filter_map(|part| match part {
                    AssistantPart::Call { id, input, .. } => {
                        assert!(input.is_object());
                        Some(id.clone())
                    }
                    _ => None,
                }));
            }
            PromptMessage::Results(results) => {
                let given: Vec<CallId> = results.iter().map(|(id, ..)| id.clone()).collect();
                assert_eq!(std::mem::take(&mut asked), given);
            }
            PromptMessage::User(content) => {
                assert!(asked.is_empty(), "calls without results: {asked:?}");
                assert!(!content.is_empty());
            }
        }
    }
    assert!(asked.is_empty(), "calls without results: {asked:?}");
    assert!(matches!(messages.first(), Some(PromptMessage::User(_))));
}
