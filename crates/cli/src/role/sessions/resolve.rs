//! Which session a person means: a whole id, or what is unique of id or title.
//!
//! The daemon looks; here its answer becomes words, and an ambiguity a list of what could be meant.

use api::{
    client::{Client, ClientError, Target},
    problem::Problem,
    routes::Endpoint,
    session::{SessionDetail, SessionRow},
};
use futures_util::future::join_all;
use stdx::clock::{Clock, Timestamp};
use vocab::outcome::Failure;

use crate::print::{clean, words};

/// Finds the session.
///
/// # Errors
/// When there is none, or several are meant.
pub(crate) async fn session(client: &Client, text: &str) -> Result<SessionRow, Failure> {
    Ok(detail(client, text).await?.row)
}

/// Finds the session with its run.
///
/// # Errors
/// When there is none, or several are meant.
pub(crate) async fn detail(client: &Client, text: &str) -> Result<SessionDetail, Failure> {
    if text.is_empty() {
        return Err(
            Failure::not_started("usage", "no session is named").with_hint("stead sessions list")
        );
    }
    match show(client, text).await {
        Ok(detail) => Ok(detail),
        Err(ClientError::Problem(problem)) if problem.code == "ambiguous" => {
            let rows = join_all(problem.candidates.iter().map(|id| async move {
                let row = show(client, id).await.map(|detail| detail.row);
                (id.clone(), row.ok())
            }));
            Err(ambiguous(text, &rows.await, Clock::system().now(), *problem))
        }
        Err(error) => Err(error.into()),
    }
}

async fn show(client: &Client, text: &str) -> Result<SessionDetail, ClientError> {
    client.json::<(), _>(Endpoint::SessionShow, Target::of(text), None).await
}

fn ambiguous(
    text: &str,
    rows: &[(String, Option<SessionRow>)],
    now: Timestamp,
    problem: Problem,
) -> Failure {
    // Titles may be alike: when and where tells sessions apart.
    let line = |(id, row): &(String, Option<SessionRow>)| {
        let short = words::short_id(id);
        row.as_ref().map_or_else(
            || short.to_owned(),
            |SessionRow { title, cwd, updated_at, .. }| {
                let active = words::ago(now, updated_at);
                let rest = clean::clean_line(&format!("{title} · {active} · {cwd}"));
                format!("{short}  {rest}")
            },
        )
    };
    let lines: Vec<String> = rows.iter().map(line).collect();
    let message = format!("{text:?}: {}", problem.message);
    Failure { message, hint: Some(lines.join("\n")), ..problem.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ambiguity_lists_what_could_be_meant() {
        let ids: Vec<String> = (0..10).map(|n| format!("ses_0190{n:028}")).collect();
        let problem = Problem {
            candidates: ids.clone(),
            ..Failure::not_started("ambiguous", "several sessions match, 2 more than are listed")
                .into()
        };
        let row: SessionRow = serde_json::from_value(serde_json::json!({
            "id": "", "title": "a\x1b[2J", "workspace": "", "cwd": "/w", "mode": "auto", "state": "idle",
            "messages": 1, "usage": {}, "created_at": "", "updated_at": "2023-11-14T22:13:20.000Z",
        }))
        .unwrap();
        let rows: Vec<_> = ids.into_iter().map(|id| (id, Some(row.clone()))).collect();
        let now = Timestamp::from_millis(1_700_000_060_000);
        let failure = ambiguous("0190", &rows, now, problem);
        assert_eq!(failure.code, "ambiguous");
        let hint = failure.hint.unwrap();
        assert!(hint.starts_with("00000000  a␛[2J · 1 min ago · /w\n00000001  a"), "{hint}");
        assert!(hint.ends_with("00000009  a␛[2J · 1 min ago · /w"), "{hint}");
        assert!(failure.message.ends_with("match, 2 more than are listed"), "{}", failure.message);
    }
}
