//! Telling a person that something needs them, or is over: a program of theirs, and the desktop's own way.
//!
//! It listens to facts, so that each change is told once, whoever looked meanwhile. What is told is said one
//! after the other; where too much waits, the oldest is left out. Not here: when something is blocked, done
//! or failed.

use std::{
    collections::{HashMap, VecDeque},
    ffi::OsString,
    sync::Arc,
    time::Duration,
};

use daemon::{host::Daemon, hub::Subscription, roster::Wanted};
use rustix::fs::{Mode, OFlags};
use sandbox::{Cancel, Environment, Host as Machine, Plan, Policy, Scope};
use tokio::sync::mpsc;
use vocab::{
    fact::{Event, JobFact, RunFact},
    ids::RunId,
    job::JobState,
    limits::{NOTIFY_KEPT_MAX, NOTIFY_MS_MAX, NOTIFY_WAITING_MAX},
    message::RunEnd,
    outcome::Failure,
};

use crate::config::{self, NotifyEntry};

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
struct News {
    kind: &'static str,
    id: String,
    state: JobState,
    waiting_for: Option<String>,
}

/// The states that were told last, so that an end that was announced is not told again.
#[derive(Debug, Default)]
struct Told {
    states: HashMap<String, JobState>,
    order: VecDeque<String>,
}

impl Told {
    /// Tells whether this is another state than the one before, and keeps it.
    fn is_new(&mut self, id: &str, state: JobState) -> bool {
        if let Some(before) = self.states.get_mut(id) {
            return std::mem::replace(before, state) != state;
        }
        self.states.insert(id.to_owned(), state);
        self.order.push_back(id.to_owned());
        if NOTIFY_KEPT_MAX < self.order.len()
            && let Some(oldest) = self.order.pop_front()
        {
            self.states.remove(&oldest);
        }
        true
    }
}

/// Tells what happens until the daemon ends. What is configured is read for each piece of news.
/// `heard` listens since before anything could happen.
pub(crate) async fn follow(
    daemon: Arc<Daemon>,
    environment: Vec<(OsString, OsString)>,
    mut heard: Subscription,
) {
    let (sender, waiting) = mpsc::channel(NOTIFY_WAITING_MAX);
    tokio::spawn(speak(Arc::clone(&daemon), environment, waiting));
    let mut told = Told::default();
    loop {
        while let Some(event) = next(&mut heard).await {
            let Some(news) = news_of(&event) else { continue };
            let is_new = told.is_new(&news.id, news.state);
            let is_told =
                matches!(news.state, JobState::Blocked | JobState::Done | JobState::Failed);
            if is_new && is_told && sender.try_send(news).is_err() {
                tracing::warn!("too many notifications wait; one was left out");
            }
        }
        // One that has fallen behind begins anew: what is long past is no news.
        let Ok(again) = daemon.hub.subscribe_after(None).await else { return };
        heard = again;
    }
}

async fn next(heard: &mut Subscription) -> Option<Event> {
    heard.next().await.ok()?
}

/// Reads what a fact says that somebody may want to hear.
fn news_of(event: &Event) -> Option<News> {
    let body = || event.body.clone();
    if event.subject == "job" {
        let (job, state, waiting_for) = match serde_json::from_value(body()).ok()? {
            JobFact::JobStarted { job } => (job, JobState::Working, None),
            JobFact::JobChanged { job, state, waiting_for } => (job, state, waiting_for),
            JobFact::JobEnded { job, state } => (job, state, None),
            JobFact::JobEdited { .. } | JobFact::JobRemoved { .. } => return None,
        };
        return Some(News { kind: "job", id: job.to_string(), state, waiting_for });
    }
    if event.subject != "run" {
        return None;
    }
    let id = event.session.as_ref()?.to_string();
    let state = match serde_json::from_value(body()).ok()? {
        RunFact::RunStarted { .. } | RunFact::RunResumed { .. } => JobState::Working,
        RunFact::RunBlocked { .. } => JobState::Blocked,
        RunFact::RunEnded { run: RunId { .. }, end } => match end {
            RunEnd::Finished => JobState::Done,
            RunEnd::Aborted => JobState::Stopped,
            RunEnd::Failed { .. } | RunEnd::Interrupted | RunEnd::StepLimit { .. } => {
                JobState::Failed
            }
        },
        RunFact::StepEnded { .. }
        | RunFact::CallStarted { .. }
        | RunFact::CallEnded { .. }
        | RunFact::BlockAnswered { .. }
        | RunFact::StepRetried { .. } => return None,
    };
    let waiting_for = (state == JobState::Blocked).then(|| "an answer".to_owned());
    Some(News { kind: "session", id, state, waiting_for })
}

