//! Documents that are printed from tables of the code, so that they cannot drift.

use std::{fmt::Write as _, process::ExitCode};

use api::{
    problem::STATUSES,
    routes::{Answers, Method, Needs, Route, TABLE},
};
use vocab::limits::{self, Limit};

use crate::tree;

/// Where the table of limits is printed.
pub(crate) const LIMITS: &str = "docs/limits.md";

/// Where the table of routes is printed.
pub(crate) const ROUTES: &str = "docs/routes.md";

/// Writes every generated document.
pub(crate) fn run(_arguments: &[String]) -> anyhow::Result<ExitCode> {
    for (path, text) in pages(limits::TABLE)? {
        tree::write(path, &text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints every generated document, with the path where it lies.
pub(crate) fn pages(table: &[Limit]) -> anyhow::Result<[(&'static str, String); 2]> {
    Ok([(LIMITS, limits_page(table)?), (ROUTES, routes_page(TABLE, STATUSES)?)])
}

/// Prints the table of limits as a page.
fn limits_page(table: &[Limit]) -> anyhow::Result<String> {
    let mut page = String::from(
        "# Limits\n\n\
         Every bound of the program, with its reason and the test that meets it. Printed from\n\
         `crates/vocab/src/limits` by `cargo xtask gen`; do not edit.\n\n\
         | limit | value | unit | because | met by |\n\
         |---|---:|---|---|---|\n",
    );
    for Limit { name, value, unit, because, test } in table {
        writeln!(page, "| `{name}` | {} | {unit} | {because} | `{test}` |", grouped(*value))?;
    }
    Ok(page)
}

/// Prints the table of routes as a page, and below it the codes of failures.
fn routes_page(table: &[Route], statuses: &[(&str, u16)]) -> anyhow::Result<String> {
    let mut page = String::from(
        "# Routes\n\n\
         The HTTP interface of the daemon. Printed from `crates/api/src/routes.rs` and\n\
         `crates/api/src/problem.rs` by `cargo xtask gen`; do not edit.\n\n\
         | route | operation | who may call | answers | what it does |\n\
         |---|---|---|---|---|\n",
    );
    for Route { method, path, op, needs, answers, about, .. } in table {
        let (method, needs, answers) = (verb(*method), who(*needs), form(*answers));
        writeln!(page, "| `{method} {path}` | `{op}` | {needs} | {answers} | {about} |")?;
    }
    page.push_str(
        "\nEvery caller passes the perimeter first: the user's own processes over the Unix socket, everyone\n\
         else over loopback with the credential. A *process of a run* is one that an agent started.\n\n\
         ## Repeated requests\n\n\
         `POST /agent/run` and `POST /sessions` take an `idempotency_key`. The same request with the same key is done\n\
         once and answered each time for a day: a run is streamed from its beginning, a session is shown as it is by then. The\n\
         key stands for all of the request but the keys of providers; with another request it is\n\
         `idempotency_mismatch`. Deleting, aborting and answering may be repeated without one.\n\n\
         ## Failures\n\n\
         Every answer that is not a success is JSON with `code`, `effect`, `message`, and where a person can\n\
         act, `hint`. `effect` says whether the world changed: `not_started`, `completed` or\n\
         `indeterminate`.\n\n\
         | code | status |\n\
         |---|---:|\n",
    );
    for (code, status) in statuses {
        writeln!(page, "| `{code}` | {status} |")?;
    }
    Ok(page)
}

fn verb(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Delete => "DELETE",
    }
}

fn who(needs: Needs) -> &'static str {
    match needs {
        Needs::Caller => "any caller",
        Needs::Hand => "a person's program or an allowed page, no process of a run",
        Needs::Program => "any program of the user, no page",
        Needs::Person => "a person's program, no page and no process of a run",
    }
}

fn form(answers: Answers) -> &'static str {
    match answers {
        Answers::Json => "JSON",
        Answers::Events => "server-sent events",
    }
}

/// Prints a number with a comma between groups of three digits.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
