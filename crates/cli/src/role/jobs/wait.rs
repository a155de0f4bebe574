//! `stead wait`: until a job is done or waits for somebody. It listens first and looks then, so that no
//! change is missed. What could not be stored is told by nobody, so it looks again at each heartbeat as well.
//! It outlives the daemon, as jobs do, and does not wait for one that stays silent.

use std::{process::ExitCode, time::Duration};

use api::{
    client::{Client, Target},
    job::JobRow,
    routes::Endpoint,
    sse::Decoder,
};
use tokio::time::Instant;
use vocab::{
    job::JobState,
    limits::{CLIENT_END_MS_MAX, CLIENT_SILENCE_MS_MAX},
    outcome::Failure,
};

use crate::{
    args::{Until, Wait},
    client::{self, Retry},
    env, exit,
    print::{self, Look, clean, words::quoted},
    role::{
        jobs::{called, id_of, list, show},
        run::follow::Body,
    },
};

/// The code when time is over first. It has an exit code of its own.
const TIMED_OUT: &str = "wait_timed_out";

pub(super) async fn run(client: &Client, args: &Wait) -> anyhow::Result<ExitCode> {
    let mut seen = None;
    let row = match args.timeout {
        None => wait(client, args, &mut seen).await?,
        Some(Duration::ZERO) => {
            let row = show(client, &args.job).await?;
            if !is_over(&row, args.until) {
                let why = format!("it is not {}: {}", word(args.until), how(&row));
                return Err(Failure::not_started(TIMED_OUT, why).into());
            }
            row
        }
        Some(limit) => match tokio::time::timeout(limit, wait(client, args, &mut seen)).await {
            Ok(row) => row?,
            Err(_) => return Err(timed_out(args, limit, seen.as_ref()).into()),
        },
    };
    if args.json.json {
        print::json(&row);
    } else {
        let detail = clean::clean_line(&list::detail(&row));
        let detail = if detail == "-" { String::new() } else { format!(" · {detail}") };
        print::err(&format!("{} · {}{detail}\n", row.state, called(&row)));
    }
    Ok(ExitCode::from(if is_wanted(&row, args.until) { exit::OK } else { exit::FAILED }))
}

/// Says that time is over, and how what was waited for is then.
fn timed_out(args: &Wait, limit: Duration, seen: Option<&JobRow>) -> Failure {
    let (wanted, seconds) = (word(args.until), limit.as_secs_f64());
    let why = match seen {
        Some(row) => format!("after {seconds} s it is not {wanted}: {}", how(row)),
        None => format!("after {seconds} s nobody has said how it is"),
    };
    Failure::not_started(TIMED_OUT, why)
}

/// Says what is waited for, and how it is meanwhile.
fn how(row: &JobRow) -> String {
    let detail = clean::clean_line(&list::detail(row));
    let detail = if detail == "-" { String::new() } else { format!(" ({detail})") };
    format!("{} is {}{detail}", called(row), row.state)
}

/// Returns the word of the state that is waited for.
fn word(until: Until) -> &'static str {
    match until {
        Until::Done => JobState::Done.as_str(),
        Until::Blocked => JobState::Blocked.as_str(),
    }
}

/// Waits until the job is as wanted, or has ended otherwise. A daemon that dies or is replaced meanwhile is
/// started as by any other command: jobs outlive it, and so does the wait.
async fn wait(client: &Client, args: &Wait, seen: &mut Option<JobRow>) -> Result<JobRow, Failure> {
    let mut watch = Watch {
        client: client.clone(),
        text: args.job.clone(),
        retry: Retry::default(),
        ending: Ending::default(),
        seen,
    };
    loop {
        let failure = match watch.until(args.until).await {
            Ok(Some(row)) => return Ok(row),
            Ok(None) => broken(&args.job),
            Err(failure) if is_gone(&failure) => failure,
            Err(failure) => return Err(failure),
        };
        watch.reconnect(failure).await?;
    }
}

/// One who waits.
struct Watch<'a> {
    client: Client,
    /// What is waited for: as it was typed, and by its id once that is known, since names may change.
    text: String,
    /// Attempts in a row that told nothing.
    retry: Retry,
    ending: Ending,
    /// How it was when it was looked at last.
    seen: &'a mut Option<JobRow>,
}

