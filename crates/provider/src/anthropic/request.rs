//! From a prompt to the body of a request.
//!
//! Three places are marked for the cache: the system text, the last tool, the last user block; what
//! stands before a mark is read from the cache next time.

use vocab::outcome::Content;

use crate::{
    json::Json,
    prompt::Prompt,
    transcript::{self, Answer, Piece, Turn},
};

/// The longest id of a call.
const CALL_ID_CHARS: usize = 64;

/// The smallest budget for thinking that the API takes.
const THINKING_TOKENS_MIN: u32 = 1_024;

/// What depends on the model.
pub(crate) struct Setup {
    /// Whether the model is shown pictures.
    pub(crate) images: bool,
    pub(crate) thinking_budget: Option<u32>,
}

pub(crate) fn encode<'a>(prompt: &'a Prompt, setup: &Setup) -> Json<'a> {
    let mut messages: Vec<(&str, Vec<Json<'_>>)> = Vec::new();
    for turn in transcript::turns(prompt, CALL_ID_CHARS) {
        let (role, blocks) = match turn {
            Turn::User(blocks) => ("user", blocks.into_iter().map(|b| block(setup, b)).collect()),
            Turn::Assistant(pieces) => ("assistant", pieces.into_iter().map(piece).collect()),
            Turn::Results(answers) => {
                ("user", answers.into_iter().map(|a| result(setup, a)).collect())
            }
        };
        push(&mut messages, role, blocks);
    }
    let last_user = messages.iter_mut().rev().find(|(role, _)| *role == "user");
    if let Some(last) = last_user.and_then(|(_, blocks)| blocks.last_mut()) {
        mark(last);
    }
    let messages: Vec<Json<'_>> = messages
        .into_iter()
        .map(|(role, content)| Json::object([("role", role.into()), ("content", content.into())]))
        .collect();
    let thinking = setup.thinking_budget.map(|budget| budget.max(THINKING_TOKENS_MIN));
    let tokens_max = prompt.output_tokens_max.saturating_add(thinking.unwrap_or(0));
    let mut body = Json::object([
        ("model", (&prompt.model.model).into()),
        ("max_tokens", tokens_max.into()),
        ("stream", true.into()),
    ]);
    if let Some(budget) = thinking {
        let fields = [("type", "enabled".into()), ("budget_tokens", budget.into())];
        body.add("thinking", Json::object(fields));
    }
    if !prompt.system.trim().is_empty() {
        let mut system = text(&prompt.system);
        mark(&mut system);
        body.add("system", vec![system]);
    }
    if !prompt.tools.is_empty() {
        body.add("tools", tools(prompt));
    }
    body.add("messages", messages);
    body
}

/// Adds blocks; two messages of one role in a row become one.
fn push<'a>(
    messages: &mut Vec<(&'a str, Vec<Json<'a>>)>,
    role: &'static str,
    blocks: Vec<Json<'a>>,
) {
    match messages.last_mut() {
        Some((last, content)) if *last == role => content.extend(blocks),
        _ => messages.push((role, blocks)),
    }
}

fn tools(prompt: &Prompt) -> Vec<Json<'_>> {
    let mut tools: Vec<Json<'_>> = prompt
        .tools
        .iter()
        .map(|tool| {
            Json::object([
                ("name", (&tool.name).into()),
                ("description", (&tool.description).into()),
                ("input_schema", (&tool.parameters).into()),
            ])
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        mark(last);
    }
    tools
}

fn mark(block: &mut Json<'_>) {
    block.add("cache_control", Json::object([("type", "ephemeral".into())]));
}

fn text<'a>(text: impl Into<Json<'a>>) -> Json<'a> {
    Json::object([("type", "text".into()), ("text", text.into())])
}

fn piece(piece: Piece<'_>) -> Json<'_> {
    match piece {
        Piece::Text(said) => text(said),
        Piece::Reasoning { signature, redacted: true, .. } => {
            Json::object([("type", "redacted_thinking".into()), ("data", signature.into())])
        }
        Piece::Reasoning { text, signature, redacted: false } => Json::object([
            ("type", "thinking".into()),
            ("thinking", text.into()),
            ("signature", signature.into()),
        ]),
        Piece::Call { id, tool, input } => Json::object([
            ("type", "tool_use".into()),
            ("id", id.into()),
            ("name", tool.into()),
            ("input", input.into()),
        ]),
    }
}

fn result<'a>(setup: &Setup, answer: Answer<'a>) -> Json<'a> {
    let mut content: Vec<Json<'a>> = answer
        .content
        .iter()
        .filter(|block| !matches!(block, Content::Text { text } if text.trim().is_empty()))
        .map(|content| block(setup, content))
        .collect();
    if content.is_empty() {
        content.push(text("(no output)"));
    }
    let mut result = Json::object([
        ("type", "tool_result".into()),
        ("tool_use_id", answer.id.into()),
        ("content", content.into()),
    ]);
    if answer.failed {
        result.add("is_error", true);
    }
    result
}

fn block<'a>(setup: &Setup, content: &'a Content) -> Json<'a> {
    match content {
        Content::Text { text: said } => text(said),
        Content::Image { media_type, data } if setup.images => Json::object([
            ("type", "image".into()),
            (
                "source",
                Json::object([
                    ("type", "base64".into()),
                    ("media_type", media_type.into()),
                    ("data", data.into()),
                ]),
            ),
        ]),
        Content::Image { media_type, .. } => {
            text(format!("(a picture of type {media_type}, which this model is not shown)"))
        }
    }
}
