//! Which places stay open, with workspaces in memory. What a place does is not shown here.

use std::sync::{Mutex as Lock, PoisonError};

use workspace::fake::Fake;

use super::*;

/// Opens workspaces in memory and remembers which were closed.
#[derive(Clone, Default)]
struct InMemory(Arc<Lock<Vec<PathBuf>>>);

struct Owner {
    path: PathBuf,
    workspace: Arc<dyn Workspace>,
    closed: InMemory,
}

impl InMemory {
    fn closed(&self) -> Vec<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        Ok(vec![Registered { name: "site".into(), path: "/site".into() }])
    }
}

impl OwnedWorkspace for Owner {
    fn borrow(&self) -> Arc<dyn Workspace> {
        self.workspace.clone()
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.closed.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.path.clone());
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
    assert_eq!(places.closed(), vec![PathBuf::from("/7")]);

    workspaces.close().await;
    assert_eq!(places.closed().len(), WORKSPACES_OPEN_MAX + 1);
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let workspaces = Workspaces::new(Arc::new(InMemory::default()));
    assert_eq!(workspaces.find("site").unwrap().path, Path::new("/site"));
    let failure = workspaces.find("sight").unwrap_err();
    assert_eq!(failure.code, "workspace_not_found");
    assert!(failure.hint.unwrap().contains("site"));
}
