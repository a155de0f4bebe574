//! Which job or session a text means. Both stand in one list, so one text is looked for among both: what
//! fits better goes before what fits less, and among those that fit alike there must be only one.
//!
//! Not here: sessions that are asked for where only sessions can be meant.

use ::daemon::{caller::Caller, jobs, roster::Kind};
use sessions::rows::Fitting;
use vocab::{
    ids::{Fit, JobId, SessionId},
    limits::STORE_CANDIDATES_MAX,
};

use crate::{refuse::Refused, routes::Services};

/// What a text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Which {
    /// A job.
    Job(JobId),
    /// A session.
    Session(SessionId),
}

impl Which {
    /// Returns its id as text.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Job(id) => id.as_str(),
            Self::Session(id) => id.as_str(),
        }
    }

    /// Tells which kind it is.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Job(_) => Kind::Job,
            Self::Session(_) => Kind::Session,
        }
    }
}

/// Finds what a text means.
///
/// # Errors
/// When it means nothing, or several things.
pub(super) async fn find(
    services: &Services,
    caller: &Caller,
    text: &str,
) -> Result<Which, Refused> {
    // A whole id is nobody else's, and needs no search: lists ask for each row by its id.
    if let Ok(id) = text.parse::<JobId>()
        && services.daemon.jobs.row(&id).await.is_ok()
    {
        return Ok(Which::Job(id));
    }
    let jobs = services.daemon.jobs.fitting(text).await;
    let sessions = services.sessions.fitting(caller, text).await?;
    let fit = [jobs.as_ref().map(|jobs| jobs.fit), sessions.as_ref().map(|these| these.fit)];
    let best = fit.into_iter().flatten().min();
    let of_jobs = jobs.filter(|jobs| Some(jobs.fit) == best).map_or_else(Vec::new, rows_of_jobs);
    let of_sessions = sessions.filter(|these| Some(these.fit) == best);
    let mut unnamed = of_sessions.as_ref().map_or(0, |these| these.more);
    let mut of_sessions = of_sessions.map_or_else(Vec::new, rows_of_sessions);
    if of_jobs.len() == 1 && best == Some(Fit::Part) {
        // Titles are long, and nearly every short word stands in one: a job is what is meant then.
        of_sessions.retain(|(which, _)| is_part_of_id(text, which.id()));
        unnamed = if of_sessions.is_empty() { 0 } else { unnamed };
    }
    let mut all: Vec<(Which, String)> = of_jobs.into_iter().chain(of_sessions).collect();
    match all.pop() {
        None => Err(nothing(text)),
        Some((one, _)) if all.is_empty() => Ok(one),
        Some(last) => {
            all.push(last);
            Err(several(&all, unnamed))
        }
    }
}

/// Tells whether a text begins or ends an id.
fn is_part_of_id(text: &str, id: &str) -> bool {
    let lower = text.to_lowercase();
    let bare = id.split_once('_').map_or(id, |(_, bare)| bare);
    id.starts_with(&lower) || bare.starts_with(&lower) || bare.ends_with(&lower)
}

/// Says what a text could mean: so many as help a person, and how many more there are.
fn several(all: &[(Which, String)], unnamed: usize) -> Refused {
    let named = all.iter().take(STORE_CANDIDATES_MAX);
    let named: Vec<String> = named.map(|(which, name)| candidate(which, name)).collect();
    let mut what = match all.iter().map(|(which, _)| which.kind()).collect::<Vec<_>>() {
        kinds if !kinds.contains(&Kind::Session) => "several jobs match",
        kinds if !kinds.contains(&Kind::Job) => "several sessions match",
        _ => "several jobs and sessions match",
    }
    .to_owned();
    let more = all.len() - named.len() + unnamed;
    if 0 < more {
        what.push_str(&format!(", {more} more than are listed"));
    }
    Refused::new("ambiguous", what).meaning(named)
}

/// Finds the job that a text means, for what sessions have no form of.
///
/// # Errors
/// As [`find`], and when it means a session: then `instead` says what can be done with one.
pub(super) async fn job(
    services: &Services,
    (caller, text): (&Caller, &str),
    instead: impl FnOnce(&str) -> String,
) -> Result<JobId, Refused> {
    match find(services, caller, text).await? {
        Which::Job(id) => Ok(id),
        Which::Session(id) => {
            let why = format!("{id} is a session, and only a job has a terminal");
            Err(Refused::new("is_a_session", why).with_hint(instead(id.as_str())))
        }
    }
}

fn rows_of_jobs(fitting: jobs::Fitting) -> Vec<(Which, String)> {
    fitting.jobs.into_iter().map(|(id, name)| (Which::Job(id), name)).collect()
}

fn rows_of_sessions(fitting: Fitting) -> Vec<(Which, String)> {
    fitting.sessions.into_iter().map(|row| (Which::Session(row.id), row.title)).collect()
}

/// Writes one of several that could be meant: what it can be named by, its kind, its name.
fn candidate(which: &Which, name: &str) -> String {
    let kind = match which.kind() {
        Kind::Job => "job",
        Kind::Session => "session",
    };
    format!("{} {kind} {name}", which.id())
}

fn nothing(text: &str) -> Refused {
    let shown: String = text.chars().take(80).collect();
    Refused::new("job_not_found", format!("there is no job and no session {shown:?}"))
        .with_hint("stead ls --all shows what there is")
}