impl Watch<'_> {
    /// Listens until it is so; none when the stream ended before.
    async fn until(&mut self, until: Until) -> Result<Option<JobRow>, Failure> {
        let asked = self.client.events::<()>(Endpoint::Events, Target::default(), None, None);
        let Some(told) = patient(asked).await else { return Ok(None) };
        let mut body = told.map_err(Failure::from)?.into_body();
        let mut decoder = Decoder::default();
        loop {
            let Some(row) = patient(show(&self.client, &self.text)).await else { return Ok(None) };
            let row = row?;
            let left = self.ending.left(&row);
            let is_over = is_over(&row, until);
            if is_over && left.is_none() {
                return Ok(Some(row));
            }
            self.text.clone_from(&row.id);
            self.tell(&row, until);
            let news = news(&mut body, &mut decoder, &self.text, &mut self.retry);
            let is_heard = match left {
                Some(left) => tokio::time::timeout(left, news).await.unwrap_or(true),
                None => news.await,
            };
            if !is_heard {
                // What is over needs no daemon any more.
                return Ok(Some(row).filter(|_| is_over));
            }
        }
    }

    /// Says to a person what is waited for, whenever that is another thing than before.
    fn tell(&mut self, row: &JobRow, until: Until) {
        let is_told = self.seen.as_ref().is_some_and(|seen| how(seen) == how(row));
        if !is_told && Look::of_process().err.terminal {
            let hint = match (row.state, until) {
                (JobState::Blocked, Until::Done) => {
                    format!("; stead attach {} shows what it asks", id_of(row))
                }
                _ => String::new(),
            };
            print::err(&format!("stead: waiting until {} · {}{hint}\n", word(until), how(row)));
        }
        *self.seen = Some(row.clone());
    }

    /// Finds the daemon again, or starts one, with a wait that doubles.
    async fn reconnect(&mut self, mut why: Failure) -> Result<(), Failure> {
        while self.retry.next().await {
            match client::connect(&env::paths()?).await {
                Ok(client) => {
                    self.client = client;
                    return Ok(());
                }
                Err(failure) => why = failure,
            }
        }
        Err(why)
    }
}

/// An end that a host has told, and that is not written down yet: whoever asks next should find how it ended.
#[derive(Default)]
struct Ending(Option<Instant>);

impl Ending {
    /// Returns how long it is still waited for; none when there is nothing to wait for. On a full disk it would be
    /// for ever.
    fn left(&mut self, row: &JobRow) -> Option<Duration> {
        let is_told =
            row.state != JobState::Working && row.state_source.as_deref() == Some("process");
        if !is_told || row.ended_at.is_some() {
            return None;
        }
        let since = *self.0.get_or_insert_with(Instant::now);
        let left = Duration::from_millis(CLIENT_END_MS_MAX).saturating_sub(since.elapsed());
        Some(left).filter(|left| !left.is_zero())
    }
}

/// Waits until the stream tells a reason to look at a row: a fact that names it, or a heartbeat. False when
/// it broke or fell silent. Its first frame comes from every stream, and shows nothing of its worth.
async fn news(body: &mut dyn Body, decoder: &mut Decoder, id: &str, retry: &mut Retry) -> bool {
    loop {
        let Some(Some(bytes)) = patient(body.next()).await else { return false };
        let mut events = Vec::new();
        if decoder.feed(&bytes, &mut events).is_err() {
            return false;
        }
        // A comment of the stream; what is told has no line that begins so.
        let is_heartbeat = bytes.starts_with(b":") || bytes.windows(2).any(|pair| pair == b"\n:");
        let mut facts = events.iter().filter(|event| event.name == "stead-fact").peekable();
        if is_heartbeat || facts.peek().is_some() {
            retry.succeeded();
        }
        if is_heartbeat || facts.any(|fact| fact.data.contains(id)) {
            return true;
        }
    }
}

/// Waits for a daemon as long as one that lives can be silent.
async fn patient<T>(asked: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(CLIENT_SILENCE_MS_MAX), asked).await.ok()
}

fn broken(job: &str) -> Failure {
    let why = "the stream of events broke and did not come back";
    Failure::not_started("connection_broken", why)
        .with_hint(format!("wait again: stead wait {}", quoted(&clean::clean_line(job))))
}

/// Tells whether a failure says of the daemon that it went, and nothing of what was asked.
fn is_gone(failure: &Failure) -> bool {
    matches!(failure.code.as_str(), "connection_broken" | "daemon_unreachable" | "draining")
}

fn is_wanted(row: &JobRow, until: Until) -> bool {
    match until {
        Until::Done => row.state == JobState::Done,
        Until::Blocked => row.state == JobState::Blocked,
    }
}

fn is_over(row: &JobRow, until: Until) -> bool {
    is_wanted(row, until) || row.ended_at.is_some() && row.state != JobState::Working
}

#[cfg(test)]
mod tests;
