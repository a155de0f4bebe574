//! What a script sees of a prompt: which turn it is, the texts it may quote, the conditions it sets.
//!
//! Nothing here speaks; see the parent.

use regex::Regex;
use serde_json::Value;
use vocab::outcome::{Content, Effect};

use crate::{
    delta::ProviderFailure,
    prompt::{Prompt, PromptMessage},
    script::{Expectation, Script, Source, Turn},
};

/// The code of an expectation or a placeholder that did not hold.
const UNMET: &str = "script_expectation_failed";

/// The most characters of a seen text that a failure quotes.
const QUOTE_CHARS: usize = 200;

pub(super) struct Scene {
    /// Assistant messages after the last user message.
    pub(super) step: usize,
    /// Assistant messages of the whole prompt.
    pub(super) spoken: usize,
    system: String,
    user: String,
    results: Vec<(String, bool)>,
}

impl Scene {
    pub(super) fn of(prompt: &Prompt) -> Self {
        let mut scene = Self {
            step: 0,
            spoken: 0,
            system: prompt.system.clone(),
            user: String::new(),
            results: Vec::new(),
        };
        for message in &prompt.messages {
            match message {
                PromptMessage::User(content) => {
                    scene.step = 0;
                    scene.results.clear();
                    scene.user = Content::plain_text(content);
                }
                PromptMessage::Assistant { .. } => {
                    scene.step += 1;
                    scene.spoken += 1;
                }
                PromptMessage::Results(results) => scene
                    .results
                    .extend(results.iter().map(|(_, _, end)| (end.plain_text(), end.is_error()))),
            }
        }
        scene
    }

    pub(super) fn turns_of<'a>(&self, script: &'a Script) -> Result<&'a [Turn], ProviderFailure> {
        for story in &script.stories {
            if pattern(&story.when)?.is_match(&self.user) {
                return Ok(&story.turns);
            }
        }
        Ok(&script.turns)
    }

    fn source(&self, source: Source) -> Option<String> {
        match source {
            Source::Last => self.results.last().map(|(text, _)| text.clone()),
            Source::All => Some(
                self.results.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join("\n"),
            ),
            Source::User => Some(self.user.clone()),
            Source::System => Some(self.system.clone()),
        }
    }

    pub(super) fn check(&self, all: &[Expectation]) -> Result<(), ProviderFailure> {
        all.iter().try_for_each(|one| self.check_one(one))
    }

    fn check_one(&self, want: &Expectation) -> Result<(), ProviderFailure> {
        let seen = self.source(want.source);
        let text = seen.as_deref().unwrap_or_default();
        if let Some(part) = want.contains.as_ref().filter(|part| !text.contains(part.as_str())) {
            return Err(unmet(&format!("{part:?} in {}", want.source), seen.as_deref()));
        }
        if let Some(part) = want.lacks.as_ref().filter(|part| text.contains(part.as_str())) {
            return Err(unmet(&format!("no {part:?} in {}", want.source), seen.as_deref()));
        }
        if let Some(wanted) = &want.matches
            && !pattern(wanted)?.is_match(text)
        {
            return Err(unmet(&format!("{wanted:?} in {}", want.source), seen.as_deref()));
        }
        if let Some(failed) = want.failed
            && self.results.last().map(|(_, failed)| *failed) != Some(failed)
        {
            let wanted = if failed { "the last call to fail" } else { "the last call to succeed" };
            return Err(unmet(wanted, seen.as_deref()));
        }
        Ok(())
    }

    /// Replaces the placeholders of a text.
    pub(super) fn fill(&self, text: &str) -> Result<String, ProviderFailure> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            let inside = &rest[at + 2..];
            let Some(end) = end_of(inside) else { break };
            out.push_str(&rest[..at]);
            if let Some(found) = self.look_up(&inside[..end])? {
                out.push_str(&found);
                rest = &inside[end + 2..];
            } else {
                out.push_str("{{");
                rest = inside;
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Replaces the placeholders in every string of a value.
    pub(super) fn fill_value(&self, value: &Value) -> Result<Value, ProviderFailure> {
        Ok(match value {
            Value::String(text) => Value::String(self.fill(text)?),
            Value::Array(items) => Value::Array(
                items.iter().map(|item| self.fill_value(item)).collect::<Result<_, _>>()?,
            ),
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(name, item)| Ok((name.clone(), self.fill_value(item)?)))
                    .collect::<Result<_, ProviderFailure>>()?,
            ),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain.clone(),
        })
    }

    /// Finds what a placeholder stands for; none when it is not one of ours.
    fn look_up(&self, inside: &str) -> Result<Option<String>, ProviderFailure> {
        let (name, wanted) = match inside.split_once(':') {
            Some((name, wanted)) => (name, Some(wanted)),
            None => (inside, None),
        };
        let Some(source) = Source::parse(name) else { return Ok(None) };
        let Some(seen) = self.source(source) else { return Err(unmet("a tool result", None)) };
        let Some(wanted) = wanted else { return Ok(Some(seen)) };
        let pattern = pattern(wanted)?;
        let Some(found) = pattern.captures(&seen) else {
            return Err(unmet(&format!("{wanted:?} in {source}"), Some(&seen)));
        };
        Ok(found.get(1).or_else(|| found.get(0)).map(|part| part.as_str().to_owned()))
    }
}

/// Finds where a placeholder ends: at the last two of the first run of closing braces, so that a
/// pattern may end with a repetition.
fn end_of(inside: &str) -> Option<usize> {
    let at = inside.find("}}")?;
    let run = inside[at..].bytes().take_while(|byte| *byte == b'}').count();
    Some(at + run - 2)
}

fn pattern(text: &str) -> Result<Regex, ProviderFailure> {
    Regex::new(text).map_err(|error| {
        ProviderFailure::fatal(
            "script_pattern_invalid",
            Effect::NotStarted,
            format!("the script's pattern {text:?} is not a regular expression: {error}"),
        )
    })
}

fn unmet(wanted: &str, seen: Option<&str>) -> ProviderFailure {
    let seen = match seen {
        Some(text) => format!("{:?}", text.chars().take(QUOTE_CHARS).collect::<String>()),
        None => "no result".to_owned(),
    };
    ProviderFailure::fatal(
        UNMET,
        Effect::NotStarted,
        format!("the script expected {wanted} and was shown {seen}"),
    )
}
