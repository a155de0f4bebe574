//! The daemon's role, and the commands about it.

mod chores;
mod serve;
mod status;
mod stop;
mod tail;

use std::process::ExitCode;

use api::daemon::StopRequest;

use crate::{args::Daemon, client, env, exit, print};

/// Runs a command about the daemon.
pub(crate) fn run(command: &Daemon) -> anyhow::Result<ExitCode> {
    let paths = env::paths()?;
    match command {
        Daemon::Run { port, detach } => serve::run(paths, port.unwrap_or(0), *detach),
        Daemon::Start(json) => super::block_on(async {
            let (_, registration) = client::start(&paths).await?;
            if json.json {
                return Ok(print::out(&format!("{}\n", serde_json::to_string(&registration)?)));
            }
            let pid = registration.pid;
            print::err(&format!("stead: the daemon runs, pid {pid}, {}\n", registration.socket));
            Ok(ExitCode::from(exit::OK))
        }),
        Daemon::Status(json) => super::block_on(status::show(&paths, json.json)),
        Daemon::Logs { follow, lines } => tail::run(&paths.log(), *lines, *follow),
        Daemon::Stop { keep_jobs, yes } => {
            super::block_on(stop::run(&paths, StopRequest { keep_jobs: *keep_jobs }, *yes))
        }
    }
}
