//! `lsp_diagnostics`: what is wrong with the present content.

use futures_util::future::join_all;
use serde_json::{Value, json};
use vocab::{
    limits::{LSP_MESSAGE_SHOWN_BYTES_MAX, LSP_RESULTS_MAX, LSP_SHOWN_LINE_BYTES_MAX},
    outcome::{Failure, Outcome},
    path::WorkspacePath,
};

use super::{Ended, argument, noted, shown_at};
use crate::{
    diagnostics::{self, Found},
    documents::Document,
    instance::Ask,
    position::{self, Encoding, Lines},
    serve::Lsp,
    site,
};

/// What is known of one file.
struct Report {
    path: WorkspacePath,
    server: String,
    found: Result<(Vec<Line>, usize), Failure>,
    fresh: bool,
    note: Option<String>,
}

struct Line {
    shown: String,
    details: Value,
}

pub(super) async fn run(lsp: &Lsp, arguments: &Value, ask: &Ask) -> Ended {
    if let Some(path) = argument(arguments, "path") {
        let path = lsp.0.site.parse(path)?;
        let mut report = report(lsp, path, ask).await;
        report.found = Ok(report.found?);
        return Ok(worded(vec![report]));
    }
    let mut paths = Vec::new();
    for instance in lsp.running() {
        paths.extend(instance.open_paths().await);
    }
    paths.sort();
    paths.dedup();
    if paths.is_empty() {
        let said = "No file was shown to a language server yet; name one with path.";
        return Ok(Outcome::text(said).with_details(json!({"files": []})));
    }
    let mut reports = join_all(paths.into_iter().map(|path| report(lsp, path, ask))).await;
    // A file that was shown and is gone is no file of the present any more.
    let is_gone =
        |report: &Report| report.found.as_ref().is_err_and(|failure| failure.code == "not_found");
    reports.retain(|report| !is_gone(report));
    Ok(worded(reports))
}

async fn report(lsp: &Lsp, path: WorkspacePath, ask: &Ask) -> Report {
    let mut report = Report {
        path,
        server: String::new(),
        found: Ok((Vec::new(), 0)),
        fresh: false,
        note: None,
    };
    let found = look(lsp, &mut report, ask).await;
    match found {
        Ok(Some(found)) => (report.found, report.fresh) = (Ok(found), true),
        Ok(None) => {}
        Err(failure) => report.found = Err(failure),
    }
    report
}

/// Looks until what was found is of the content that is there when it was found.
async fn look(
    lsp: &Lsp,
    report: &mut Report,
    ask: &Ask,
) -> Result<Option<(Vec<Line>, usize)>, Failure> {
    loop {
        let (served, document) = shown_at(lsp, &report.path, ask).await?;
        report.server.clone_from(&served.instance.server.name);
        let found = diagnostics::of(&served, &document, ask).await?;
        report.note = served.after_answer().await;
        let Found::Known(items, n) = found else { return Ok(None) };
        let (site, path) = (lsp.0.site.clone(), report.path.clone());
        let now = tokio::task::spawn_blocking(move || site.read(&path)).await;
        let is_same = matches!(&now, Ok(Ok((text, _))) if **text == *document.text);
        if is_same {
            let lines = lines_of(&document, items, served.abilities.terms.encoding);
            return Ok(Some((lines, n)));
        }
        if ask.until <= tokio::time::Instant::now() {
            return Ok(None);
        }
    }
}

fn lines_of(document: &Document, mut items: Vec<Value>, encoding: Encoding) -> Vec<Line> {
    let lines = Lines::new(&document.text);
    let start =
        |item: &Value| item.pointer("/range/start").and_then(position::place).unwrap_or_default();
    items.sort_by_key(start);
    items.iter().map(|item| line_of(document, item, (&lines, start(item), encoding))).collect()
}

fn line_of(
    document: &Document,
    item: &Value,
    (lines, (line, units), encoding): (&Lines<'_>, (usize, usize), Encoding),
) -> Line {
    let severity = match item.get("severity").and_then(Value::as_u64) {
        Some(2) => "warning",
        Some(3) => "information",
        Some(4) => "hint",
        _ => "error",
    };
    let said = |name: &str, most| match item.get(name) {
        Some(Value::String(text)) => site::plain(text, most),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let message = said("message", LSP_MESSAGE_SHOWN_BYTES_MAX);
    let (source, code) = (said("source", 100), said("code", 100));
    let mark = [source.as_str(), code.as_str()].join(" ");
    let mark = match mark.trim() {
        "" => String::new(),
        mark => format!(" [{mark}]"),
    };
    let column = lines.column(line, units, encoding);
    let text = site::plain(lines.line(line).unwrap_or_default().trim(), LSP_SHOWN_LINE_BYTES_MAX);
    let path = &document.path;
    let mut shown = format!("{path}:{}:{column} {severity}: {message}{mark}", line + 1);
    if !text.is_empty() {
        shown.push_str(&format!("\n    {text}"));
    }
    let details = json!({
        "line": line + 1, "column": column, "severity": severity, "message": message,
        "source": source, "code": code,
    });
    Line { shown, details }
}

fn worded(reports: Vec<Report>) -> Outcome {
    let (mut lines, mut files, mut left) = (Vec::new(), Vec::new(), LSP_RESULTS_MAX);
    let mut notes = Vec::new();
    for report in reports {
        let Report { path, server, found, fresh, note } = report;
        notes.extend(note);
        let (found, n) = match found {
            Ok(found) => found,
            Err(failure) => {
                lines.push(format!("{path}: {}", failure.message));
                files.push(json!({"path": path.to_string(), "failure": failure.code}));
                continue;
            }
        };
        lines.push(match (fresh, n) {
            (false, _) => {
                format!("{path}: {server} has no diagnostics for the present content yet.")
            }
            (true, 0) => format!("{path}: {server} finds no problems."),
            (true, 1) => format!("{path}: {server} finds 1 problem."),
            (true, n) => format!("{path}: {server} finds {n} problems."),
        });
        let shown = found.len().min(left);
        left -= shown;
        lines.extend(found.iter().take(shown).map(|line| line.shown.clone()));
        if shown < n {
            lines.push(format!("[{shown} of {n} are shown.]"));
        }
        files.push(json!({
            "path": path.to_string(), "server": server, "fresh": fresh, "count": n,
            "diagnostics": found.into_iter().take(shown).map(|line| line.details).collect::<Vec<_>>(),
        }));
    }
    notes.dedup();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Outcome::text(noted(lines, note)).with_details(json!({"files": files}))
}
