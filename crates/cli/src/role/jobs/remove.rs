//! `stead rm`: jobs go, and what was saved of their worktrees is told with the way back. Sessions go as they do
//! by their own command, after asking.

use std::{iter, process::ExitCode};

use api::{
    client::{Client, Target},
    job::{JobRow, Removed, RowKind, Saved},
    routes::Endpoint,
    session::SessionRow,
};
use serde::Serialize;
use vocab::outcome::Failure;

use super::{called, chosen, list, say, show};
use crate::{
    args::{Ls, Rm},
    exit,
    print::{self, clean},
    role::{
        run::ask,
        sessions::{self, resolve},
    },
};

/// A job that is gone: its last row, and what is left of its worktree.
#[derive(Serialize)]
struct Gone {
    #[serde(flatten)]
    row: JobRow,
    saved: Vec<Saved>,
}

/// What came of one word.
enum Step {
    /// A job that is gone.
    Gone(Box<Gone>),
    /// A session, which goes once it was asked about.
    Ask(Box<(JobRow, SessionRow)>),
}

pub(super) async fn run(client: &Client, args: &Rm) -> anyhow::Result<ExitCode> {
    let jobs = if args.ended { ended(client).await? } else { args.jobs.clone() };
    if args.ended && !args.asks.yes && !args.discard && !agrees_to_all(jobs.len()).await? {
        print::err("stead: nothing was removed\n");
        return Ok(ExitCode::from(exit::REFUSED));
    }
    let asks_first = args.discard && !args.asks.yes && !jobs.is_empty();
    let agreed = if asks_first {
        let Some(rows) = agreed(client, &jobs).await? else {
            print::err("stead: nothing was removed\n");
            return Ok(ExitCode::from(exit::REFUSED));
        };
        rows
    } else {
        Vec::new()
    };
    // By then a word may mean something else than what was shown.
    let agreed = agreed.into_iter().map(Some).chain(iter::repeat(None));
    let query = if args.discard { "discard=true" } else { "" };
    let mut code = ExitCode::from(exit::OK);
    let mut gone: Vec<Gone> = Vec::new();
    let mut deleted: Vec<(JobRow, SessionRow)> = Vec::new();
    for (job, agreed) in jobs.iter().zip(agreed) {
        let removing = async {
            let is_agreed = agreed.is_some();
            let row = match agreed {
                Some(row) => row,
                None => show(client, job).await?,
            };
            if row.kind == RowKind::Session {
                let session = resolve::session(client, &row.id).await?;
                sessions::is_named(job, &session, ("rm", args.asks.yes || is_agreed))?;
                return Ok(Step::Ask(Box::new((row, session))));
            }
            // A session is asked about with all others; what was agreed to was shown with its whole name.
            let row = match is_agreed {
                true => row,
                false => chosen::stands_by(row, ("rm", job), args.asks).await?,
            };
            let target = Target { parameter: &row.id, query };
            let removed = client.json::<(), Removed>(Endpoint::JobRemove, target, None).await;
            let Removed { saved, .. } = removed.map_err(Failure::from)?;
            Ok::<_, Failure>(Step::Gone(Box::new(Gone { row, saved })))
        };
        match removing.await {
            Ok(Step::Gone(one)) => {
                if !args.json.json {
                    tell(&one);
                }
                gone.push(*one);
            }
            Ok(Step::Ask(one)) if deleted.iter().any(|(row, _)| row.id == one.0.id) => {}
            Ok(Step::Ask(one)) => deleted.push(*one),
            Err(failure) => code = exit::report(&failure.into()),
        }
    }
    if !deleted.is_empty() {
        let (rows, those) = deleted.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let ended = sessions::delete(client, those, args.asks.yes || asks_first).await?;
        if ended == ExitCode::from(exit::OK) {
            gone.extend(rows.into_iter().map(|row| Gone { row, saved: Vec::new() }));
        } else {
            code = ended;
        }
    }
    if args.json.json {
        print::json(&gone);
    }
    Ok(code)
}

/// Returns the ids of all jobs that have ended. What somebody has pinned is to stay.
async fn ended(client: &Client) -> Result<Vec<String>, Failure> {
    let all = list::rows(client, &Ls { all: true, ..Ls::default() }).await?;
    let ended = |row: &JobRow| row.kind == RowKind::Job && row.ended_at.is_some() && !row.pinned;
    let ids: Vec<String> = all.into_iter().filter(ended).map(|row| row.id).collect();
    if ids.is_empty() {
        say("no job that has ended is there, unless it is pinned");
    }
    Ok(ids)
}

/// Asks whether so many jobs are to go.
async fn agrees_to_all(n_jobs: usize) -> Result<bool, Failure> {
    if n_jobs == 0 {
        return Ok(true);
    }
    if !sessions::can_ask() {
        let why = format!("{n_jobs} jobs have ended, and there is no terminal to ask at");
        return Err(Failure::not_started("usage", why).with_hint("stead rm --ended --yes"));
    }
    let s = if n_jobs == 1 { "" } else { "s" };
    Ok(ask::agrees(&format!("Remove {n_jobs} job{s} that ended? [y/N] ")).await)
}

fn tell(gone: &Gone) {
    say(&format!("removed · {}", called(&gone.row)));
    for saved in &gone.saved {
        say(&format!("saved · {}", saved.reference));
        say(&format!("  {}", clean::clean_line(&saved.command)));
    }
}

/// Finds what some words mean, and asks whether the work of all of that is to go. Returns it if so.
async fn agreed(client: &Client, jobs: &[String]) -> Result<Option<Vec<JobRow>>, Failure> {
    if !sessions::can_ask() {
        let why = "there is no terminal to ask at whether the work is to go";
        return Err(Failure::not_started("usage", why)
            .with_hint(format!("stead rm --discard --yes {}", jobs.join(" "))));
    }
    let mut rows = Vec::new();
    for job in jobs {
        let row = show(client, job).await?;
        let line = format!("{}  {} · {}", row.id, row.name, row.cwd);
        print::err(&format!("{}\n", clean::clean_line(&line)));
        rows.push(row);
    }
    let question = "Remove this with all the work in its worktree, for good? [y]es or [n]o: ";
    Ok(ask::agrees(question).await.then_some(rows))
}
