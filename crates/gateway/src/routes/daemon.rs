//! The daemon itself: that it lives, how it is, and that it shall end.

#![expect(clippy::disallowed_methods, reason = "reads /proc, which holds no user's file")]

use api::{
    agent::Done,
    daemon::{Count, Hello, Memory, Status, StopRequest, Welcome},
    routes::PROTOCOL,
};

use crate::{
    mount::{Ask, Reply},
    refuse::Refused,
    routes::Services,
};

/// `POST /handshake`
pub(super) fn handshake(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let hello: Hello = ask.json()?;
    if hello.protocol != PROTOCOL {
        tracing::info!(theirs = hello.protocol, "a client speaks another protocol");
    }
    Reply::json(&Welcome {
        protocol: PROTOCOL,
        version: version(services),
        id: services.daemon.id.clone(),
        supports: services.daemon.supports(),
        notices: services.daemon.notices(),
    })
}

/// `GET /daemon/status`
pub(super) async fn status(services: &Services) -> Result<Reply, Refused> {
    let (total, live) = services.sessions.counts().await?;
    let (n_jobs, n_live) = services.daemon.jobs.counts().await;
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    // The kernel walks all our pages for this, which is not for a thread of the runtime.
    let memory = tokio::task::spawn_blocking(memory).await.unwrap_or_default();
    let about = services.about.get();
    Reply::json(&Status {
        pid: std::process::id(),
        version: version(services),
        protocol: PROTOCOL,
        url: about.map(|about| about.url.clone()).unwrap_or_default(),
        socket: services.daemon.paths.socket().display().to_string(),
        started_at: services.daemon.started_at.to_string(),
        sessions: Count { total, live },
        jobs: Count { total: count(n_jobs), live: count(n_live) },
        memory,
    })
}

/// `POST /daemon/stop`
pub(super) async fn stop(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let StopRequest { keep_jobs } = ask.json()?;
    let (jobs, stop) = (services.daemon.jobs.clone(), services.stop.clone());
    // Apart, since it ends the daemon also when whoever has asked does not wait for it.
    let ending = tokio::spawn(async move {
        if !keep_jobs {
            jobs.end_all().await;
        }
        stop.cancel();
    });
    ending.await.ok();
    Reply::json(&Done { ok: true })
}

fn version(services: &Services) -> String {
    let own = env!("CARGO_PKG_VERSION");
    services.about.get().map_or_else(|| own.to_owned(), |about| about.version.clone())
}

/// Reads what the kernel counts for this process; zero where it does not tell.
fn memory() -> Memory {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let bytes = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    };
    Memory { pss: bytes("Pss"), private: bytes("Private_Clean") + bytes("Private_Dirty") }
}
