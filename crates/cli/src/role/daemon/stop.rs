//! `stead daemon stop`: what ends with it is counted and said before, and asked about where somebody can be asked.
//!
//! Without a terminal nothing is asked: scripts that stop a daemon mean it.

use std::process::ExitCode;

use api::{
    agent::Done,
    client::{Client, ClientError, Target},
    daemon::{Status, StopRequest},
    routes::Endpoint,
};
use daemon::paths::Paths;
use pty::job::{JobFiles, jobs_dir};
use stdx::state_file;
use vocab::{ids::JobId, limits::JOBS_MAX, outcome::Failure};

use super::status;
use crate::{
    client, exit, print,
    role::{run::ask, sessions::can_ask},
};

/// What is asked where a daemon runs.
const QUESTION: &str = "Stop the daemon?";

/// What is alive in a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Alive {
    jobs: u64,
    runs: u64,
}

/// Stops the daemon, and waits for its end.
pub(super) async fn run(
    paths: &Paths,
    wish: StopRequest,
    agreed: bool,
) -> anyhow::Result<ExitCode> {
    let client::Found::Alive(client, registration) = client::find(paths).await? else {
        return nobody(paths, wish, agreed).await;
    };
    let alive = alive(&client).await;
    let Some(keep_jobs) = agreement(alive, wish, (agreed, QUESTION)).await else {
        print::err("stead: the daemon goes on\n");
        return Ok(ExitCode::from(exit::REFUSED));
    };
    end(&client, registration.pid, keep_jobs).await?;
    let what = alive.map_or_else(String::new, |alive| alive.told(keep_jobs));
    print::err(&format!("stead: the daemon has stopped{what}\n"));
    Ok(ExitCode::from(exit::OK))
}

/// Finds out whether jobs are to be kept, by asking where something ends and somebody can be asked; none where
/// nothing is to be done.
async fn agreement(
    alive: Option<Alive>,
    wish: StopRequest,
    (agreed, question): (bool, &str),
) -> Option<bool> {
    let keeps_jobs = wish.keep_jobs;
    if agreed || !can_ask() || !alive.is_some_and(|alive| alive.ends(keeps_jobs)) {
        return Some(keeps_jobs);
    }
    match asked(alive, keeps_jobs, question).await {
        Wish::All => Some(keeps_jobs),
        Wish::KeepJobs => Some(true),
        Wish::Nothing => None,
    }
}

/// Ends a daemon, and waits for that.
async fn end(client: &Client, pid: u32, keep_jobs: bool) -> Result<(), Failure> {
    let ended = status::watch_end(pid);
    let body = StopRequest { keep_jobs };
    match client.json::<_, Done>(Endpoint::DaemonStop, Target::default(), Some(&body)).await {
        // It ends already, because somebody else stopped it; its end is waited for all the same.
        Ok(_) | Err(ClientError::Unreachable(_) | ClientError::Broken(_)) => {}
        Err(error) => return Err(Failure::from(error)),
    }
    ended.await
}

/// Says that there is no daemon to be stopped. Jobs that it has left run on all the same: whoever stops what Stead
/// runs means them too, and a daemon that is started for it finds and ends them.
async fn nobody(paths: &Paths, wish: StopRequest, agreed: bool) -> anyhow::Result<ExitCode> {
    if let Some(busy) = client::checking(paths) {
        return Err(busy.into());
    }
    let alive = Alive { jobs: hosted(paths), runs: 0 };
    if 0 < alive.jobs {
        let question = "No daemon is running. End what runs without it?";
        let Some(keep_jobs) = agreement(Some(alive), wish, (agreed, question)).await else {
            print::err("stead: the jobs go on\n");
            return Ok(ExitCode::from(exit::REFUSED));
        };
        if !keep_jobs {
            let (client, registration) = client::start(paths).await?;
            end(&client, registration.pid, keep_jobs).await?;
        }
        let what = Alive::counted(alive.jobs, "job").unwrap_or_default();
        let word = if keep_jobs { "kept" } else { "ended" };
        print::err(&format!("stead: no daemon was running; {what} {word}\n"));
        return Ok(ExitCode::from(exit::OK));
    }
    print::err("stead: no daemon is running\n");
    if let Some(pid) = client::answering(paths).await {
        print::err(&format!(
            "  hint: the daemon of another state directory, or of one that was removed, \
             answers at {}: pid {pid}\n",
            paths.socket().display()
        ));
    }
    Ok(ExitCode::from(exit::OK))
}

