//! Jobs and sessions in one list, and what can be done with jobs.

use api::{
    agent::Done,
    job::{
        DispatchJob, Exit, JobRow, NoWishes, PinJob, Removed, RenameJob, ReportJob, ResolveJob,
        Resolved, RowKind, Said, Saved, Screen, SendText, UpgradeJob, Worktree,
    },
};
use daemon::{
    jobs::{self, Claim, Dispatch, Removal, Report, TreeWish},
    roster::{Kind, Row, Wanted},
};
use stdx::clock::Timestamp;
use vocab::{
    ids::JobId,
    limits::{ROSTER_AGE_MS, SEND_TEXT_BYTES_MAX},
};

use crate::{
    decode::{self, Query, Text},
    mount::{Ask, Reply},
    refuse::Refused,
    routes::{
        Services,
        which::{self, Which},
    },
};

/// `GET /jobs`
pub(super) async fn list(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let mut query = Query::parse(&ask.query, &["all", "cwd"])?;
    let all = flag(&mut query, "all")?;
    let now = services.daemon.clock.now().as_millis();
    let since = (!all).then(|| Timestamp::from_millis(now - ROSTER_AGE_MS));
    let cwd = query.take("cwd").map(Into::into);
    let rows = services.daemon.rows(&Wanted { since, cwd }).await?;
    Reply::json(&rows.into_iter().map(row).collect::<Vec<_>>())
}

/// `POST /jobs`
pub(super) async fn dispatch(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let body: DispatchJob = ask.json()?;
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let (cwd, session_file) = (text(&body.cwd), body.session_file.as_deref().map(text));
    let branch = body.worktree.as_ref().and_then(|wish| wish.branch.as_deref());
    decode::texts([
        ("cwd", Text::Path, Some(cwd.as_str())),
        ("name", Text::Title, body.name.as_deref()),
        ("session_file", Text::Path, session_file.as_deref()),
        ("origin", Text::Name, body.origin.as_deref()),
        ("worktree.branch", Text::Title, branch),
        ("model", Text::Name, body.model.as_deref()),
        ("thinking", Text::Name, body.thinking.as_deref()),
    ])?;
    let wish = Dispatch {
        name: body.name,
        cwd: body.cwd,
        command: body.command,
        env: body.env,
        env_names: body.env_names,
        session_file: body.session_file,
        worktree: body.worktree.map(|wish| TreeWish { branch: wish.branch }),
        origin: body.origin,
        record: body.record,
        model: body.model,
        thinking: body.thinking,
    };
    let started = services.daemon.jobs.dispatch(&ask.caller, wish).await?;
    Reply::json(&row(started))
}

/// `POST /jobs/resolve`
pub(super) async fn resolve(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let body: ResolveJob = ask.json()?;
    let found = which::find(services, &ask.caller, &body.query).await?;
    Reply::json(&Resolved { id: found.id().to_owned(), kind: kind_of(found.kind()) })
}

/// `GET /jobs/{job}`
pub(super) async fn show(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let found = found(services, ask).await?;
    Reply::json(&row(match &found {
        Which::Job(id) => services.daemon.jobs.row(id).await?,
        Which::Session(id) => services.sessions.listed(&ask.caller, id).await?,
    }))
}

/// `DELETE /jobs/{job}`
pub(super) async fn remove(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let mut query = Query::parse(&ask.query, &["discard"])?;
    let is_given_up = flag(&mut query, "discard")?;
    let how = if is_given_up { Removal::Discarding } else { Removal::Saving };
    // What is said in a session is not deleted on a part of its title.
    let id = job(services, ask, |id| format!("DELETE /sessions/{id}, or: stead sessions rm {id}"));
    let id = id.await?;
    let saved = services.daemon.jobs.remove(&ask.caller, &id, how).await?;
    Reply::json(&Removed { ok: true, saved: saved.into_iter().map(told).collect() })
}

/// `POST /jobs/{job}/stop`
pub(super) async fn stop(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let NoWishes {} = ask.json()?;
    let found = found(services, ask).await?;
    Reply::json(&row(match &found {
        Which::Job(id) => services.daemon.jobs.stop(&ask.caller, id).await?,
        Which::Session(id) => {
            services.sessions.abort(&ask.caller, id).await?;
            services.sessions.listed(&ask.caller, id).await?
        }
    }))
}

/// `POST /jobs/{job}/respawn`
pub(super) async fn respawn(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let NoWishes {} = ask.json()?;
    let id = job(services, ask, |id| format!("stead run -s {id} \"…\" goes on with it")).await?;
    Reply::json(&row(services.daemon.jobs.respawn(&ask.caller, &id).await?))
}

/// `POST /jobs/{job}/send`
pub(super) async fn send(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let SendText { text } = ask.json()?;
    if SEND_TEXT_BYTES_MAX < text.len() {
        let why = format!("text has {} bytes, and at most {SEND_TEXT_BYTES_MAX}", text.len());
        return Err(Refused::new("invalid_field", why).at("text"));
    }
    let id = job(services, ask, |id| {
        format!(
            "POST /agent/run sends a message, POST /agent/answer an answer; or: stead send {id} TEXT"
        )
    });
    let id = id.await?;
    services.daemon.jobs.send(&ask.caller, &id, text).await?;
    Reply::json(&Done { ok: true })
}

