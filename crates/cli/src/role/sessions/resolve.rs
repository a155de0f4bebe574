//! Which session a person means: a whole id, or a unique part of id or title.

use api::{
    client::{Client, ClientError, Target},
    routes::Endpoint,
    session::{SessionDetail, SessionRow},
};
use vocab::{ids::SessionId, limits::RESOLVE_ROWS_MAX, outcome::Failure};

use super::pages;
use crate::print::{clean, words};

/// How many candidates an ambiguity lists.
const CANDIDATES_SHOWN: usize = 10;

/// Finds the session.
///
/// # Errors
/// When there is none, or several are meant.
pub(crate) async fn session(client: &Client, text: &str) -> Result<SessionRow, Failure> {
    if text.parse::<SessionId>().is_ok() {
        let asked =
            client.json::<(), SessionDetail>(Endpoint::SessionShow, Target::of(text), None).await;
        return match asked {
            Ok(detail) => Ok(detail.row),
            Err(ClientError::Problem(problem)) if problem.code == "session_not_found" => {
                Err(none(text))
            }
            Err(error) => Err(error.into()),
        };
    }
    // Only hexadecimal digits can be a part of an id; for words the daemon looks through the titles.
    let words_only =
        !text.strip_prefix("ses_").unwrap_or(text).bytes().all(|byte| byte.is_ascii_hexdigit());
    let rows = pages::all(client, words_only.then_some(text), RESOLVE_ROWS_MAX).await?;
    choose(text, rows)
}

/// Chooses among rows: a beginning or an end of an id counts more than its middle, which counts as much
/// as a part of a title.
fn choose(text: &str, rows: Vec<SessionRow>) -> Result<SessionRow, Failure> {
    let wanted = text.to_lowercase();
    let mut found: [Vec<SessionRow>; 3] = Default::default();
    for row in rows {
        let id = row.id.to_lowercase();
        let bare = id.strip_prefix("ses_").unwrap_or(&id);
        let level = if row.alias.as_deref() == Some(text) || row.title == text {
            0
        } else if id.starts_with(&wanted) || bare.starts_with(&wanted) || id.ends_with(&wanted) {
            1
        } else if bare.contains(&wanted) || row.title.to_lowercase().contains(&wanted) {
            2
        } else {
            continue;
        };
        if let Some(rows) = found.get_mut(level) {
            rows.push(row);
        }
    }
    let mut rows = found.into_iter().find(|rows| !rows.is_empty()).unwrap_or_default();
    match (rows.len(), rows.pop()) {
        (1, Some(row)) => Ok(row),
        (0, _) | (_, None) => Err(none(text)),
        (n, Some(last)) => {
            rows.push(last);
            Err(ambiguous(text, n, &rows))
        }
    }
}

fn none(text: &str) -> Failure {
    Failure::not_started("session_not_found", format!("there is no session {text:?}"))
        .with_hint("stead sessions list")
}

fn ambiguous(text: &str, n: usize, rows: &[SessionRow]) -> Failure {
    let shown = rows.iter().take(CANDIDATES_SHOWN);
    let mut lines: Vec<String> = shown
        .map(|row| {
            // Ids made in one moment differ only at their ends.
            format!("{}  {}", words::short_id(&row.id), clean::clean_line(&row.title))
        })
        .collect();
    if n > CANDIDATES_SHOWN {
        lines.push(format!("… and {} more", n - CANDIDATES_SHOWN));
    }
    Failure::not_started("ambiguous", format!("{text:?} could be {n} sessions"))
        .with_hint(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, title: &str) -> SessionRow {
        serde_json::from_value(serde_json::json!({
            "id": format!("ses_{id}"), "title": title, "workspace": "w", "cwd": "/w", "mode": "auto",
            "state": "idle", "messages": 1, "usage": {}, "created_at": "", "updated_at": "",
        }))
        .unwrap()
    }

    fn check(text: &str, expected: Result<&str, &str>) {
        let rows = vec![
            row("0190aa11bb22cc33", "fix the totals"),
            row("0190aa11bb22cc44", "write a test"),
            row("0190aa99bb22cc55", "fix the README"),
            row("cc44aa00dd000000", "write"),
        ];
        let told = match choose(text, rows) {
            Ok(row) => Ok(row.title),
            Err(failure) => Err(failure.code),
        };
        assert_eq!(told.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn a_unique_part_of_id_or_title_is_enough() {
        check("cc33", Ok("fix the totals"));
        check("ses_0190aa99", Ok("fix the README"));
        check("0190aa11bb22cc44", Ok("write a test"));
        check("readme", Ok("fix the README"));
        check("write", Ok("write"));
        check("99bb", Ok("fix the README"));
        check("0190", Err("ambiguous"));
        check("cc44", Err("ambiguous"));
        check("fix", Err("ambiguous"));
        check("nothing", Err("session_not_found"));
    }

    #[test]
    fn an_ambiguity_lists_what_could_be_meant() {
        let rows =
            (0..12).map(|n| row(&format!("0190000000{n:06}"), &format!("t{n}\x1b[2J"))).collect();
        let failure = choose("0190", rows).unwrap_err();
        let hint = failure.hint.unwrap();
        assert!(hint.starts_with("00000000  t0␛[2J\n00000001  t1"), "{hint}");
        assert!(hint.ends_with("… and 2 more"), "{hint}");
    }
}
