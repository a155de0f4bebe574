//! The daemon's role, and the commands about it.

mod chores;
mod serve;
mod status;
mod tail;

use std::process::ExitCode;

use api::{agent::Done, client::Target, daemon::StopRequest, routes::Endpoint};

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
        Daemon::Stop { keep_jobs } => super::block_on(async {
            let client::Found::Alive(client, registration) = client::find(&paths).await? else {
                print::err("stead: no daemon is running\n");
                if let Some(pid) = client::unregistered(&paths).await {
                    print::err(&format!(
                        "  hint: the daemon of another state directory, or of one that was removed, \
                         answers at {}: pid {pid}\n",
                        paths.socket().display()
                    ));
                }
                return Ok(ExitCode::from(exit::OK));
            };
            let ended = status::watch_end(registration.pid);
            let body = StopRequest { keep_jobs: *keep_jobs };
            client
                .json::<_, Done>(Endpoint::DaemonStop, Target::default(), Some(&body))
                .await
                .map_err(vocab::outcome::Failure::from)?;
            ended.await?;
            print::err("stead: the daemon has stopped\n");
            Ok(ExitCode::from(exit::OK))
        }),
    }
}
