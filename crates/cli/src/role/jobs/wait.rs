//! `stead wait`: until a job is done or waits for somebody. It listens first and looks then, so that no
//! change is missed, and asks nobody twice. It outlives the daemon, as jobs do.

use std::{process::ExitCode, time::Duration};

use api::{
    client::{Client, Target},
    job::JobRow,
    routes::Endpoint,
    sse,
};
use http_body_util::BodyExt as _;
use vocab::{job::JobState, limits::CLIENT_RECONNECTS_MAX, outcome::Failure};

use crate::{
    args::{Until, Wait},
    client, env, exit,
    print::{self, clean},
    role::jobs::{list, show},
};

/// The code when time is over first.
const TIMED_OUT: &str = "wait_timed_out";

pub(super) async fn run(client: &Client, args: &Wait) -> anyhow::Result<ExitCode> {
    let waiting = wait(client, args);
    let row = match args.timeout {
        None => waiting.await?,
        Some(seconds) => match tokio::time::timeout(Duration::from_secs(seconds), waiting).await {
            Ok(row) => row?,
            Err(_) => {
                let why = format!("after {seconds} s it is not so");
                return Err(Failure::not_started(TIMED_OUT, why).into());
            }
        },
    };
    if args.json.json {
        print::json(&row);
    } else {
        let name = clean::clean_line(&row.name);
        let detail = clean::clean_line(&list::detail(&row));
        print::err(&format!("{} · {} · {name} · {detail}\n", row.state, row.id));
    }
    Ok(ExitCode::from(if is_wanted(&row, args.until) { exit::OK } else { exit::FAILED }))
}

/// Waits until the job is as wanted, or has ended otherwise. A daemon that dies or is replaced meanwhile is
/// started as by any other command: jobs outlive it, and so does the wait.
async fn wait(client: &Client, args: &Wait) -> Result<JobRow, Failure> {
    let mut watch = Watch { client: client.clone(), text: args.job.clone(), failures: 0 };
    loop {
        let failure = match watch.until(args.until).await {
            Ok(Some(row)) => return Ok(row),
            Ok(None) => broken(),
            Err(failure) if is_gone(&failure) => failure,
            Err(failure) => return Err(failure),
        };
        watch.reconnect(failure).await?;
    }
}

/// One who waits.
struct Watch {
    client: Client,
    /// What is waited for: as it was typed, and by its id once that is known, since names may change.
    text: String,
    /// Attempts in a row that told nothing.
    failures: u32,
}

impl Watch {
    /// Listens until it is so; none when the stream ended before.
    async fn until(&mut self, until: Until) -> Result<Option<JobRow>, Failure> {
        let told = self.client.events::<()>(Endpoint::Events, Target::default(), None, None).await;
        let mut body = told.map_err(Failure::from)?.into_body();
        let mut row = show(&self.client, &self.text).await?;
        self.text.clone_from(&row.id);
        let mut decoder = sse::Decoder::default();
        while !is_over(&row, until) {
            let Some(Ok(frame)) = body.frame().await else { return Ok(None) };
            self.failures = 0;
            let Ok(data) = frame.into_data() else { continue };
            let mut events = Vec::new();
            if decoder.feed(&data, &mut events).is_err() {
                return Ok(None);
            }
            if events.iter().any(|event| event.data.contains(&row.id)) {
                row = show(&self.client, &row.id).await?;
            }
        }
        Ok(Some(row))
    }

    /// Finds the daemon again, or starts one, with a wait that doubles.
    async fn reconnect(&mut self, mut why: Failure) -> Result<(), Failure> {
        while self.failures < CLIENT_RECONNECTS_MAX {
            if 0 < self.failures {
                tokio::time::sleep(Duration::from_millis(200 << (self.failures - 1))).await;
            }
            self.failures += 1;
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

fn broken() -> Failure {
    let why = "the stream of events broke and did not come back";
    Failure::not_started("connection_broken", why).with_hint("wait again: stead wait")
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
