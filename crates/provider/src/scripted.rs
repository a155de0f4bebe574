//! A model that plays a [`Script`], for tests and for the demonstration.
//!
//! It holds no state: what it says follows from the prompt alone. It knows nothing of tools; what it
//! calls and what it makes of the results stands in the script.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream, stream::BoxStream};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::CallId,
    message::StopReason,
    outcome::{Effect, Failure},
};

use crate::{
    delta::{Delta, ProviderFailure, Retry},
    prompt::Prompt,
    script::{Block, Pace, Script, Turn},
    seam::Provider,
};

mod scene;

use scene::Scene;

/// A provider that plays a script.
#[derive(Debug, Clone)]
pub struct Scripted {
    script: Arc<Script>,
}

impl Scripted {
    /// Wraps a script.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self { script: Arc::new(script) }
    }

    /// Returns everything the script answers to a prompt, without its pauses.
    #[must_use]
    pub fn answer(&self, prompt: &Prompt) -> Vec<Delta> {
        let scene = Scene::of(prompt);
        let mut out = Vec::new();
        let end = match play(&self.script, &scene, &mut out) {
            Ok(stop) => Delta::Done(stop),
            Err(failure) => Delta::Failed(failure),
        };
        out.push(end);
        out
    }
}

impl Provider for Scripted {
    fn stream(&self, prompt: Prompt, cancel: CancellationToken) -> BoxStream<'static, Delta> {
        let deltas = VecDeque::from(self.answer(&prompt));
        let pause = Duration::from_millis(self.script.pace.pause_ms);
        stream::unfold((deltas, cancel), move |(mut deltas, cancel)| async move {
            let delta = deltas.pop_front()?;
            if !pause.is_zero() {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
            if cancel.is_cancelled() {
                deltas.clear();
                let aborted = ProviderFailure::fatal(
                    "aborted",
                    Effect::Indeterminate,
                    "the model call was stopped",
                );
                return Some((Delta::Failed(aborted), (deltas, cancel)));
            }
            Some((delta, (deltas, cancel)))
        })
        .boxed()
    }
}

fn play(
    script: &Script,
    scene: &Scene,
    out: &mut Vec<Delta>,
) -> Result<StopReason, ProviderFailure> {
    let turns = scene.turns_of(script)?;
    let Some(turn) = turns.get(scene.step) else {
        return Err(ProviderFailure::fatal(
            "script_exhausted",
            Effect::NotStarted,
            format!(
                "the script has {} turns and was asked for turn {}",
                turns.len(),
                scene.step + 1
            ),
        ));
    };
    if let Err(failure) = scene.check(&turn.expect) {
        if let Some(text) = &turn.refuse {
            speak(script.pace, text, out);
        }
        return Err(failure);
    }
    for (index, block) in turn.blocks.iter().enumerate() {
        say(script.pace, scene, index, block, out)?;
    }
    end(turn, out)
}

fn end(turn: &Turn, out: &mut Vec<Delta>) -> Result<StopReason, ProviderFailure> {
    if let Some(usage) = turn.usage {
        out.push(Delta::Usage(usage));
    }
    if let Some(fail) = &turn.fail {
        return Err(ProviderFailure {
            failure: Failure::new(&fail.code, Effect::Indeterminate, fail.message.clone()),
            retry: Retry::from(fail.retry),
        });
    }
    let calls = turn.blocks.iter().any(|block| matches!(block, Block::Call { .. }));
    let usual = if calls { StopReason::ToolUse } else { StopReason::Stop };
    Ok(turn.stop.unwrap_or(usual))
}

fn speak(pace: Pace, text: &str, out: &mut Vec<Delta>) {
    out.push(Delta::TextStart);
    out.extend(pieces(pace, text).map(Delta::Text));
    out.push(Delta::TextEnd);
}

fn say(
    pace: Pace,
    scene: &Scene,
    index: usize,
    block: &Block,
    out: &mut Vec<Delta>,
) -> Result<(), ProviderFailure> {
    match block {
        Block::Text { text } => speak(pace, &scene.fill(text)?, out),
        Block::Reasoning { text, signature } => {
            let text = scene.fill(text)?;
            out.push(Delta::ReasoningStart);
            out.extend(pieces(pace, &text).map(Delta::Reasoning));
            out.push(Delta::ReasoningEnd { signature: signature.clone(), redacted: false });
        }
        Block::Call { tool, input, id } => {
            let input = match input {
                Value::Null => Value::Object(serde_json::Map::new()),
                given @ (Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)
                | Value::Object(_)) => scene.fill_value(given)?,
            };
            let id = id.clone().unwrap_or_else(|| format!("call_{}_{index}", scene.spoken));
            out.push(Delta::CallStart { id: CallId(id), tool: tool.clone() });
            out.extend(pieces(pace, &input.to_string()).map(Delta::CallInput));
            out.push(Delta::CallEnd { input });
        }
    }
    Ok(())
}

fn pieces(pace: Pace, text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let size = if pace.piece_chars == 0 { chars.len().max(1) } else { pace.piece_chars };
    chars.chunks(size).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}

#[cfg(test)]
mod tests;
