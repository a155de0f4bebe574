//! `stead ls`: jobs and sessions in one list.

use std::process::ExitCode;

use api::{
    client::{Client, Target},
    job::{JobRow, RowKind, Worktree},
    routes::{self, Endpoint},
};
use stdx::clock::{Clock, Timestamp};
use vocab::{job::JobState, outcome::Failure};

use crate::{
    args::Ls,
    exit,
    print::{
        self, Look, Style, clean,
        table::{DIRECTORY, Table},
        words,
    },
    role::run,
};

pub(super) async fn run(client: &Client, args: &Ls) -> anyhow::Result<ExitCode> {
    let mut rows = rows(client, args).await?;
    if args.json.json {
        return Ok(print::json(&rows));
    }
    if rows.is_empty()
        && let Some(dir) = &args.cwd
    {
        let all = self::rows(client, &Ls { cwd: None, ..args.clone() }).await?;
        if !all.is_empty() {
            let (dir, n) = (clean::clean_line(&run::absolute(dir)?), all.len());
            let verb = if n == 1 { "is" } else { "are" };
            print::err(&format!("stead: nothing below {dir}; without --cwd there {verb} {n}\n"));
            return Ok(ExitCode::from(exit::OK));
        }
    }
    if rows.is_empty() {
        print::err(match args.all {
            true => "stead: nothing was ever begun, or all of it was removed\n",
            false => "stead: nothing runs, and nothing has ended in the last two days\n",
        });
        print::err("  hint: stead bg -- COMMAND starts a program, stead bg \"…\" a session\n");
        return Ok(ExitCode::from(exit::OK));
    }
    // As the view has them. Programs get them in the order in which they began.
    tui::list::sort(&mut rows);
    let look = Look::of_process();
    Ok(print::out(&table(&rows, Clock::system().now(), look.table_width(), look.out.style)))
}

/// Asks for the rows, oldest first.
pub(crate) async fn rows(client: &Client, args: &Ls) -> Result<Vec<JobRow>, Failure> {
    let mut query = format!("all={}", args.all);
    if let Some(cwd) = &args.cwd {
        query.push_str(&format!("&cwd={}", routes::encode(&run::directory(cwd)?)));
    }
    let target = Target { parameter: "", query: &query };
    client.json::<(), _>(Endpoint::JobList, target, None).await.map_err(Failure::from)
}

fn table(rows: &[JobRow], now: Timestamp, columns: usize, style: Style) -> String {
    let mut table = Table::new(&["ID", "NAME", "STATE", "DETAIL", DIRECTORY, "SINCE"]);
    for row in rows {
        let id = match row.kind {
            RowKind::Job => row.id.as_str(),
            RowKind::Session => words::short_id(&row.id),
        };
        let name = if row.pinned { format!("{} *", row.name) } else { row.name.clone() };
        let since = row.ended_at.as_deref().unwrap_or(&row.started_at);
        let since = words::ago(now, since);
        table.row(&[id, &name, row.state.as_str(), &detail(row), &place(row), &since]);
    }
    table.render(columns, style)
}

/// Says where a row works. Of a worktree, people know its repository and its branch; its path is of our making.
fn place(row: &JobRow) -> String {
    let of_tree = |tree: &Worktree| format!("{} · {}", tree.repository, tree.branch);
    row.worktree.as_ref().map_or_else(|| row.cwd.clone(), of_tree)
}

/// Says the most important thing about a row besides its state.
pub(crate) fn detail(row: &JobRow) -> String {
    match (&row.waiting_for, &row.status) {
        // A session tells the call that it asks for.
        (Some(what), _) if row.kind == RowKind::Session => format!("waits: {what}"),
        (Some(what), _) => format!("waits for {what}"),
        (None, Some(status)) => status.clone(),
        (None, None) if row.state == JobState::Working => "runs".to_owned(),
        (None, None) => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_says_what_waits_and_how_things_ended() {
        let row = |id: &str, change: serde_json::Value| -> JobRow {
            let mut row = json!({
                "id": id, "kind": "job", "name": "fix the build", "cwd": "/w", "command": ["claude"],
                "state": "working", "status": null, "state_source": "process", "waiting_for": null,
                "pid": 1, "pinned": false, "started_at": "2023-11-14T22:13:20.000Z",
                "ended_at": null, "session": null, "session_file": null, "env_names": [],
                "exit": null,
            });
            for (name, value) in change.as_object().unwrap() {
                row[name] = value.clone();
            }
            serde_json::from_value(row).unwrap()
        };
        let rows = [
            row("0123abcd", json!({"pinned": true})),
            row("0123abce", json!({"state": "blocked", "waiting_for": "permission"})),
            row(
                "0123abcf",
                json!({"state": "failed", "status": "exit code 1", "pid": null,
                "ended_at": "2023-11-14T22:13:40.000Z"}),
            ),
            row(
                "ses_0190aa11bb22cc33dd44ee55ff667788",
                json!({"kind": "session", "state": "done",
                "name": "totals", "status": "finished"}),
            ),
        ];
        let now = Timestamp::from_millis(1_700_000_000_000 + 60_000);
        let text = table(&rows, now, 100, Style(false));
        assert_eq!(
            text,
            "ID        NAME             STATE    DETAIL                DIRECTORY  SINCE\n\
             0123abcd  fix the build *  working  runs                  /w         1 min ago\n\
             0123abce  fix the build    blocked  waits for permission  /w         1 min ago\n\
             0123abcf  fix the build    failed   exit code 1           /w         40 s ago\n\
             ff667788  totals           done     finished              /w         1 min ago\n"
        );
    }
}
