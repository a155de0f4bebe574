//! Jobs from the command line: started, listed, told what to do. Sessions stand in the same list, and do what
//! they have a form of.
//!
//! What a person means by a text, the daemon finds out; here its answer becomes words.

mod begin;
mod chosen;
mod list;
mod remove;
pub(crate) mod session;
mod wait;

pub(crate) use begin::environment;
pub(crate) use list::rows;

use std::process::ExitCode;

use api::{
    agent,
    client::{Client, ClientError, Target},
    job::{JobRow, NoWishes, PinJob, RenameJob, RowKind, SendText, UpgradeJob},
    routes::Endpoint,
};
use pty::job::JobFiles;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use vocab::{
    ids::{BadJobId, JobId},
    outcome::{Effect, Failure},
};

use crate::{
    args::{Jobs, Ls, Upgrade, Which},
    client, env, exit,
    print::{self, clean, words},
};

/// Runs a command about jobs.
pub(crate) fn run(command: Jobs) -> anyhow::Result<ExitCode> {
    super::block_on(async move {
        let client = client::connect(&env::paths()?).await?;
        match command {
            Jobs::Bg(bg) => begin::run(&client, bg).await,
            Jobs::Ls(ls) => list::run(&client, &ls).await,
            Jobs::Stop(which) => {
                each(&client, (&which, "stop"), Endpoint::JobStop, Done::AsItIs, &NoWishes {}).await
            }
            Jobs::Respawn(which) => {
                let (named, done) = ((&which, "respawn"), Done::Word("started"));
                each(&client, named, Endpoint::JobRespawn, done, &NoWishes {}).await
            }
            Jobs::Upgrade(wish) => {
                let which = upgraded(&client, wish).await?;
                let body = UpgradeJob { program: env::own_program()? };
                let (named, done) = ((&which, "upgrade"), Done::Word("upgraded"));
                each(&client, named, Endpoint::JobUpgrade, done, &body).await
            }
            Jobs::Rm(rm) => remove::run(&client, &rm).await,
            Jobs::Detach(named) => {
                let row = chosen::row(&client, ("detach", &named.job), named.asks).await?;
                let _: agent::Done =
                    order(&client, Endpoint::JobDetach, &row.id, &NoWishes {}).await?;
                Ok(say(&format!("detached · {}", called(&row))))
            }
            Jobs::Send { named, text, no_enter } => {
                let mut text = text.join(" ");
                let row = chosen::row(&client, ("send", &named.job), named.asks).await?;
                if row.kind == RowKind::Session {
                    return session::send(&client, &row.id, &text).await;
                }
                if !no_enter {
                    text.push('\r');
                }
                let job = row.id;
                let _: agent::Done =
                    order(&client, Endpoint::JobSend, &job, &SendText { text }).await?;
                Ok(ExitCode::from(exit::OK))
            }
            Jobs::Explain { job, json } => explain(&client, &job, json.json).await,
            Jobs::Rename { named, name } => {
                let row = chosen::row(&client, ("rename", &named.job), named.asks).await?;
                let body = RenameJob { name: name.join(" ") };
                let row: JobRow = order(&client, Endpoint::JobRename, &row.id, &body).await?;
                Ok(say(&format!("renamed · {}", called(&row))))
            }
            Jobs::Pin { job, off } => {
                let body = PinJob { pinned: !off };
                let row: JobRow = order(&client, Endpoint::JobPin, &job, &body).await?;
                let word = if row.pinned { "pinned" } else { "no longer pinned" };
                Ok(say(&format!("{word} · {}", called(&row))))
            }
            Jobs::Wait(wait) => wait::run(&client, &wait).await,
        }
    })
}

/// Returns which jobs go on as this build: those that are named, or all that run.
async fn upgraded(client: &Client, wish: Upgrade) -> Result<Which, Failure> {
    let Upgrade { mut jobs, all, asks, json } = wish;
    if all {
        let rows = list::rows(client, &Ls::default()).await?;
        let live = |row: &JobRow| row.kind == RowKind::Job && row.ended_at.is_none();
        jobs = rows.into_iter().filter(live).map(|row| row.id).collect();
        if jobs.is_empty() {
            say("no job runs");
        }
    }
    Ok(Which { jobs, asks, json })
}

/// What a text means to who wants to look at it.
pub(crate) enum Shown {
    /// A job, by its files.
    Job(Box<JobFiles>),
    /// A session, by its row.
    Session(Box<JobRow>),
}

/// Finds the job or session that a text means. The whole id of a job needs no daemon to be understood, since
/// looking at a job should not wait for one.
pub(crate) fn shown(text: &str) -> anyhow::Result<Shown> {
    let paths = env::paths()?;
    let files = |id: &JobId| JobFiles::new(&paths.home, &paths.runtime, id);
    if let Ok(id) = text.parse::<JobId>()
        && files(&id).exists()
    {
        return Ok(Shown::Job(Box::new(files(&id).located())));
    }
    super::block_on(async {
        let client = client::connect(&paths).await?;
        let row = show(&client, text).await?;
        if row.kind == RowKind::Session {
            return Ok(Shown::Session(Box::new(row)));
        }
        let id: JobId = row
            .id
            .parse()
            .map_err(|bad: BadJobId| Failure::not_started("answer_malformed", bad.to_string()))?;
        Ok(Shown::Job(Box::new(files(&id).located())))
    })
}

