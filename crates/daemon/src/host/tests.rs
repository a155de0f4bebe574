//! The way down, with tenants that end and one that does not.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use store::Options;
use tokio::time::Instant;
use vocab::outcome::Failure;
use workspace::source::OwnedWorkspace;

use super::*;
use crate::{
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

/// A tenant whose work never ends.
struct Endless;

impl Tenant for Endless {
    fn supports(&self) -> Vec<&'static str> {
        vec!["endless@1"]
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
    let parts = Parts {
        clock,
        hub: Hub::new(store.clone()),
        store,
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
    assert_eq!(daemon.supports(), ["events@1", "secrets@1", "daemon@1", "prompt@2"]);
    assert_eq!(daemon.drain().await, Vec::<&str>::new());
}
