//! Jobs from the command line: started, listed, told what to do.
//!
//! What a person means by a text, the daemon finds out; here its answer becomes words.

mod begin;
mod list;
mod remove;
mod wait;

pub(crate) use begin::environment;

use std::process::ExitCode;

use api::{
    agent::{AbortRequest, Done},
    client::{Client, ClientError, Target},
    job::{JobRow, NoWishes, PinJob, RenameJob, SendText, UpgradeJob},
    routes::Endpoint,
};
use pty::job::JobFiles;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use vocab::{
    ids::{BadJobId, JobId},
    outcome::Failure,
};

use crate::{
    args::{Jobs, Which},
    client, env, exit,
    print::{self, clean},
    role::sessions::resolve,
};

/// Runs a command about jobs.
pub(crate) fn run(command: Jobs) -> anyhow::Result<ExitCode> {
    super::block_on(async move {
        let client = client::connect(&env::paths()?).await?;
        match command {
            Jobs::Bg(bg) => begin::run(&client, bg).await,
            Jobs::Ls(ls) => list::run(&client, &ls).await,
            Jobs::Stop(which) => {
                each(&client, &which, Endpoint::JobStop, "stopped", &NoWishes {}).await
            }
            Jobs::Respawn(which) => {
                each(&client, &which, Endpoint::JobRespawn, "started", &NoWishes {}).await
            }
            Jobs::Upgrade(which) => {
                let body = UpgradeJob { program: env::own_program()? };
                each(&client, &which, Endpoint::JobUpgrade, "upgraded", &body).await
            }
            Jobs::Rm(rm) => remove::run(&client, &rm).await,
            Jobs::Detach { job } => {
                let _: Done = order(&client, Endpoint::JobDetach, &job, &NoWishes {}).await?;
                Ok(say(&format!("detached · {job}")))
            }
            Jobs::Send { job, text, no_enter } => {
                let mut text = text.join(" ");
                if !no_enter {
                    text.push('\r');
                }
                let _: Done = order(&client, Endpoint::JobSend, &job, &SendText { text }).await?;
                Ok(ExitCode::from(exit::OK))
            }
            Jobs::Explain { job, json } => explain(&client, &job, json.json).await,
            Jobs::Rename { job, name } => {
                let body = RenameJob { name: name.join(" ") };
                let row: JobRow = order(&client, Endpoint::JobRename, &job, &body).await?;
                Ok(say(&format!("renamed · {} · {}", row.id, clean::clean_line(&row.name))))
            }
            Jobs::Pin { job, off } => {
                let body = PinJob { pinned: !off };
                let row: JobRow = order(&client, Endpoint::JobPin, &job, &body).await?;
                let word = if row.pinned { "pinned" } else { "no longer pinned" };
                Ok(say(&format!("{word} · {} · {}", row.id, clean::clean_line(&row.name))))
            }
            Jobs::Wait(wait) => wait::run(&client, &wait).await,
        }
    })
}

/// Finds the files of the job that a text means. A whole id needs no daemon to be understood, since
/// looking at a job should not wait for one.
pub(crate) fn files_of(text: &str) -> anyhow::Result<JobFiles> {
    let paths = env::paths()?;
    let files = |id: &JobId| JobFiles::new(&paths.home, &paths.runtime, id);
    if let Ok(id) = text.parse::<JobId>()
        && files(&id).exists()
    {
        return Ok(files(&id).located());
    }
    super::block_on(async {
        let client = client::connect(&paths).await?;
        let row = show(&client, text).await?;
        let id: JobId = row
            .id
            .parse()
            .map_err(|bad: BadJobId| Failure::not_started("answer_malformed", bad.to_string()))?;
        Ok(files(&id).located())
    })
}

/// Tells why a job is as it is.
async fn explain(client: &Client, job: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let answer = client.json::<(), Value>(Endpoint::JobExplain, Target::of(job), None).await;
    let told = answer.map_err(|error| named(job, error))?;
    if as_json {
        return Ok(print::json(&told));
    }
    let explanation: arbiter::Explanation = serde_json::from_value(told)?;
    Ok(print::out(&clean::clean(&explanation.to_string())))
}

