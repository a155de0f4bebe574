//! `lsp_hover`: what a name is.

use serde_json::Value;
use vocab::{limits::LSP_HOVER_BYTES_MAX, outcome::Outcome};

use super::{Ended, Spot, noted};
use crate::{instance::Ask, serve::Lsp, site};

pub(super) async fn run(lsp: &Lsp, arguments: &Value, ask: &Ask) -> Ended {
    let spot = Spot::find(lsp, arguments, ask).await?;
    let (answer, note) = spot.served.ask("textDocument/hover", &spot.params(), ask).await?;
    let said = answer.get("contents").map(words).unwrap_or_default();
    let said = site::plain(said.trim(), LSP_HOVER_BYTES_MAX);
    let said = if said.is_empty() { "Nothing is known about this place.".to_owned() } else { said };
    Ok(Outcome::text(noted(vec![said], note)))
}

/// Reads the shapes of contents: a text, a marked text, several.
fn words(contents: &Value) -> String {
    match contents {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(words).collect::<Vec<_>>().join("\n\n"),
        Value::Object(marked) => {
            marked.get("value").and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
