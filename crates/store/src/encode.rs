//! A batch made ready in the caller's time: JSON is written and sizes are known before the writer sees it.

use serde_json::Value;
use vocab::{
    limits::{STORE_BATCH_BYTES_MAX, STORE_FACT_BYTES_MAX, STORE_PARTS_MAX},
    message::{Message, Part, Run, RunState, Usage},
};

use crate::{
    batch::{Batch, Change, Durability, NewFact, NewSession},
    error::StoreError,
    rows::Phase,
    sql::int,
};

/// What the fixed part of a batch counts for in the queue, bookkeeping included.
pub(crate) const BASE_BYTES: usize = 1_024;

/// Texts inside a fact that is too long are cut to this many characters.
const FACT_TEXT_CHARS: usize = 200;

/// A batch as the writer applies it.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) store_id: String,
    pub(crate) epoch: u64,
    pub(crate) session: Option<String>,
    pub(crate) ops: Vec<Op>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) durability: Durability,
    pub(crate) bytes: usize,
}

/// A fact ready to be inserted; the value is kept for the event.
#[derive(Debug)]
pub(crate) struct Fact {
    pub(crate) subject: &'static str,
    pub(crate) kind: String,
    pub(crate) version: u32,
    pub(crate) text: String,
    pub(crate) body: Value,
}

/// A part ready to be inserted.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) idx: i64,
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

/// A run's state ready to be stored.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) phase: Phase,
    pub(crate) text: String,
}

/// A change ready to be applied.
#[derive(Debug)]
pub(crate) enum Op {
    Create(NewSession),
    Session(SessionOp),
    Store(StoreOp),
}

/// A change inside the batch's session.
#[derive(Debug)]
pub(crate) enum SessionOp {
    SetTitle(String),
    SetPinned(bool),
    SetModel(Option<String>),
    SetMode(String),
    AddMessage { message: Message, parts: Vec<Body> },
    StartRun { run: Run, state: State },
    PutPart { run: String, part: Body },
    SetRunState { run: String, state: State },
    AddUsage(Usage),
}

/// A change that is about no session.
#[derive(Debug)]
pub(crate) enum StoreOp {
    PutIdempotent { scope: String, token: String, answer: String },
}

impl Sealed {
    pub(crate) fn new(batch: Batch) -> Result<Self, StoreError> {
        let ops = batch.changes.into_iter().map(op).collect::<Result<Vec<_>, _>>()?;
        let facts = batch.facts.into_iter().map(fact).collect::<Result<Vec<_>, _>>()?;
        let bytes = BASE_BYTES
            + ops.iter().map(op_bytes).sum::<usize>()
            + facts.iter().map(|fact| 256 + 2 * fact.text.len()).sum::<usize>();
        if bytes > STORE_BATCH_BYTES_MAX {
            return Err(StoreError::TooLarge { what: "a batch", bytes_max: STORE_BATCH_BYTES_MAX });
        }
        Ok(Self {
            store_id: batch.epoch.store_id,
            epoch: batch.epoch.number,
            session: batch.session.map(String::from),
            ops,
            facts,
            durability: batch.durability,
            bytes,
        })
    }
}

fn op(change: Change) -> Result<Op, StoreError> {
    Ok(match change {
        Change::CreateSession(new) => Op::Create(new),
        Change::SetTitle(title) => Op::Session(SessionOp::SetTitle(title)),
        Change::SetPinned(pinned) => Op::Session(SessionOp::SetPinned(pinned)),
        Change::SetModel(model) => {
            Op::Session(SessionOp::SetModel(model.map(|model| model.to_string())))
        }
        Change::SetMode(mode) => Op::Session(SessionOp::SetMode(mode.to_string())),
        Change::AddMessage(mut message) => {
            let parts = std::mem::take(&mut message.parts);
            let parts =
                parts.iter().enumerate().map(|(idx, p)| body(idx, p)).collect::<Result<_, _>>()?;
            Op::Session(SessionOp::AddMessage { message, parts })
        }
        Change::StartRun(run) => {
            Op::Session(SessionOp::StartRun { state: state(&run.state)?, run })
        }
        Change::PutPart { run, idx, part } => {
            Op::Session(SessionOp::PutPart { run: run.into(), part: body(idx, &part)? })
        }
        Change::SetRunState { run, state: now } => {
            Op::Session(SessionOp::SetRunState { run: run.into(), state: state(&now)? })
        }
        Change::AddUsage(usage) => Op::Session(SessionOp::AddUsage(usage)),
        Change::PutIdempotent { scope, token, answer } => {
            Op::Store(StoreOp::PutIdempotent { scope, token, answer: answer.to_string() })
        }
    })
}

pub(crate) fn body(idx: usize, part: &Part) -> Result<Body, StoreError> {
    if idx >= STORE_PARTS_MAX {
        return Err(StoreError::conflict(format!(
            "a message holds at most {STORE_PARTS_MAX} parts"
        )));
    }
    let kind = match part {
        Part::Step { .. } => "step",
        Part::Text { .. } => "text",
        Part::Reasoning { .. } => "reasoning",
        Part::Call { .. } => "call",
        Part::File { .. } => "file",
        Part::Steer { .. } => "steer",
        Part::Note { .. } => "note",
    };
    Ok(Body { idx: int(idx), kind, text: written(part)? })
}

pub(crate) fn state(state: &RunState) -> Result<State, StoreError> {
    Ok(State { phase: Phase::of(state), text: written(state)? })
}

fn written(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::conflict(format!("no JSON: {error}")))
}

pub(crate) fn fact(new: NewFact) -> Result<Fact, StoreError> {
    let NewFact { subject, version, mut body } = new;
    let Some(kind) = body.get("kind").and_then(Value::as_str).map(str::to_owned) else {
        return Err(StoreError::conflict("a fact is an object with a kind"));
    };
    let mut text = body.to_string();
    if text.len() > STORE_FACT_BYTES_MAX {
        shorten(&mut body);
        text = body.to_string();
    }
    if text.len() > STORE_FACT_BYTES_MAX {
        return Err(StoreError::TooLarge { what: "a fact", bytes_max: STORE_FACT_BYTES_MAX });
    }
    Ok(Fact { subject, kind, version, text, body })
}

/// Cuts long texts, so that the failure message of a run cannot keep its end from being recorded.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(FACT_TEXT_CHARS) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(map) => map.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn op_bytes(op: &Op) -> usize {
    let len = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let held = match op {
        Op::Create(new) => new.title.len() + len(&new.alias) + len(&new.workspace) + len(&new.cwd),
        Op::Session(op) => match op {
            SessionOp::SetTitle(title) => title.len(),
            SessionOp::AddMessage { parts, .. } => parts.iter().map(|p| 64 + p.text.len()).sum(),
            SessionOp::StartRun { state, .. } | SessionOp::SetRunState { state, .. } => {
                state.text.len()
            }
            SessionOp::PutPart { part, .. } => part.text.len(),
            SessionOp::SetPinned(_)
            | SessionOp::SetModel(_)
            | SessionOp::SetMode(_)
            | SessionOp::AddUsage(_) => 0,
        },
        Op::Store(StoreOp::PutIdempotent { scope, token, answer }) => {
            scope.len() + token.len() + answer.len()
        }
    };
    128 + held
}