/// Says one piece of news after the other.
async fn speak(
    daemon: Arc<Daemon>,
    environment: Vec<(OsString, OsString)>,
    mut waiting: mpsc::Receiver<News>,
) {
    while let Some(news) = waiting.recv().await {
        let wishes = match config::load(&daemon.paths) {
            Ok(config) => config.notify,
            Err(failure) => {
                tracing::warn!(code = failure.code, "no notification: the configuration");
                continue;
            }
        };
        if !wishes.wants(news.state) || (wishes.command.is_empty() && !wishes.desktop) {
            continue;
        }
        let (name, cwd) = described(&daemon, &news).await;
        let news = asked(&daemon, news).await;
        let commands = commands(&wishes, &news, &name);
        let variables = variables(&environment, &news, &name, &cwd);
        for command in commands {
            let variables = variables.clone();
            let run = tokio::task::spawn_blocking(move || run(&command, &variables));
            if let Ok(Err(failure)) = run.await {
                tracing::warn!(code = failure.code, why = failure.message, "a notification failed");
            }
        }
    }
}

/// Puts the call into news that a session asks for.
async fn asked(daemon: &Daemon, news: News) -> News {
    if news.kind != "session" || news.state != JobState::Blocked {
        return news;
    }
    let rows = daemon.rows(&Wanted::default()).await.unwrap_or_default();
    let row = rows.into_iter().find(|row| row.id == news.id);
    let waiting_for = row.and_then(|row| row.condition.waiting_for).or(news.waiting_for);
    News { waiting_for, ..news }
}

/// Returns what it is called and where it works.
async fn described(daemon: &Daemon, news: &News) -> (String, String) {
    if let Ok(job) = news.id.parse()
        && let Ok(row) = daemon.jobs.row(&job).await
    {
        return (row.name, row.cwd.to_string_lossy().into_owned());
    }
    let Ok(id) = news.id.parse() else { return (news.id.clone(), String::new()) };
    match daemon.store.session(&id).await {
        Ok(session) => (session.title, session.place.cwd.unwrap_or_default()),
        Err(_) => (news.id.clone(), String::new()),
    }
}

/// Returns the commands that tell it.
fn commands(wishes: &NotifyEntry, news: &News, name: &str) -> Vec<Vec<OsString>> {
    let mut commands = Vec::new();
    if !wishes.command.is_empty() {
        commands.push(wishes.command.iter().map(OsString::from).collect());
    }
    if wishes.desktop {
        let what = match &news.waiting_for {
            Some(what) if news.kind == "session" => format!("waits: {what}"),
            Some(what) => format!("waits for {what}"),
            None => news.state.to_string(),
        };
        let urgency = if news.state == JobState::Done { "normal" } else { "critical" };
        let words = ["notify-send", "--app-name=Stead", "--urgency", urgency, "--", name, &what];
        commands.push(words.iter().map(OsString::from).collect());
    }
    commands
}

