//! `lsp_definition` and `lsp_references`: places, with the text of their lines.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};
use vocab::{
    limits::{LSP_RESULTS_MAX, LSP_SHOWN_LINE_BYTES_MAX},
    outcome::Outcome,
    path::WorkspacePath,
};

use super::{Ended, Spot, noted};
use crate::{
    instance::Ask,
    position::{self, Encoding, Lines},
    serve::Lsp,
    site::{self, Site},
};

pub(super) async fn run(lsp: &Lsp, (method, arguments): (&str, &Value), ask: &Ask) -> Ended {
    let spot = Spot::find(lsp, arguments, ask).await?;
    let mut params = spot.params();
    if method == "textDocument/references" {
        params["context"] = json!({"includeDeclaration": true});
    }
    let (answer, note) = spot.served.ask(method, &params, ask).await?;
    let found = locations(&answer);
    let what = if method == "textDocument/references" { "reference" } else { "definition" };
    let encoding = spot.served.abilities.terms.encoding;
    let rows =
        describe(&lsp.0.site, found.iter().take(LSP_RESULTS_MAX).cloned().collect(), encoding)
            .await;
    let mut lines: Vec<String> = rows.iter().map(|row| row.shown.clone()).collect();
    match found.len() {
        0 => lines.push(format!("No {what} was found.")),
        n if n > LSP_RESULTS_MAX => lines.push(format!("[{LSP_RESULTS_MAX} of {n} are shown.]")),
        _ => {}
    }
    let details = json!({
        "count": found.len(),
        "places": rows.into_iter().map(|row| row.details).collect::<Vec<_>>(),
    });
    Ok(Outcome::text(noted(lines, note)).with_details(details))
}

/// Reads the shapes that servers answer with: none, one, several, links.
fn locations(answer: &Value) -> Vec<(String, Value)> {
    let one = |location: &Value| {
        let uri = location.get("uri").or_else(|| location.get("targetUri"))?.as_str()?;
        let range = location.get("range").or_else(|| location.get("targetSelectionRange"))?;
        Some((uri.to_owned(), range.get("start")?.clone()))
    };
    let alone = std::slice::from_ref(answer);
    answer.as_array().map_or(alone, Vec::as_slice).iter().filter_map(one).collect()
}

/// A place, for reading and for programs.
pub(super) struct Row {
    pub(super) shown: String,
    pub(super) details: Value,
}

/// Words places. Files of the workspace are opened for the text of the line; others are only named.
pub(super) async fn describe(
    site: &Arc<Site>,
    places: Vec<(String, Value)>,
    encoding: Encoding,
) -> Vec<Row> {
    let site = Arc::clone(site);
    let described = tokio::task::spawn_blocking(move || {
        let mut wanted: BTreeMap<Option<WorkspacePath>, Vec<(usize, String, Value)>> =
            BTreeMap::new();
        for (idx, (uri, start)) in places.into_iter().enumerate() {
            wanted.entry(site.path(&uri)).or_default().push((idx, uri, start));
        }
        let mut rows = BTreeMap::new();
        // File by file, so that one text is held at a time.
        for (path, places) in wanted {
            let text = path.as_ref().and_then(|path| site.read(path).ok()).map(|(text, _)| text);
            let lines = text.as_deref().map(Lines::new);
            for (idx, uri, start) in places {
                rows.insert(idx, row(path.as_ref(), &uri, &start, (lines.as_ref(), encoding)));
            }
        }
        rows.into_values().collect()
    });
    described.await.unwrap_or_default()
}

fn row(
    path: Option<&WorkspacePath>,
    uri: &str,
    start: &Value,
    (lines, encoding): (Option<&Lines<'_>>, Encoding),
) -> Row {
    let (line, units) = position::place(start).unwrap_or_default();
    let Some(path) = path else {
        let named = site::plain(uri, 300);
        let shown = format!("outside the workspace, not opened: {named}, line {}", line + 1);
        return Row { shown, details: json!({"outside": named, "line": line + 1}) };
    };
    let column = lines.map_or(units + 1, |lines| lines.column(line, units, encoding));
    let text = lines.and_then(|lines| lines.line(line)).unwrap_or_default();
    let text = site::plain(text.trim(), LSP_SHOWN_LINE_BYTES_MAX);
    let text = if text.is_empty() { text } else { format!(": {text}") };
    let shown = format!("{path}:{}:{column}{text}", line + 1);
    let details = json!({"path": path.to_string(), "line": line + 1, "column": column});
    Row { shown, details }
}