/// Tells why a job is as it is.
async fn explain(client: &Client, job: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let answer = client.json::<(), Value>(Endpoint::JobExplain, Target::of(job), None).await;
    let mut told = answer.map_err(|error| meant(job, error))?;
    let row = show(client, job).await?;
    if as_json {
        if let (Value::Object(fields), Some(version)) = (&mut told, row.host_version) {
            fields.insert("host_version".to_owned(), version.into());
        }
        return Ok(print::json(&told));
    }
    let explanation: arbiter::Explanation = serde_json::from_value(told)?;
    let mut text = explanation.to_string();
    if let Some(version) = &row.host_version {
        let id = &row.id;
        text.push_str(&format!(
            "  host: version {version}; stead upgrade {id} makes it this one\n"
        ));
    }
    Ok(print::out(&clean::clean(&text)))
}

/// Asks for an operation on what a text means.
pub(crate) async fn order<B: Serialize + Sync, A: DeserializeOwned>(
    client: &Client,
    endpoint: Endpoint,
    job: &str,
    body: &B,
) -> Result<A, Failure> {
    if job.is_empty() {
        return Err(Failure::not_started("usage", "nothing is named").with_hint("stead ls"));
    }
    let answer = client.json(endpoint, Target::of(job), Some(body)).await;
    answer.map_err(|error| meant(job, error))
}

/// Shows the job or session that a text means.
pub(crate) async fn show(client: &Client, job: &str) -> Result<JobRow, Failure> {
    if job.is_empty() {
        return Err(Failure::not_started("usage", "nothing is named").with_hint("stead ls"));
    }
    let answer = client.json::<(), _>(Endpoint::JobShow, Target::of(job), None).await;
    answer.map_err(|error| meant(job, error))
}

/// Says what a text could have meant.
fn meant(text: &str, error: ClientError) -> Failure {
    let ClientError::Problem(problem) = error else { return error.into() };
    if problem.code != "ambiguous" {
        return (*problem).into();
    }
    // Each is told as its id, its kind and its name.
    let line = |told: &String| {
        let (id, rest) = told.split_once(' ').unwrap_or((told, ""));
        let id = if rest.starts_with("session") { words::short_id(id) } else { id };
        format!("{}  {}", clean::clean_line(id), clean::clean_line(rest))
    };
    let lines: Vec<String> = problem.candidates.iter().map(line).collect();
    let message = format!("{text:?}: {}", problem.message);
    Failure { message, hint: Some(lines.join("\n")), ..(*problem).into() }
}

/// What is said of what was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    /// This word.
    Word(&'static str),
    /// The state that came of it, which must be an end.
    AsItIs,
}

/// Does one thing to each of some jobs, and goes on where one of them cannot.
async fn each<B: Serialize + Sync>(
    client: &Client,
    (which, verb): (&Which, &str),
    endpoint: Endpoint,
    done: Done,
    body: &B,
) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::from(exit::OK);
    let mut rows: Vec<JobRow> = Vec::new();
    for job in &which.jobs {
        let doing = async {
            let row = chosen::row(client, (verb, job), which.asks).await?;
            order::<_, JobRow>(client, endpoint, &row.id, body).await
        };
        match doing.await {
            Ok(row) => {
                let word = match done {
                    Done::Word(word) => word,
                    Done::AsItIs => row.state.as_str(),
                };
                if !which.json.json {
                    say(&format!("{word} · {}", called(&row)));
                }
                if done == Done::AsItIs && row.ended_at.is_none() {
                    let why = format!("{} was told to end, and has not yet", id_of(&row));
                    let hint = format!("stead wait {} waits for its end", id_of(&row));
                    let failure = Failure::new("still_ending", Effect::Indeterminate, why);
                    code = exit::report(&failure.with_hint(hint).into());
                }
                rows.push(row);
            }
            Err(failure) => code = exit::report(&failure.into()),
        }
    }
    if which.json.json {
        print::json(&rows);
    }
    Ok(code)
}

/// Names a row as lists do, and says of a session that it is one: who meant a job sees it.
fn called(row: &JobRow) -> String {
    let kind = match row.kind {
        RowKind::Job => "",
        RowKind::Session => "session ",
    };
    format!("{kind}{} · {}", id_of(row), clean::clean_line(&row.name))
}

/// Returns the id by which a row is listed.
fn id_of(row: &JobRow) -> &str {
    match row.kind {
        RowKind::Job => &row.id,
        RowKind::Session => words::short_id(&row.id),
    }
}

fn say(line: &str) -> ExitCode {
    print::err(&format!("{line}\n"));
    ExitCode::from(exit::OK)
}
