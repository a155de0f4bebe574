//! A run with everything it needs, and a journal that keeps and checks everything.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use stdx::clock::{Clock, Timestamp};
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::{MessageId, RunId, SessionId},
    live::{Chunk, Log},
    message::{Message, Mode, ModelRef, Part, Role, Run, RunState},
    outcome::Failure,
};

use super::words;
pub(super) use super::{
    stage::{Say, Script, Tools, Turn, call, calls, fail, says, stop, text, turn},
    words::{assert_valid, prompt_line},
};
use crate::{
    journal::{Entry, Journal, Pulse},
    pen::Pen,
    toolbelt::Toolbelt,
    transcript::Transcript,
    turn::{Loop, Settings, drive},
};

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
        Self {
            start,
            pen: Pen::new(journal.clone()),
            journal,
            script: Arc::new(Script::new(turns)),
            tools: Arc::new(Tools::new()),
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
        self.tools.on_hook(Arc::new(hook));
    }

    pub(super) fn leave_running(&self, what: &str) {
        self.tools.leave(what);
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
