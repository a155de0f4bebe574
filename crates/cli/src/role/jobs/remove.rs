//! `stead rm`: jobs go, and what was saved of their worktrees is told with the way back.

use std::process::ExitCode;

use api::{
    client::{Client, Target},
    job::{JobRow, Removed, Saved},
    routes::Endpoint,
};
use serde::Serialize;
use vocab::outcome::Failure;

use super::{say, show};
use crate::{
    args::Rm,
    exit,
    print::{self, Look, clean},
    role::run::ask,
};

/// A job that is gone: its last row, and what is left of its worktree.
#[derive(Serialize)]
struct Gone {
    #[serde(flatten)]
    row: JobRow,
    saved: Vec<Saved>,
}

pub(super) async fn run(client: &Client, args: &Rm) -> anyhow::Result<ExitCode> {
    if args.discard && !args.yes && !agrees(client, &args.which.jobs).await? {
        print::err("stead: nothing was removed\n");
        return Ok(ExitCode::from(exit::REFUSED));
    }
    let query = if args.discard { "discard=true" } else { "" };
    let mut code = ExitCode::from(exit::OK);
    let mut gone: Vec<Gone> = Vec::new();
    for job in &args.which.jobs {
        let removing = async {
            let row = show(client, job).await?;
            let target = Target { parameter: &row.id, query };
            let removed = client.json::<(), Removed>(Endpoint::JobRemove, target, None).await;
            let Removed { saved, .. } = removed.map_err(Failure::from)?;
            Ok::<_, Failure>(Gone { row, saved })
        };
        match removing.await {
            Ok(one) => {
                if !args.which.json.json {
                    tell(&one);
                }
                gone.push(one);
            }
            Err(failure) => code = exit::report(&failure.into()),
        }
    }
    if args.which.json.json {
        print::json(&gone);
    }
    Ok(code)
}

fn tell(gone: &Gone) {
    say(&format!("removed · {} · {}", gone.row.id, clean::clean_line(&gone.row.name)));
    for saved in &gone.saved {
        say(&format!("saved · {}", saved.reference));
        say(&format!("  {}", clean::clean_line(&saved.command)));
    }
}

/// Asks whether the work of all of these is to go.
async fn agrees(client: &Client, jobs: &[String]) -> Result<bool, Failure> {
    if !(print::stdin_is_terminal() && Look::of_process().err.terminal) {
        let why = "there is no terminal to ask at whether the work is to go";
        return Err(Failure::not_started("usage", why).with_hint("stead rm --discard --yes JOB"));
    }
    for job in jobs {
        let row = show(client, job).await?;
        let line = format!("{}  {} · {}", row.id, row.name, row.cwd);
        print::err(&format!("{}\n", clean::clean_line(&line)));
    }
    print::err("Remove this with all the work in its worktree, for good? [y]es or [n]o: ");
    let line = ask::read_line().await.unwrap_or_default();
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
