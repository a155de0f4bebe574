//! From a prompt to the body of a request.
//!
//! Results carry text only on this wire; their pictures follow in a user message of their own.

use std::{borrow::Cow, sync::LazyLock};

use vocab::outcome::Content;

use super::decode::REASONING_FIELDS;
use crate::{
    json::{Fields, Json},
    prompt::{Prompt, PromptTool},
    transcript::{self, Answer, Piece, Turn},
};

/// The longest id of a call that OpenAI takes.
const CALL_ID_CHARS: usize = 40;

/// What stands before the pictures of results.
static LEAD: LazyLock<Content> =
    LazyLock::new(|| Content::text("The pictures of the results above, in order:"));

/// What depends on the server and the model.
pub(crate) struct Setup<'a> {
    /// Whether it is OpenAI itself.
    pub(crate) official: bool,
    /// Whether the model is shown pictures.
    pub(crate) images: bool,
    pub(crate) reasoning_effort: Option<&'a str>,
}

pub(crate) fn encode<'a>(prompt: &'a Prompt, setup: &Setup<'a>) -> Json<'a> {
    let mut messages = Vec::new();
    if !prompt.system.trim().is_empty() {
        messages.push(message("system", &prompt.system));
    }
    for turn in transcript::turns(prompt, CALL_ID_CHARS) {
        match turn {
            Turn::User(blocks) => messages.push(message("user", content(setup, &blocks))),
            Turn::Assistant(pieces) => messages.push(assistant(pieces)),
            Turn::Results(answers) => results(setup, answers, &mut messages),
        }
    }
    // OpenAI's newer models refuse the old name; other servers do not know the new one.
    let limit = if setup.official { "max_completion_tokens" } else { "max_tokens" };
    let mut body = Json::object([
        ("model", (&prompt.model.model).into()),
        ("stream", true.into()),
        ("stream_options", Json::object([("include_usage", true.into())])),
        (limit, prompt.output_tokens_max.into()),
    ]);
    if let Some(effort) = setup.reasoning_effort {
        body.add("reasoning_effort", effort);
    }
    if setup.official && !prompt.cache_key.is_empty() {
        body.add("prompt_cache_key", &prompt.cache_key);
    }
    if !prompt.tools.is_empty() {
        body.add("tools", prompt.tools.iter().map(tool).collect::<Vec<_>>());
    }
    body.add("messages", messages);
    body
}

fn message<'a>(role: &'static str, content: impl Into<Json<'a>>) -> Json<'a> {
    Json::object([("role", role.into()), ("content", content.into())])
}

fn tool(tool: &PromptTool) -> Json<'_> {
    let function = Json::object([
        ("name", (&tool.name).into()),
        ("description", (&tool.description).into()),
        ("parameters", (&tool.parameters).into()),
    ]);
    Json::object([("type", "function".into()), ("function", function)])
}

fn assistant(pieces: Vec<Piece<'_>>) -> Json<'_> {
    let mut fields: Fields<'_> = vec![("role", "assistant".into())];
    let (mut text, mut calls) = (Cow::Borrowed(""), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(more) => text += more,
            Piece::Reasoning { text, signature, .. } => {
                // The signature is the name of the field that the thinking came in.
                if REASONING_FIELDS.contains(&signature) && !text.is_empty() {
                    fields.retain(|(name, _)| *name != signature);
                    fields.push((signature, text.into()));
                }
            }
            Piece::Call { id, tool, input } => {
                let function =
                    Json::object([("name", tool.into()), ("arguments", input.to_string().into())]);
                calls.push(Json::object([
                    ("id", id.into()),
                    ("type", "function".into()),
                    ("function", function),
                ]));
            }
        }
    }
    let silent = text.is_empty() && !calls.is_empty();
    fields.push(("content", if silent { Json::Null } else { text.into() }));
    if !calls.is_empty() {
        fields.push(("tool_calls", calls.into()));
    }
    Json::Object(fields)
}

fn results<'a>(setup: &Setup<'_>, answers: Vec<Answer<'a>>, messages: &mut Vec<Json<'a>>) {
    let mut pictures: Vec<&'a Content> = Vec::new();
    for answer in answers {
        let mut texts: Vec<Cow<'a, str>> = Vec::new();
        for block in answer.content {
            match block {
                Content::Text { text } => texts.push(text.into()),
                Content::Image { .. } if setup.images => {
                    texts.push("(a picture, shown below)".into());
                    pictures.push(block);
                }
                Content::Image { media_type, .. } => texts.push(omitted(media_type).into()),
            }
        }
        let text = joined(texts, "\n");
        let text = if text.is_empty() { "(no output)".into() } else { text };
        messages.push(Json::object([
            ("role", "tool".into()),
            ("tool_call_id", answer.id.into()),
            ("content", text.into()),
        ]));
    }
    if !pictures.is_empty() {
        let blocks: Vec<&'a Content> = std::iter::once(&*LEAD).chain(pictures).collect();
        messages.push(message("user", content(setup, &blocks)));
    }
}

/// Joins texts; one alone stays borrowed.
fn joined<'a>(mut texts: Vec<Cow<'a, str>>, between: &str) -> Cow<'a, str> {
    match texts.len() {
        0 | 1 => texts.pop().unwrap_or_default(),
        _ => texts.join(between).into(),
    }
}

/// Returns a user's content: one text, or parts when there are pictures.
fn content<'a>(setup: &Setup<'_>, blocks: &[&'a Content]) -> Json<'a> {
    let plain = |block: &&'a Content| -> Option<Cow<'a, str>> {
        match *block {
            Content::Text { text } => Some(text.into()),
            Content::Image { .. } if setup.images => None,
            Content::Image { media_type, .. } => Some(omitted(media_type).into()),
        }
    };
    // Plain text is what every server takes.
    if let Some(texts) = blocks.iter().map(plain).collect::<Option<Vec<_>>>() {
        return joined(texts, "\n\n").into();
    }
    let part = |block: &&'a Content| match (plain(block), *block) {
        (None, Content::Image { media_type, data }) => {
            let url = format!("data:{media_type};base64,{data}");
            let url = Json::object([("url", url.into())]);
            Json::object([("type", "image_url".into()), ("image_url", url)])
        }
        (text, _) => {
            Json::object([("type", "text".into()), ("text", text.unwrap_or_default().into())])
        }
    };
    Json::List(blocks.iter().map(part).collect())
}

fn omitted(media_type: &str) -> String {
    format!("(a picture of type {media_type}, which this model is not shown)")
}
