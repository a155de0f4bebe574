//! What the journal was told, in a short text form that expectations are written in.

use provider::prompt::{AssistantPart, PromptMessage};
use vocab::{
    fact::RunFact,
    ids::CallId,
    live::{Chunk, state_word},
    message::{CallState, Part, RunState, StopReason},
    outcome::Outcome,
};

use crate::journal::{Durability, Entry, Pulse};

pub(super) fn entry(entry: &Entry) -> String {
    let mut line = String::from(if entry.durability == Durability::Power { "+P" } else { "+" });
    for (idx, part) in &entry.parts {
        line.push_str(&format!(" {idx}={}", self::part(part)));
    }
    if let Some(state) = &entry.state {
        line.push_str(&format!(" {}", self::state(state)));
    }
    let facts: Vec<String> = entry.facts.iter().map(fact).collect();
    if !facts.is_empty() {
        line.push_str(&format!(" ! {}", facts.join(", ")));
    }
    let chunks: Vec<String> = entry.chunks.iter().map(chunk).collect();
    if !chunks.is_empty() {
        line.push_str(&format!(" > {}", chunks.join(", ")));
    }
    line
}

pub(super) fn pulse(pulse: &Pulse) -> String {
    match pulse {
        Pulse::Chunk(chunk) => format!("~ {}", self::chunk(chunk)),
        Pulse::Text(text) => format!("~ {text:?}"),
        Pulse::Progress { call, text } => format!("~ {call} says {text:?}"),
    }
}

fn part(part: &Part) -> String {
    match part {
        Part::Step { stop, .. } => match stop {
            None => "step".to_owned(),
            Some(StopReason::Stop) => "step(stop)".to_owned(),
            Some(StopReason::Length) => "step(length)".to_owned(),
            Some(StopReason::ToolUse) => "step(tools)".to_owned(),
        },
        Part::Text { text, done } => format!("{text:?}{}", if *done { "." } else { "…" }),
        Part::Reasoning { text, done, .. } => {
            format!("think {text:?}{}", if *done { "." } else { "…" })
        }
        Part::Call { call, state, .. } => format!(
            "{call}:{}",
            match state {
                CallState::Requested => "requested".to_owned(),
                CallState::Blocked => "blocked".to_owned(),
                CallState::Approved => "approved".to_owned(),
                CallState::Started => "started".to_owned(),
                CallState::Ended { outcome, ordinal } => format!("{}#{ordinal}", end(outcome)),
            }
        ),
        Part::File { .. } => "file".to_owned(),
        Part::Steer { .. } => "steer".to_owned(),
        Part::Note { kind, .. } => format!("note({kind})"),
    }
}

pub(super) fn end(outcome: &Outcome) -> String {
    match &outcome.failure {
        None => "ok".to_owned(),
        Some(failure) => format!("{}/{}", failure.code, failure.effect),
    }
}

pub(super) fn state(state: &RunState) -> String {
    let word = state_word(state);
    if let RunState::Ended(vocab::message::RunEnd::Failed { failure }) = state {
        return format!("{word}({})", failure.code);
    }
    word.to_owned()
}

fn fact(fact: &RunFact) -> String {
    match fact {
        RunFact::RunStarted { .. } => "run_started".to_owned(),
        RunFact::StepEnded { .. } => "step_ended".to_owned(),
        RunFact::CallStarted { call, .. } => format!("{call} started"),
        RunFact::CallEnded { call, .. } => format!("{call} ended"),
        RunFact::RunBlocked { .. } => "run_blocked".to_owned(),
        RunFact::BlockAnswered { approved, .. } => format!("answered({approved})"),
        RunFact::RunResumed { .. } => "run_resumed".to_owned(),
        RunFact::StepRetried { attempt, delay_ms, .. } => format!("retry {attempt} in {delay_ms}"),
        RunFact::RunEnded { .. } => "run_ended".to_owned(),
    }
}

fn chunk(chunk: &Chunk) -> String {
    match chunk {
        Chunk::Start { .. } => "start".to_owned(),
        Chunk::StepStart => "step_start".to_owned(),
        Chunk::StepEnd => "step_end".to_owned(),
        Chunk::TextStart { part } => format!("text_start {part}"),
        Chunk::TextEnd { part } => format!("text_end {part}"),
        Chunk::ReasoningStart { part } => format!("think_start {part}"),
        Chunk::ReasoningEnd { part } => format!("think_end {part}"),
        Chunk::InputStart { call, .. } => format!("input_start {call}"),
        Chunk::InputDone { call, .. } => format!("input_done {call}"),
        Chunk::Approval { call, .. } => format!("approval {call}"),
        Chunk::Output { call, .. } => format!("output {call}"),
        Chunk::Steer { .. } => "steer".to_owned(),
        Chunk::Note { part, kind, .. } => format!("note {part} {kind}"),
        Chunk::Finish { .. } => "finish".to_owned(),
    }
}

pub(super) fn prompt_line(message: &PromptMessage) -> String {
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
            let of =
                |(id, _, outcome): &(CallId, String, Outcome)| format!("{id}={}", end(outcome));
            format!("results {}", results.iter().map(of).collect::<Vec<_>>().join(" "))
        }
    }
}

/// Checks that every call of a prompt is followed by exactly one result.
pub(super) fn assert_valid(messages: &[PromptMessage]) {
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