fn variables(
    environment: &[(OsString, OsString)],
    news: &News,
    name: &str,
    cwd: &str,
) -> Environment {
    let session = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY"];
    let session: Vec<OsString> = session.iter().map(OsString::from).collect();
    let mut built = Environment::for_tools(environment, &session);
    let waiting_for = news.waiting_for.as_deref().unwrap_or_default();
    for (variable, value) in [
        ("STEAD_NOTIFY_KIND", news.kind),
        ("STEAD_NOTIFY_ID", &news.id),
        ("STEAD_NOTIFY_NAME", name),
        ("STEAD_NOTIFY_STATE", news.state.as_str()),
        ("STEAD_NOTIFY_WAITING_FOR", waiting_for),
        ("STEAD_NOTIFY_CWD", cwd),
    ] {
        // A name that the system cannot carry is left out; the id is always there.
        built.set(variable, value).ok();
    }
    built
}

fn run(command: &[OsString], variables: &Environment) -> Result<(), Failure> {
    let Some((program, args)) = command.split_first() else { return Ok(()) };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open("/", flags, Mode::empty())
        .map_err(|errno| Failure::not_started("io", errno.to_string()))?;
    let policy = Policy::new(program, root, variables.clone())
        .args(args)
        .timeout(Duration::from_millis(NOTIFY_MS_MAX));
    let plan = Plan::realize(policy, &Machine::probe())?;
    let scope = Scope::open(&RunId::generate().to_string());
    let cancel = Cancel::new().map_err(|error| Failure::not_started("io", error.to_string()))?;
    let ended = scope.run(&plan, &mut |_| {}, &cancel);
    scope.end(Duration::ZERO);
    ended.map(drop).map_err(|error| Failure::not_started(error.code(), error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(subject: &str, body: serde_json::Value) -> Event {
        Event {
            cursor: "s.1".into(),
            seq: 1,
            at: String::new(),
            subject: subject.into(),
            session: (subject == "run").then(vocab::ids::SessionId::generate),
            body,
        }
    }

    #[test]
    fn what_needs_somebody_is_told_once_per_edge() {
        let mut told = Told::default();
        let mut check = |state: JobState, is_new: bool| {
            assert_eq!(told.is_new("a", state), is_new, "{state}");
        };
        check(JobState::Working, true);
        check(JobState::Blocked, true);
        check(JobState::Blocked, false);
        check(JobState::Working, true);
        check(JobState::Done, true);
        // Its turn had ended, and now its program has.
        check(JobState::Done, false);
        for n in 0..NOTIFY_KEPT_MAX {
            assert!(told.is_new(&n.to_string(), JobState::Done));
        }
        assert_eq!(told.states.len(), NOTIFY_KEPT_MAX);
        assert!(told.is_new("a", JobState::Done), "what was long ago is forgotten");
    }

    #[test]
    fn facts_of_jobs_and_runs_are_news_alike() {
        let check = |event: Event, expected: Option<(&str, JobState)>| {
            let news = news_of(&event);
            assert_eq!(news.as_ref().map(|news| (news.kind, news.state)), expected, "{event:?}");
        };
        let job = |fact: JobFact| event("job", serde_json::to_value(fact).unwrap());
        let id = vocab::ids::JobId::generate();
        let waiting_for = Some("a permission".to_owned());
        let blocked = JobState::Blocked;
        let fact = JobFact::JobChanged { job: id.clone(), state: blocked, waiting_for };
        check(job(fact), Some(("job", JobState::Blocked)));
        let fact = JobFact::JobEnded { job: id.clone(), state: JobState::Failed };
        check(job(fact), Some(("job", JobState::Failed)));
        check(job(JobFact::JobEdited { job: id }), None);
        let run = |fact: RunFact| event("run", serde_json::to_value(fact).unwrap());
        let id = RunId::generate();
        let ended = |end: RunEnd| run(RunFact::RunEnded { run: id.clone(), end });
        check(ended(RunEnd::Finished), Some(("session", JobState::Done)));
        check(ended(RunEnd::Aborted), Some(("session", JobState::Stopped)));
        check(run(RunFact::RunResumed { run: id.clone() }), Some(("session", JobState::Working)));
        check(run(RunFact::StepEnded { run: id.clone() }), None);
        check(event("weather", json!({"kind": "rain"})), None);
    }
}
