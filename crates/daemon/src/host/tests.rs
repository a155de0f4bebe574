//! The way down, with tenants that end and one that does not.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use pty::job::JobFiles;
use stdx::proc_id::ProcId;
use store::Options;
use tokio::time::Instant;
use vocab::ids::JobId;
use workspace::source::OwnedWorkspace;

use super::*;
use crate::{
    jobs::{self, Launcher},
    roster::{Condition, Kind, Program},
    secrets,
    workspaces::{Openings, Registered},
};

struct Nowhere;

impl Openings for Nowhere {
    fn open_local(
        &self,
        _path: PathBuf,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>> {
        Box::pin(async { Err(Failure::not_started("workspace_not_found", "there is none")) })
    }

    fn registered(&self) -> Result<Vec<Registered>, Failure> {
        Ok(Vec::new())
    }
}

impl Launcher for Nowhere {
    fn launch(&self, _files: JobFiles) -> BoxFuture<'static, Result<ProcId, Failure>> {
        Box::pin(async { Err(Failure::not_started("host_failed", "there is none")) })
    }

    fn end_leftovers(&self, _job: &JobId) {}
}

/// A tenant whose work never ends.
struct Endless;

impl Tenant for Endless {
    fn supports(&self) -> Vec<&'static str> {
        vec!["endless@1"]
    }

    fn rows<'a>(&'a self, _wanted: &'a Wanted) -> BoxFuture<'a, Result<Vec<Row>, Failure>> {
        Box::pin(async { Err(Failure::not_started("store_busy", "it cannot tell")) })
    }

    fn drain(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// A tenant that ends, and tells that it was asked to.
#[derive(Default)]
struct Prompt(AtomicBool);

impl Tenant for Prompt {
    fn supports(&self) -> Vec<&'static str> {
        vec!["prompt@2"]
    }

    fn rows<'a>(&'a self, wanted: &'a Wanted) -> BoxFuture<'a, Result<Vec<Row>, Failure>> {
        let rows = [2, 1].map(|at| Row {
            id: format!("row-{at}"),
            kind: Kind::Session,
            name: String::new(),
            cwd: "/w".into(),
            condition: Condition {
                state: vocab::job::JobState::Done,
                status: None,
                waiting_for: None,
                source: None,
                failure: None,
            },
            pinned: false,
            started_at: Timestamp::from_millis(at),
            ended_at: Some(Timestamp::from_millis(at)),
            program: Program::default(),
        });
        Box::pin(async { Ok(rows.into_iter().filter(|row| wanted.takes(row)).collect()) })
    }

    fn drain(&self) -> BoxFuture<'_, ()> {
        self.0.store(true, Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }
}

fn daemon(tenants: Vec<Arc<dyn Tenant>>) -> (tempfile::TempDir, Daemon) {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    stdx::state_file::ensure_dir(&home).unwrap();
    let socket_name = crate::paths::SOCKET_NAME.to_owned();
    let config = home.join("config.toml");
    let paths = Paths { runtime: home.clone(), socket_name, config, home };
    let clock = Clock::manual(Timestamp::from_millis(1));
    let (store, _) = Store::open(&Options::new(paths.database(), clock.clone())).unwrap();
    let hub = Hub::new(store.clone());
    let jobs = Jobs::new(jobs::Parts {
        home: paths.home.clone(),
        runtime: paths.runtime.clone(),
        socket: paths.socket(),
        version: "0".into(),
        clock: clock.clone(),
        store: store.clone(),
        hub: hub.clone(),
        launcher: Arc::new(Nowhere),
        trees: jobs::Trees::new(&paths.home, &[]),
    });
    let parts = Parts {
        clock,
        hub,
        store,
        jobs,
        secrets: secrets::open(paths.secrets()).0,
        workspaces: Arc::new(Workspaces::new(Arc::new(Nowhere))),
        paths,
        notices: Vec::new(),
    };
    (dir, Daemon::new("d".into(), parts, tenants))
}

#[tokio::test(start_paused = true)]
async fn a_drain_gives_up_on_what_does_not_end() {
    let prompt = Arc::new(Prompt::default());
    let (_dir, daemon) = daemon(vec![Arc::new(Endless), Arc::<Prompt>::clone(&prompt)]);
    let began = Instant::now();
    assert_eq!(daemon.drain().await, vec!["a tenant's work did not end in time"]);
    assert!(began.elapsed() >= Duration::from_millis(DRAIN_MS_MAX));
    assert!(prompt.0.load(Ordering::Relaxed), "the others have their turn all the same");
    assert!(daemon.store.cursor().await.is_err(), "the store is closed in any case");
}

#[tokio::test]
async fn what_tenants_serve_stands_beside_the_own() {
    let (_dir, daemon) = daemon(vec![Arc::new(Prompt::default())]);
    let supports = ["events@1", "secrets@1", "jobs@1", "daemon@1", "prompt@2"];
    assert_eq!(daemon.supports(), supports);
    assert_eq!(daemon.drain().await, Vec::<&str>::new());
}

#[tokio::test]
async fn the_one_list_is_what_tenants_have_oldest_first() {
    let (_dir, whole) = daemon(vec![Arc::new(Prompt::default())]);
    let ids = async |wanted: Wanted| -> Vec<String> {
        whole.rows(&wanted).await.unwrap().into_iter().map(|row| row.id).collect()
    };
    assert_eq!(ids(Wanted::default()).await, ["row-1", "row-2"]);
    let since = Some(Timestamp::from_millis(2));
    assert_eq!(ids(Wanted { since, cwd: None }).await, ["row-2"]);
    assert_eq!(ids(Wanted { since: None, cwd: Some("/x".into()) }).await, Vec::<String>::new());
    let (_dir, silent) = daemon(vec![Arc::new(Endless)]);
    assert_eq!(silent.rows(&Wanted::default()).await.unwrap_err().code, "store_busy");
}
