//! The tools: what each is called, what it takes, and who runs it.
//!
//! Lines and columns count from 1, columns in characters; what servers count is not seen here.

use serde_json::{Value, json};
use vocab::{
    outcome::{Failure, Outcome},
    path::WorkspacePath,
    schema::{Property, Schema},
    tool::{Execution, Reach, ToolSpec},
};

use crate::{
    documents::Document,
    instance::{Ask, Served},
    position::{self, Lines},
    serve::Lsp,
};

mod look;
mod places;
mod rename;
mod symbols;
mod trouble;

/// How a tool ends.
type Ended = Result<Outcome, Failure>;

fn text(description: &'static str) -> Schema {
    Schema::Text { description }
}

fn count(description: &'static str) -> Schema {
    Schema::Integer { description, minimum: 1, maximum: i64::from(i32::MAX) }
}

fn path() -> Property {
    Property::required("path", text("The file, relative to the workspace or absolute"))
}

/// Describes a place in a file.
fn place() -> Vec<Property> {
    vec![
        path(),
        Property::required("line", count("The line, from 1")),
        Property::optional(
            "symbol",
            text("The name in that line that is meant; the first such one"),
        ),
        Property::optional(
            "column",
            count(
                "The character of the line, from 1; in place of symbol, where a line has it twice",
            ),
        ),
    ]
}

/// Lists the tools.
/// Returns all tools.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    let spec = |name, description, properties, reach| ToolSpec {
        name,
        description,
        parameters: Schema::Object(properties),
        reach,
        execution: Execution::Parallel,
        prepare,
    };
    let mut renamed = place();
    renamed.push(Property::required("new_name", text("What it shall be called")));
    vec![
        spec(
            "lsp_diagnostics",
            "Asks the language server what is wrong in a file as it is now; without a path, in every file that \
             was asked about or changed before. Answers about the present content only, and says so when there \
             is no answer yet.",
            vec![Property::optional(
                "path",
                text("The file, relative to the workspace or absolute"),
            )],
            Reach::Reads,
        ),
        spec(
            "lsp_definition",
            "Finds where a name is defined. Give the file and line where it is used, and the name itself as \
             symbol.",
            place(),
            Reach::Reads,
        ),
        spec(
            "lsp_references",
            "Finds where a name is used, its definition included.",
            place(),
            Reach::Reads,
        ),
        spec("lsp_hover", "Tells the type and documentation of a name.", place(), Reach::Reads),
        spec(
            "lsp_symbols",
            "Lists what a file defines (path), or finds definitions by name in the whole project (query). At \
             least one of them is needed.",
            vec![
                Property::optional("path", text("The file, relative to the workspace or absolute")),
                Property::optional("query", text("A part of the name")),
            ],
            Reach::Reads,
        ),
        spec(
            "lsp_rename",
            "Renames what stands at a place, in every file that names it. Every file is checked before the first \
             one is changed.",
            renamed,
            Reach::Writes,
        ),
    ]
}

/// Repairs the name of the path, and drops empty texts, which mean that there is none.
fn prepare(mut arguments: Value) -> Value {
    let Some(map) = arguments.as_object_mut() else { return arguments };
    if !map.get("path").is_some_and(Value::is_string)
        && let Some(path) =
            ["file_path", "filePath", "file"].iter().find_map(|name| map.remove(*name))
    {
        map.insert("path".into(), path);
    }
    map.retain(|name, value| name == "new_name" || value.as_str() != Some(""));
    arguments
}

/// Runs a tool to its end.
pub(crate) async fn run(lsp: &Lsp, (name, arguments): (&str, &Value), ask: &Ask) -> Ended {
    if ask.cancel.is_cancelled() {
        let why = "stopped because the call was cancelled";
        return Err(Failure::not_started("aborted", why));
    }
    match name {
        "lsp_diagnostics" => trouble::run(lsp, arguments, ask).await,
        "lsp_definition" => places::run(lsp, ("textDocument/definition", arguments), ask).await,
        "lsp_references" => places::run(lsp, ("textDocument/references", arguments), ask).await,
        "lsp_hover" => look::run(lsp, arguments, ask).await,
        "lsp_symbols" => symbols::run(lsp, arguments, ask).await,
        "lsp_rename" => rename::run(lsp, arguments, ask).await,
        other => {
            Err(Failure::not_started("unknown_tool", format!("there is no tool {other:?} here")))
        }
    }
}

fn argument<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

/// A place in a document that a server was shown.
struct Spot {
    served: Served,
    document: Document,
    position: Value,
}

impl Spot {
    /// Brings up the server of a file and finds the place that a call means.
    async fn find(lsp: &Lsp, arguments: &Value, ask: &Ask) -> Result<Self, Failure> {
        let (served, document) =
            shown(lsp, argument(arguments, "path").unwrap_or_default(), ask).await?;
        let number = |name| {
            arguments.get(name).and_then(Value::as_u64).and_then(|one| usize::try_from(one).ok())
        };
        let path = &document.path;
        let lines = Lines::new(&document.text);
        let line = number("line").unwrap_or(1) - 1;
        let text = lines.line(line).ok_or_else(|| {
            let message = format!("{path} has {} lines", lines.count());
            Failure::not_started("no_such_place", message)
        })?;
        let missing = |what: String| {
            let shown = crate::site::plain(text, 300);
            Failure::not_started("no_such_place", format!("{path}:{}: {what}: {shown}", line + 1))
        };
        let idx = match (number("column"), argument(arguments, "symbol")) {
            (Some(column), _) => {
                let starts = text.char_indices().map(|(idx, _)| idx).chain([text.len()]);
                let n = text.chars().count();
                let beyond = || missing(format!("the line has {n} characters"));
                starts.clone().nth(column - 1).ok_or_else(beyond)?
            }
            (None, Some(symbol)) => position::find(text, symbol)
                .ok_or_else(|| missing(format!("{symbol:?} does not stand in this line")))?,
            (None, None) => {
                let message =
                    "the arguments do not fit:\nsymbol: is required, or column in its stead";
                return Err(Failure::not_started("invalid_arguments", message));
            }
        };
        let start = lines.start(line) + idx;
        let position = lines.position(start, served.abilities.terms.encoding);
        Ok(Self { served, document, position })
    }

    fn params(&self) -> Value {
        json!({"textDocument": {"uri": self.document.uri}, "position": self.position})
    }
}

/// Brings up the server of a file, with the file in step.
async fn shown(lsp: &Lsp, path: &str, ask: &Ask) -> Result<(Served, Document), Failure> {
    let path = lsp.0.site.parse(path)?;
    shown_at(lsp, &path, ask).await
}

async fn shown_at(
    lsp: &Lsp,
    path: &WorkspacePath,
    ask: &Ask,
) -> Result<(Served, Document), Failure> {
    let instance = lsp.instance_of(path)?;
    let mut served = lsp.serve(&instance, Some(path), ask).await?;
    match served.document.take() {
        Some(document) => Ok((served, document)),
        None => Err(Failure::not_started("internal", "the document was not shown")),
    }
}

/// Adds what is to be told besides the answer.
fn noted(mut lines: Vec<String>, note: Option<String>) -> String {
    lines.extend(note.map(|note| format!("[{note}]")));
    lines.join("\n")
}
