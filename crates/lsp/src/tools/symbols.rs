//! `lsp_symbols`: what a file defines, or where in the project a name is defined.

use std::sync::Arc;

use serde_json::{Value, json};
use vocab::{
    limits::{LSP_RESULTS_MAX, LSP_SHOWN_LINE_BYTES_MAX},
    outcome::{Failure, Outcome},
    path::{RootKind, WorkspacePath},
};

use super::{Ended, argument, noted, places, shown};
use crate::{
    instance::{Ask, Instance, Served},
    position::{self, Lines},
    serve::Lsp,
    site,
};

/// What the protocol's numbers of kinds mean, from 1.
#[rustfmt::skip]
const KINDS: &[&str] = &[
    "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
    "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key",
    "null", "enum member", "struct", "event", "operator", "type parameter",
];

fn kind(symbol: &Value) -> &'static str {
    let number =
        symbol.get("kind").and_then(Value::as_u64).and_then(|kind| usize::try_from(kind).ok());
    let idx = number.and_then(|number| number.checked_sub(1));
    idx.and_then(|idx| KINDS.get(idx)).copied().unwrap_or("symbol")
}

fn name(symbol: &Value) -> String {
    let name = symbol.get("name").and_then(Value::as_str).unwrap_or_default();
    site::plain(name, LSP_SHOWN_LINE_BYTES_MAX).replace('\n', " ")
}

pub(super) async fn run(lsp: &Lsp, arguments: &Value, ask: &Ask) -> Ended {
    match (argument(arguments, "path"), argument(arguments, "query")) {
        (Some(path), None) => of_file(lsp, path, ask).await,
        (Some(path), Some(query)) => {
            let (served, _) = shown(lsp, path, ask).await?;
            of_project(lsp, vec![served], query, ask).await
        }
        (None, Some(query)) => {
            let mut all = Vec::new();
            for instance in projects(lsp)? {
                all.push(lsp.serve(&instance, None, ask).await?);
            }
            of_project(lsp, all, query, ask).await
        }
        (None, None) => {
            let message = "the arguments of lsp_symbols do not fit:\npath: is required, or query";
            Err(Failure::not_started("invalid_arguments", message))
        }
    }
}

/// Returns who is asked about the whole project: the servers that run, else each at the workspace's root.
fn projects(lsp: &Lsp) -> Result<Vec<Arc<Instance>>, Failure> {
    let running = lsp.running();
    if !running.is_empty() {
        return Ok(running);
    }
    let root = WorkspacePath::root_of(RootKind::Workspace);
    let most = lsp.0.site.bounds.servers_max;
    lsp.usable().take(most).map(|server| lsp.instance_at(server, root.clone())).collect()
}

async fn of_file(lsp: &Lsp, path: &str, ask: &Ask) -> Ended {
    let (served, document) = shown(lsp, path, ask).await?;
    let params = json!({"textDocument": {"uri": document.uri}});
    let (answer, note) = served.ask("textDocument/documentSymbol", &params, ask).await?;
    let text = Lines::new(&document.text);
    let (mut lines, mut found, mut n) = (Vec::new(), Vec::new(), 0);
    // Depth first, in the order of the file; a stack, since a server decides how deep it goes.
    let all = answer.as_array().map_or(&[][..], Vec::as_slice);
    let mut stack: Vec<(usize, &Value)> = all.iter().rev().map(|symbol| (0, symbol)).collect();
    while let Some((depth, symbol)) = stack.pop() {
        n += 1;
        if n <= LSP_RESULTS_MAX {
            let range = symbol.get("selectionRange").or_else(|| symbol.pointer("/location/range"));
            let start = range.and_then(|range| range.get("start")).and_then(position::place);
            let (line, units) = start.unwrap_or_default();
            let column = text.column(line, units, served.abilities.terms.encoding);
            let (name, kind) = (name(symbol), kind(symbol));
            let indent = "  ".repeat(depth.min(16));
            lines.push(format!("{indent}{}:{column} {kind} {name}", line + 1));
            found.push(json!({"name": name, "kind": kind, "line": line + 1, "column": column}));
        }
        let below = symbol.get("children").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        stack.extend(below.iter().rev().map(|symbol| (depth + 1, symbol)));
    }
    finish(lines, n, (json!({"count": n, "symbols": found}), note))
}

async fn of_project(lsp: &Lsp, all: Vec<Served>, query: &str, ask: &Ask) -> Ended {
    let (mut lines, mut found, mut n, mut notes) = (Vec::new(), Vec::new(), 0, None);
    let mut refused = None;
    for served in &all {
        let params = json!({"query": query});
        let (answer, note) = match served.ask("workspace/symbol", &params, ask).await {
            Ok(answered) => answered,
            // One of several that cannot is passed over.
            Err(failure) if failure.code == "method_not_supported" => {
                refused = Some(failure);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        notes = notes.or(note);
        refused = None;
        let symbols = answer.as_array().map_or(&[][..], Vec::as_slice);
        n += symbols.len();
        let kept = &symbols[..symbols.len().min(LSP_RESULTS_MAX - lines.len())];
        let place = |symbol: &Value| {
            let uri = symbol.pointer("/location/uri").and_then(Value::as_str).unwrap_or_default();
            let start = symbol.pointer("/location/range/start").cloned().unwrap_or_default();
            (uri.to_owned(), start)
        };
        let encoding = served.abilities.terms.encoding;
        let rows = places::describe(&lsp.0.site, kept.iter().map(place).collect(), encoding).await;
        for (symbol, mut row) in kept.iter().zip(rows) {
            let (name, kind) = (name(symbol), kind(symbol));
            lines.push(format!("{kind} {name}  {}", row.shown));
            row.details["name"] = Value::from(name);
            row.details["kind"] = Value::from(kind);
            found.push(row.details);
        }
    }
    match refused {
        Some(failure) if n == 0 => Err(failure),
        _ => finish(lines, n, (json!({"count": n, "symbols": found}), notes)),
    }
}

fn finish(mut lines: Vec<String>, n: usize, (details, note): (Value, Option<String>)) -> Ended {
    match n {
        0 => lines.push("No symbol was found.".to_owned()),
        n if n > lines.len() => lines.push(format!("[{} of {n} are shown.]", lines.len())),
        _ => {}
    }
    Ok(Outcome::text(noted(lines, note)).with_details(details))
}
