//! Following one host: what it tells over its socket, and the end of its process. Nobody polls.

use std::{os::fd::OwnedFd, sync::Arc, time::Duration};

use pty::{
    frame::Kind,
    hello::{self, Control, Reply, State},
    job::Told,
};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use stdx::proc_id::ProcId;
use tokio::io::{Interest, unix::AsyncFd};
use vocab::{
    fact::JobFact,
    ids::JobId,
    limits::{HOST_LINK_RETRY_MS, HOST_LINK_RETRY_MS_MAX},
};

use super::{Care, Jobs, book::Change, link::Link};

/// Follows a host until its job has ended, and writes that down.
pub(super) async fn watch(jobs: Arc<Jobs>, id: JobId, host: ProcId) {
    let end = Handle::of(&host);
    let mut wait = Duration::from_millis(HOST_LINK_RETRY_MS);
    loop {
        if let Ok(link) = jobs.link(&id).await {
            jobs.learn(&id).await;
            // One that lets go at once, since too many are there, is no reason to come back the sooner.
            let is_heard = || wait = Duration::from_millis(HOST_LINK_RETRY_MS);
            tokio::select! {
                () = follow(&jobs, &id, link, is_heard) => {}
                () = end.ended() => {}
            }
        }
        if jobs.has_exit(&id).await || !host.is_alive() {
            break;
        }
        // It lives and cannot be reached: its socket was removed, or it is being upgraded. It makes the
        // socket anew when it is asked to.
        ask_for_socket(&host);
        tokio::select! {
            () = end.ended() => break,
            () = tokio::time::sleep(wait) => {}
        }
        wait = (wait * 2).min(Duration::from_millis(HOST_LINK_RETRY_MS_MAX));
    }
    jobs.finish(&id).await;
}

/// Waits until a process is gone.
pub(super) async fn gone(host: &ProcId) {
    if host.pid != std::process::id() {
        Handle::of(host).ended().await;
    }
}

/// Takes over what a host tells until it lets go. `is_heard` is called once it has told how it is.
async fn follow(jobs: &Jobs, id: &JobId, mut link: Link, mut is_heard: impl FnMut()) {
    while let Some(frame) = link.next().await {
        if frame.kind == Kind::Detached {
            return;
        }
        let state = (frame.kind == Kind::State).then(|| hello::from_json::<State>(&frame.payload));
        if let Some(Ok(state)) = state {
            is_heard();
            jobs.hear(id, state.into()).await;
        }
    }
}

/// Asks a host to make its socket anew. One that does not wait for that yet is about to make it, and would
/// die of the question.
pub(super) fn ask_for_socket(host: &ProcId) {
    let pid = i32::try_from(host.pid).ok().and_then(Pid::from_raw);
    let hears = || host.holds_back(Signal::USR1.as_raw()) && host.pid != std::process::id();
    if let Some(pid) = pid.filter(|_| hears()) {
        // One that went in between has ended, which the handle tells.
        kill_process(pid, Signal::USR1).ok();
    }
}

/// A process whose end can be waited for; none where it is gone already.
struct Handle(Option<AsyncFd<OwnedFd>>);

impl Handle {
    fn of(host: &ProcId) -> Self {
        let pid = i32::try_from(host.pid).ok().and_then(Pid::from_raw);
        let handle = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        // Asked after the handle was taken, so that it is of this process and of no later one.
        let handle = handle.filter(|_| host.is_alive());
        #[expect(deprecated, reason = "what it warns of is no owned descriptor, which this one is")]
        let watched = |handle| AsyncFd::with_interest(handle, Interest::READABLE).ok();
        Self(handle.and_then(watched))
    }

    async fn ended(&self) {
        if let Some(handle) = &self.0 {
            // It can be read once the process has ended, and for ever then.
            handle.readable().await.ok();
        }
    }
}

impl Jobs {
    /// Asks a host what is known only to it.
    pub(super) async fn learn(&self, id: &JobId) {
        if self
            .book()
            .get(id)
            .is_some_and(|entry| entry.note.worker_pid.is_some() && entry.host_version.is_some())
        {
            return;
        }
        let Ok(link) = self.link(id).await else { return };
        if let Ok(Reply::Status(status)) = link.ask(&Control::Status).await {
            self.book().set_host_version(id, Some(status.version));
            self.book().edit(id, |note| note.worker_pid = Some(status.worker_pid));
            self.save_if_possible(id, Care::Crash).await;
        }
    }

    async fn hear(&self, id: &JobId, told: Told) {
        let (state, waiting_for) = (told.state, told.waiting_for.clone());
        let change = self.book().hear(id, told);
        if change != Change::State {
            return;
        }
        let now = self.now();
        self.book().edit(id, |note| note.updated_at = now);
        self.save_if_possible(id, Care::Crash).await;
        self.tell(JobFact::JobChanged { job: id.clone(), state, waiting_for }).await;
    }
}