/// `POST /jobs/{job}/upgrade`
pub(super) async fn upgrade(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let UpgradeJob { program } = ask.json()?;
    let text = program.to_string_lossy();
    decode::texts([("program", Text::Path, Some(text.as_ref()))])?;
    let id = job(services, ask, |_| "a session goes on as the daemon is replaced".to_owned());
    let id = id.await?;
    services.daemon.jobs.upgrade(&ask.caller, &id, program).await?;
    Reply::json(&row(services.daemon.jobs.row(&id).await?))
}

/// `POST /jobs/{job}/detach`
pub(super) async fn detach(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let NoWishes {} = ask.json()?;
    let id =
        job(services, ask, |id| format!("leave its screen with q; stead stop {id} ends its run"));
    let id = id.await?;
    services.daemon.jobs.detach(&ask.caller, &id).await?;
    Reply::json(&Done { ok: true })
}

/// `POST /jobs/{job}/rename`
pub(super) async fn rename(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let RenameJob { name } = ask.json()?;
    decode::texts([("name", Text::Title, Some(name.as_str()))])?;
    let found = found(services, ask).await?;
    Reply::json(&row(match &found {
        Which::Job(id) => services.daemon.jobs.rename(&ask.caller, id, &name).await?,
        Which::Session(id) => services.sessions.rename(&ask.caller, id, &name).await?,
    }))
}

/// `POST /jobs/{job}/pin`
pub(super) async fn pin(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let PinJob { pinned } = ask.json()?;
    let found = found(services, ask).await?;
    Reply::json(&row(match &found {
        Which::Job(id) => services.daemon.jobs.pin(&ask.caller, id, pinned).await?,
        Which::Session(id) => services.sessions.pin(&ask.caller, id, pinned).await?,
    }))
}

/// `POST /jobs/{job}/report`
pub(super) async fn report(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let ReportJob { state, message, seq, source, token } = ask.json()?;
    decode::texts([
        ("message", Text::Reason, message.as_deref()),
        ("source", Text::Name, source.as_deref()),
        ("token", Text::Name, Some(token.as_str())),
    ])?;
    let said = match state {
        Said::Working => Claim::Working,
        Said::Blocked => Claim::Blocked,
        Said::Idle | Said::Done => Claim::Idle,
    };
    let id = job(services, ask, |_| "the daemon itself knows how a session is".to_owned()).await?;
    let report = Report { said, message, seq, source, token };
    services.daemon.jobs.report(&id, report).await?;
    Reply::json(&Done { ok: true })
}

/// `GET /jobs/{job}/explain`
pub(super) async fn explain(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let found = found(services, ask).await?;
    Ok(Reply::Json(match &found {
        Which::Job(id) => services.daemon.jobs.explain(id).await?.into(),
        Which::Session(id) => services.sessions.explain(&ask.caller, id).await?.into(),
    }))
}

/// `GET /jobs/{job}/screen`
pub(super) async fn screen(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let id = job(services, ask, |id| format!("GET /sessions/{id}/messages, or: stead logs {id}"));
    let id = id.await?;
    let text = services.daemon.jobs.screen(&id).await?;
    Reply::json(&Screen { text })
}

async fn found(services: &Services, ask: &Ask) -> Result<Which, Refused> {
    which::find(services, &ask.caller, &ask.parameter).await
}

async fn job(
    services: &Services,
    ask: &Ask,
    instead: impl FnOnce(&str) -> String,
) -> Result<JobId, Refused> {
    which::job(services, (&ask.caller, &ask.parameter), instead).await
}

fn kind_of(kind: Kind) -> RowKind {
    match kind {
        Kind::Job => RowKind::Job,
        Kind::Session => RowKind::Session,
    }
}

/// Reads a wish of a query that is there or not.
fn flag(query: &mut Query, name: &'static str) -> Result<bool, Refused> {
    match query.take(name).as_deref() {
        None | Some("false") => Ok(false),
        Some("" | "true") => Ok(true),
        Some(_) => Err(Refused::new("invalid_query", format!("{name} is true or false")).at(name)),
    }
}

fn told(saved: jobs::Saved) -> Saved {
    let jobs::Saved { reference, repository, command } = saved;
    Saved { reference, repository: repository.to_string_lossy().into_owned(), command }
}

/// Writes a row.
pub(super) fn row(row: Row) -> JobRow {
    let is_session = row.kind == Kind::Session;
    JobRow {
        session: is_session.then(|| row.id.clone()),
        id: row.id,
        kind: if is_session { RowKind::Session } else { RowKind::Job },
        name: row.name,
        cwd: row.cwd.to_string_lossy().into_owned(),
        command: row.program.command,
        state: row.condition.state,
        status: row.condition.status,
        state_source: row.condition.source,
        waiting_for: row.condition.waiting_for,
        failure: row.condition.failure,
        pid: row.program.pid,
        host_version: row
            .program
            .host_version
            .filter(|version| version != env!("CARGO_PKG_VERSION")),
        pinned: row.pinned,
        started_at: row.started_at.to_string(),
        ended_at: row.ended_at.map(|at| at.to_string()),
        session_file: row.program.session_file.map(|path| path.to_string_lossy().into_owned()),
        worktree: row.program.worktree.map(|tree| Worktree {
            path: tree.path.to_string_lossy().into_owned(),
            branch: tree.branch,
            repository: tree.repository.to_string_lossy().into_owned(),
        }),
        env_names: row.program.env_names,
        exit: row.program.exit.map(|exit| Exit {
            code: exit.code,
            signal: exit.signal,
            at: exit.at.to_string(),
        }),
    }
}
