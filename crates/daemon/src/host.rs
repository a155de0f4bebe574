//! The daemon as a value: handles, start and drain.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use stdx::clock::{Clock, Timestamp};
use store::Store;
use vocab::{limits::DRAIN_MS_MAX, outcome::Failure};

use crate::{
    hub::Hub,
    jobs::Jobs,
    paths::Paths,
    roster::{Row, Wanted},
    secrets::Secrets,
    workspaces::Workspaces,
};

/// What people must know while nothing can be stored.
const FULL: &str = "the disk is full: jobs are listed, attached to and stopped, and nothing else is written; make \
    room, and the daemon goes on by itself";

/// What they must know where that will not change by itself.
const LOST: &str = "the disk was full and has room again, and nothing is written all the same until the next start";

/// What the daemon hosts. A static list, handed in at composition.
pub trait Tenant: Send + Sync {
    /// Names what it serves, each with a version: `agent@1`.
    fn supports(&self) -> Vec<&'static str>;

    /// Returns its rows of the one list.
    fn rows<'a>(&'a self, wanted: &'a Wanted) -> BoxFuture<'a, Result<Vec<Row>, Failure>>;

    /// Ends its work and waits for the last fact of it.
    fn drain(&self) -> BoxFuture<'_, ()>;
}

/// The daemon: handles only.
pub struct Daemon {
    /// The claim token of this start.
    pub id: String,
    /// Where its files are.
    pub paths: Paths,
    /// What time it is.
    pub clock: Clock,
    /// When it started.
    pub started_at: Timestamp,
    /// The store.
    pub store: Store,
    /// The hub.
    pub hub: Hub,
    /// Keys of providers.
    pub secrets: Secrets,
    /// Open workspaces.
    pub workspaces: Arc<Workspaces>,
    /// Jobs.
    pub jobs: Arc<Jobs>,
    notices: Vec<String>,
    tenants: Vec<Arc<dyn Tenant>>,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What a daemon is made of.
#[derive(Debug)]
pub struct Parts {
    /// Where its files are.
    pub paths: Paths,
    /// What time it is.
    pub clock: Clock,
    /// The store.
    pub store: Store,
    /// The hub.
    pub hub: Hub,
    /// Keys of providers.
    pub secrets: Secrets,
    /// Open workspaces.
    pub workspaces: Arc<Workspaces>,
    /// Jobs.
    pub jobs: Arc<Jobs>,
    /// What people must know of this start.
    pub notices: Vec<String>,
}

impl Daemon {
    /// Puts the parts together with the tenants.
    #[must_use]
    pub fn new(id: String, parts: Parts, tenants: Vec<Arc<dyn Tenant>>) -> Self {
        Self {
            id,
            started_at: parts.clock.now(),
            paths: parts.paths,
            clock: parts.clock,
            store: parts.store,
            hub: parts.hub,
            secrets: parts.secrets,
            workspaces: parts.workspaces,
            jobs: parts.jobs,
            notices: parts.notices,
            tenants,
        }
    }

    /// Names what is served.
    #[must_use]
    pub fn supports(&self) -> Vec<String> {
        let own = ["events@1", "secrets@1", "jobs@1", "daemon@1"].into_iter();
        own.chain(self.tenants.iter().flat_map(|tenant| tenant.supports()))
            .map(str::to_owned)
            .collect()
    }

    /// Says what people must know: of this start, and for as long as it is so.
    #[must_use]
    pub fn notices(&self) -> Vec<String> {
        let full = self.store.is_full().then(|| match self.store.lost() {
            None => FULL.to_owned(),
            Some(why) => format!(
                "{LOST}: {why}; stead daemon stop --keep-jobs, and the next start looks at it"
            ),
        });
        self.notices.iter().cloned().chain(full).collect()
    }

    /// Returns jobs and what tenants have, oldest first.
    ///
    /// # Errors
    /// When a tenant cannot tell.
    pub async fn rows(&self, wanted: &Wanted) -> Result<Vec<Row>, Failure> {
        let mut rows = self.jobs.rows(wanted).await;
        for tenant in &self.tenants {
            rows.extend(tenant.rows(wanted).await?);
        }
        rows.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
        Ok(rows)
    }

    /// Ends everything in order; new requests are refused already. Returns what was given up on.
    pub async fn drain(&self) -> Vec<&'static str> {
        let mut given_up = Vec::new();
        // Those that run go on: whoever wants them ended has done that before.
        self.jobs.close();
        let limit = Duration::from_millis(DRAIN_MS_MAX);
        // Tenants first: cancelled runs still store their last facts and outcomes.
        for tenant in &self.tenants {
            if tokio::time::timeout(limit, tenant.drain()).await.is_err() {
                given_up.push("a tenant's work did not end in time");
            }
        }
        // Then places: what still runs in them is ended, gently and then by force.
        if tokio::time::timeout(limit, self.workspaces.close()).await.is_err() {
            given_up.push("a workspace did not close in time");
        }
        if tokio::time::timeout(limit, self.jobs.tell_the_rest()).await.is_err() {
            given_up.push("facts about jobs were not stored in time");
        }
        // The store last, since everything before may write.
        if self.store.close().await.is_err() {
            given_up.push("the store did not close cleanly");
        }
        given_up
    }
}

#[cfg(test)]
mod tests;
