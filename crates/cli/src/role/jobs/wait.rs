//! `stead wait`: until a job is done or waits for somebody. It listens first and looks then, so that no
//! change is missed, and asks nobody twice.

use std::{process::ExitCode, time::Duration};

use api::{
    client::{Client, Target},
    job::JobRow,
    routes::Endpoint,
    sse,
};
use http_body_util::BodyExt as _;
use vocab::{job::JobState, outcome::Failure};

use crate::{
    args::{Until, Wait},
    exit,
    print::{self, clean},
    role::jobs::{list, show_any},
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

/// Waits until the job is as wanted, or has ended otherwise.
async fn wait(client: &Client, args: &Wait) -> Result<JobRow, Failure> {
    loop {
        let told = client.events::<()>(Endpoint::Events, Target::default(), None, None).await;
        let mut body = told.map_err(Failure::from)?.into_body();
        let mut row = show_any(client, &args.job).await?;
        let mut decoder = sse::Decoder::default();
        while !is_over(&row, args.until) {
            let Some(frame) = body.frame().await else { break };
            // A stream that breaks is begun anew; a daemon that is gone then says so.
            let Ok(frame) = frame else { break };
            let Ok(data) = frame.into_data() else { continue };
            let mut events = Vec::new();
            if decoder.feed(&data, &mut events).is_err() {
                break;
            }
            if events.iter().any(|event| event.data.contains(&row.id)) {
                row = show_any(client, &row.id).await?;
            }
        }
        if is_over(&row, args.until) {
            return Ok(row);
        }
    }
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