/// Asks for an operation on the job that a text means.
pub(crate) async fn order<B: Serialize + Sync, A: DeserializeOwned>(
    client: &Client,
    endpoint: Endpoint,
    job: &str,
    body: &B,
) -> Result<A, Failure> {
    if job.is_empty() {
        return Err(Failure::not_started("usage", "no job is named").with_hint("stead ls"));
    }
    let answer = client.json(endpoint, Target::of(job), Some(body)).await;
    answer.map_err(|error| named(job, error))
}

/// Shows the job that a text means.
pub(crate) async fn show(client: &Client, job: &str) -> Result<JobRow, Failure> {
    if job.is_empty() {
        return Err(Failure::not_started("usage", "no job is named").with_hint("stead ls"));
    }
    let answer = client.json::<(), _>(Endpoint::JobShow, Target::of(job), None).await;
    answer.map_err(|error| named(job, error))
}

/// Shows the job, or else the session, that a text means.
pub(crate) async fn show_any(client: &Client, text: &str) -> Result<JobRow, Failure> {
    let no_job = match show(client, text).await {
        Err(failure) if failure.code == "job_not_found" => failure,
        other => return other,
    };
    let session = match resolve::session(client, text).await {
        Ok(session) => session,
        Err(failure) if failure.code == "session_not_found" => return Err(no_job),
        Err(failure) => return Err(failure),
    };
    let target = Target { parameter: "", query: "all=true" };
    let rows = client.json::<(), Vec<JobRow>>(Endpoint::JobList, target, None).await;
    let rows = rows.map_err(Failure::from)?;
    rows.into_iter().find(|row| row.id == session.id).ok_or(no_job)
}

/// Says what a text could have meant.
fn named(job: &str, error: ClientError) -> Failure {
    let ClientError::Problem(problem) = error else { return error.into() };
    if problem.code != "ambiguous" {
        return (*problem).into();
    }
    let lines: Vec<String> =
        problem.candidates.iter().map(|line| clean::clean_line(line)).collect();
    let message = format!("{job:?} could be several jobs");
    Failure { message, hint: Some(lines.join("\n")), ..(*problem).into() }
}

/// Does one thing to each of some jobs, and goes on where one of them cannot.
async fn each<B: Serialize + Sync>(
    client: &Client,
    which: &Which,
    endpoint: Endpoint,
    done: &str,
    body: &B,
) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::from(exit::OK);
    let mut rows: Vec<JobRow> = Vec::new();
    for job in &which.jobs {
        match order::<_, JobRow>(client, endpoint, job, body).await {
            Err(failure) if failure.code == "job_not_found" && endpoint == Endpoint::JobStop => {
                if let Err(error) = stop_session(client, job, failure).await {
                    code = exit::report(&error.into());
                }
            }
            Ok(row) => {
                if !which.json.json {
                    say(&format!("{done} · {} · {}", row.id, clean::clean_line(&row.name)));
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

/// Ends the live run of the session that a text means, where it means no job.
async fn stop_session(client: &Client, text: &str, no_job: Failure) -> Result<(), Failure> {
    let row = match resolve::session(client, text).await {
        Ok(row) => row,
        Err(failure) if failure.code == "session_not_found" => return Err(no_job),
        Err(failure) => return Err(failure),
    };
    let body = AbortRequest { session_id: row.id.clone() };
    let target = Target::default();
    let done = client.json::<_, Done>(Endpoint::AgentAbort, target, Some(&body)).await;
    done.map_err(Failure::from)?;
    let title = clean::clean_line(&row.title);
    say(&format!("stopped · {} · {title}", print::words::short_id(&row.id)));
    Ok(())
}

fn say(line: &str) -> ExitCode {
    print::err(&format!("{line}\n"));
    ExitCode::from(exit::OK)
}
