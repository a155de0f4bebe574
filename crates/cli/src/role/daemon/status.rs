//! How the daemon is, and waiting for its end.

use std::{process::ExitCode, time::Duration};

use api::{client::Target, daemon::Status, routes::Endpoint};
use daemon::paths::Paths;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use vocab::{
    limits::DRAIN_MS_MAX,
    outcome::{Effect, Failure},
};

use crate::{client, exit, print};

/// Prints how the daemon is. Exit code 5 when there is none.
pub(crate) async fn show(paths: &Paths, json: bool) -> anyhow::Result<ExitCode> {
    let (client, _) = client::connect_if_running(paths).await?;
    let status: Status = client
        .json::<(), _>(Endpoint::DaemonStatus, Target::default(), None)
        .await
        .map_err(Failure::from)?;
    if json {
        return Ok(print::out(&format!("{}\n", serde_json::to_string(&status)?)));
    }
    let mib = |bytes: u64| format!("{}.{} MiB", bytes >> 20, ((bytes & 0xF_FFFF) * 10) >> 20);
    let rows = [
        ("pid", status.pid.to_string()),
        ("version", format!("{} (protocol {})", status.version, status.protocol)),
        ("started", status.started_at),
        ("socket", status.socket),
        ("url", status.url),
        ("sessions", format!("{} stored, {} at work", status.sessions.total, status.sessions.live)),
        ("jobs", format!("{} kept, {} running", status.jobs.total, status.jobs.live)),
        (
            "memory",
            format!("{} PSS, {} private", mib(status.memory.pss), mib(status.memory.private)),
        ),
    ];
    let text: String = rows.iter().map(|(name, value)| format!("{name:<10}{value}\n")).collect();
    print::out(&text);
    Ok(ExitCode::from(exit::OK))
}

/// Returns what waits until a process ends; the handle is taken now, before it can end.
pub(crate) fn watch_end(pid: u32) -> impl Future<Output = Result<(), Failure>> + use<> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let handle = raw.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    async move {
        // No handle: it is gone already.
        let Some(handle) = handle else { return Ok(()) };
        // Every stage of the drain is bounded by the same limit; there are four of them.
        let limit = Duration::from_millis(DRAIN_MS_MAX * 4);
        let waited = tokio::task::spawn_blocking(move || {
            let mut fds = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
            let timeout = rustix::event::Timespec::try_from(limit).ok();
            rustix::event::poll(&mut fds, timeout.as_ref())
        });
        match waited.await {
            Ok(Ok(n)) if n > 0 => Ok(()),
            _ => Err(Failure::new(
                "daemon_still_draining",
                Effect::Indeterminate,
                format!("the daemon, pid {pid}, still ends its work"),
            )),
        }
    }
}
