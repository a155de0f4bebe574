//! Which places stay open, with workspaces in memory. What a place does is not shown here.

use std::sync::Mutex as Lock;

use workspace::fake::Fake;

use super::*;

/// Opens workspaces in memory and remembers which were closed.
#[derive(Clone, Default)]
struct InMemory(Arc<Lock<Vec<PathBuf>>>, Arc<tokio::sync::Notify>);

struct Owner {
    path: PathBuf,
    workspace: Arc<dyn Workspace>,
    closed: InMemory,
}

impl InMemory {
    fn closed(&self) -> Vec<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn wait_for(&self, n_closed: usize) {
        while self.closed().len() < n_closed {
            self.1.notified().await;
        }
    }
}

impl Openings for InMemory {
    fn open_local(
        &self,
        path: PathBuf,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>> {
        let workspace = Arc::new(Fake::default());
        let owner: Box<dyn OwnedWorkspace> =
            Box::new(Owner { path, workspace, closed: self.clone() });
        Box::pin(async move { Ok(owner) })
    }

    fn registered(&self) -> Result<Vec<Registered>, Failure> {
        Ok(vec![Registered {
            name: "site".into(),
            place: Place::Local { path: "/site".into() },
            source: Source::Config,
        }])
    }
}

impl OwnedWorkspace for Owner {
    fn borrow(&self) -> Arc<dyn Workspace> {
        self.workspace.clone()
    }

    fn is_busy(&self) -> bool {
        self.path.ends_with("busy")
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.closed.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.path.clone());
            self.closed.1.notify_one();
        })
    }
}

#[tokio::test]
async fn idle_workspaces_make_room_for_new_ones() {
    let places = InMemory::default();
    let workspaces = Workspaces::new(Arc::new(places.clone()));
    let mut borrowed = Vec::new();
    for idx in 0..WORKSPACES_OPEN_MAX {
        borrowed.push(workspaces.at(&PathBuf::from(format!("/{idx}"))).await.unwrap());
    }
    let refused = workspaces.at(Path::new("/one more")).await.err().unwrap();
    assert_eq!(refused.code, "too_many_workspaces");
    assert_eq!(places.closed(), Vec::<PathBuf>::new());

    // A place that is open already is not one more.
    workspaces.at(Path::new("/7")).await.unwrap();
    borrowed.remove(7);
    workspaces.at(Path::new("/one more")).await.unwrap();
    places.wait_for(1).await;
    assert_eq!(places.closed(), vec![PathBuf::from("/7")]);

    workspaces.close().await;
    assert_eq!(places.closed().len(), WORKSPACES_OPEN_MAX + 1);
}

#[tokio::test]
async fn a_place_where_something_was_left_running_is_not_idle() {
    let places = InMemory::default();
    let workspaces = Workspaces::new(Arc::new(places.clone()));
    for idx in 0..WORKSPACES_OPEN_MAX {
        workspaces.at(&PathBuf::from(format!("/{idx}/busy"))).await.unwrap();
    }
    let refused = workspaces.at(Path::new("/one more")).await.err().unwrap();
    assert_eq!(refused.code, "too_many_workspaces");
    assert_eq!(places.closed(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn two_names_of_one_directory_are_one_place() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link");
    let real = dir.path().join("real");
    stdx::state_file::ensure_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let workspaces = Workspaces::new(Arc::new(InMemory::default()));
    let (one, two) = (workspaces.at(&real).await.unwrap(), workspaces.at(&link).await.unwrap());
    assert!(Arc::ptr_eq(&one.workspace(), &two.workspace()));
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let workspaces = Workspaces::new(Arc::new(InMemory::default()));
    assert_eq!(workspaces.find("site").unwrap().path, Path::new("/site"));
    let failure = workspaces.find("sight").unwrap_err();
    assert_eq!(failure.code, "workspace_not_found");
    assert!(failure.hint.unwrap().contains("site"));
}
