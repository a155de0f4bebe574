//! `stead rm`: jobs go, and what was saved of their worktrees is told with the way back. Sessions go as they do
//! by their own command, after asking.

use std::process::ExitCode;

use api::{
    client::{Client, Target},
    job::{JobRow, Removed, RowKind, Saved},
    routes::Endpoint,
    session::SessionRow,
};
use serde::Serialize;
use vocab::outcome::Failure;

use super::{called, chosen, say, show};
use crate::{
    args::Rm,
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
    let mut asks = args.which.asks;
    if args.discard && !asks.yes {
        if !agrees(client, &args.which.jobs).await? {
            print::err("stead: nothing was removed\n");
            return Ok(ExitCode::from(exit::REFUSED));
        }
        // Each was shown with its whole name.
        asks.yes = true;
    }
    let query = if args.discard { "discard=true" } else { "" };
    let mut code = ExitCode::from(exit::OK);
    let mut gone: Vec<Gone> = Vec::new();
    let mut deleted: Vec<(JobRow, SessionRow)> = Vec::new();
    for job in &args.which.jobs {
        let removing = async {
            let row = show(client, job).await?;
            if row.kind == RowKind::Session {
                let session = resolve::session(client, &row.id).await?;
                sessions::is_named(job, &session)?;
                return Ok(Step::Ask(Box::new((row, session))));
            }
            // A session is asked about with all others.
            let row = chosen::stands_by(row, ("rm", job), asks).await?;
            let target = Target { parameter: &row.id, query };
            let removed = client.json::<(), Removed>(Endpoint::JobRemove, target, None).await;
            let Removed { saved, .. } = removed.map_err(Failure::from)?;
            Ok::<_, Failure>(Step::Gone(Box::new(Gone { row, saved })))
        };
        match removing.await {
            Ok(Step::Gone(one)) => {
                if !args.which.json.json {
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
        let ended = sessions::delete(client, those, args.which.asks.yes).await?;
        if ended == ExitCode::from(exit::OK) {
            gone.extend(rows.into_iter().map(|row| Gone { row, saved: Vec::new() }));
        } else {
            code = ended;
        }
    }
    if args.which.json.json {
        print::json(&gone);
    }
    Ok(code)
}

fn tell(gone: &Gone) {
    say(&format!("removed · {}", called(&gone.row)));
    for saved in &gone.saved {
        say(&format!("saved · {}", saved.reference));
        say(&format!("  {}", clean::clean_line(&saved.command)));
    }
}

/// Asks whether the work of all of these is to go.
async fn agrees(client: &Client, jobs: &[String]) -> Result<bool, Failure> {
    if !sessions::can_ask() {
        let why = "there is no terminal to ask at whether the work is to go";
        return Err(Failure::not_started("usage", why).with_hint("stead rm --discard --yes JOB"));
    }
    for job in jobs {
        let row = show(client, job).await?;
        let line = format!("{}  {} · {}", row.id, row.name, row.cwd);
        print::err(&format!("{}\n", clean::clean_line(&line)));
    }
    let question = "Remove this with all the work in its worktree, for good? [y]es or [n]o: ";
    Ok(ask::agrees(question).await)
}