/// Counts the jobs that run, by their files: there is nobody else to be asked.
fn hosted(paths: &Paths) -> u64 {
    let names = state_file::names(&jobs_dir(&paths.home), None, JOBS_MAX).unwrap_or_default();
    let ids = names.iter().filter_map(|name| name.to_str()?.parse::<JobId>().ok());
    let hosted = ids.filter(|id| JobFiles::new(&paths.home, &paths.runtime, id).is_hosted());
    u64::try_from(hosted.count()).unwrap_or(u64::MAX)
}

/// Counts what is alive. A daemon that does not say is stopped all the same.
async fn alive(client: &Client) -> Option<Alive> {
    let asked = client.json::<(), Status>(Endpoint::DaemonStatus, Target::default(), None).await;
    let Status { jobs, sessions, .. } = asked.ok()?;
    Some(Alive { jobs: jobs.live, runs: sessions.live })
}

impl Alive {
    /// Tells whether anything ends with the daemon.
    fn ends(self, keeps_jobs: bool) -> bool {
        0 < self.runs || 0 < self.jobs && !keeps_jobs
    }

    /// Says how much of something there is.
    fn counted(n: u64, what: &str) -> Option<String> {
        let end = if n == 1 { "" } else { "s" };
        (0 < n).then(|| format!("{n} {what}{end}"))
    }

    /// Says what ends.
    fn ending(self, keeps_jobs: bool) -> String {
        let jobs = Self::counted(self.jobs, "job").filter(|_| !keeps_jobs);
        let runs = Self::counted(self.runs, "run");
        jobs.into_iter().chain(runs).collect::<Vec<_>>().join(" and ")
    }

    /// Says what has become of all of it, behind the word that the daemon has stopped.
    fn told(self, keeps_jobs: bool) -> String {
        let ended = Some(self.ending(keeps_jobs)).filter(|ended| !ended.is_empty());
        let kept = Self::counted(self.jobs, "job").filter(|_| keeps_jobs);
        let all =
            [ended.map(|what| format!(", with {what}")), kept.map(|what| format!("; {what} kept"))];
        all.into_iter().flatten().collect()
    }
}

/// What a person wants.
enum Wish {
    All,
    KeepJobs,
    Nothing,
}

async fn asked(alive: Option<Alive>, keeps_jobs: bool, question: &str) -> Wish {
    let Some(alive) = alive else { return Wish::All };
    let offers = 0 < alive.jobs && !keeps_jobs;
    let keep = if offers { ", or [k]eep the jobs" } else { "" };
    let ending = alive.ending(keeps_jobs);
    match ask::word(&format!("This ends {ending}. {question} [y]es, [n]o{keep}: ")).await.as_str() {
        "y" | "yes" => Wish::All,
        "k" | "keep" if offers => Wish::KeepJobs,
        _ => Wish::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_and_what_is_kept_is_said_in_few_words() {
        for (jobs, runs, keeps_jobs, ends, told) in [
            (0, 0, false, false, ""),
            (1, 0, false, true, ", with 1 job"),
            (2, 1, false, true, ", with 2 jobs and 1 run"),
            (2, 0, true, false, "; 2 jobs kept"),
            (1, 3, true, true, ", with 3 runs; 1 job kept"),
        ] {
            let alive = Alive { jobs, runs };
            assert_eq!((alive.ends(keeps_jobs), alive.told(keeps_jobs).as_str()), (ends, told));
        }
    }
}
