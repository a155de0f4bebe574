//! Which places stay open, with workspaces in memory. What a place does is not shown here.

use std::sync::Mutex as Lock;

use vocab::limits::{WORKSPACE_NAME_BYTES_MAX, WORKSPACES_ADDED_MAX};
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

    fn link(&self) -> Link {
        if self.path.ends_with("lost") { Link::Lost } else { Link::Open }
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
async fn a_workspace_whose_line_is_lost_for_good_is_opened_anew() {
    let places = InMemory::default();
    let workspaces = Workspaces::new(Arc::new(places.clone()));
    for (path, is_same) in [("/far/lost", false), ("/far", true)] {
        let first = workspaces.at(Path::new(path)).await.unwrap();
        let second = workspaces.at(Path::new(path)).await.unwrap();
        assert_eq!(Arc::ptr_eq(&first.workspace(), &second.workspace()), is_same, "{path}");
    }
    places.wait_for(1).await;
    assert_eq!(places.closed(), [PathBuf::from("/far/lost")]);
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
    assert_eq!(workspaces.find("site").unwrap().local(), Some(Path::new("/site")));
    let failure = workspaces.find("sight").unwrap_err();
    assert_eq!(failure.code, "workspace_not_found");
    assert!(failure.hint.unwrap().contains("site"));
}

/// Opens whatever it is asked for, and nothing that is called `closed`.
#[derive(Default)]
struct Anywhere(InMemory);

impl Openings for Anywhere {
    fn open_local(
        &self,
        path: PathBuf,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>> {
        self.0.open_local(path)
    }

    fn open_far(
        &self,
        registered: Registered,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>> {
        if registered.name == "closed" {
            return Box::pin(async { Err(Failure::not_started("unreachable", "nobody is there")) });
        }
        self.0.open_local(registered.name.into())
    }

    fn registered(&self) -> Result<Vec<Registered>, Failure> {
        self.0.registered()
    }
}

fn far() -> Place {
    Place::Remote { address: "wss://h".into(), ca: None, channel: None }
}

fn kept(dir: &tempfile::TempDir) -> (InMemory, Workspaces) {
    let (places, home) = (InMemory::default(), dir.path().join("home"));
    stdx::state_file::ensure_dir(&home).unwrap();
    let openings = Arc::new(Anywhere(places.clone()));
    (places, Workspaces::new(openings).kept_in(home.join("workspaces.json")))
}

#[tokio::test]
async fn places_are_added_and_removed_up_to_a_bound() {
    let dir = tempfile::tempdir().unwrap();
    let (places, workspaces) = kept(&dir);
    let refused = async |name: &str, expected: &str| {
        assert_eq!(workspaces.add(name, far()).await.unwrap_err().code, expected, "{name}");
    };
    assert_eq!(workspaces.add("box", far()).await.unwrap().link, Link::Open);
    refused("box", "workspace_exists").await;
    refused("site", "workspace_exists").await;
    // What cannot be opened is not kept.
    refused("closed", "unreachable").await;
    assert_eq!(workspaces.find("closed").unwrap_err().code, "workspace_not_found");
    // Another daemon of the same state finds it.
    let (_, later) = kept(&dir);
    let names =
        |all: Vec<Listed>| all.into_iter().map(|one| one.registered.name).collect::<Vec<_>>();
    assert_eq!(names(later.list().await.unwrap()), ["site", "box"]);
    // Not while somebody works there.
    let lease = workspaces.named("box").await.unwrap();
    assert_eq!(workspaces.remove("box").await.unwrap_err().code, "workspace_in_use");
    drop(lease);
    workspaces.remove("box").await.unwrap();
    assert_eq!(places.closed(), [PathBuf::from("box")]);
    assert_eq!(workspaces.remove("box").await.unwrap_err().code, "workspace_not_found");
    assert_eq!(workspaces.remove("site").await.unwrap_err().code, "forbidden");
    let place = |idx: usize| vocab::place::Named { name: format!("n{idx}"), place: far() };
    let full = vocab::place::Kept { workspaces: (0..WORKSPACES_ADDED_MAX).map(place).collect() };
    let path = dir.path().join("home/workspaces.json");
    stdx::state_file::publish(&path, &full.write().unwrap()).unwrap();
    refused("one-more", "too_many_workspaces").await;
    workspaces.remove("n0").await.unwrap();
    workspaces.add("one-more", far()).await.unwrap();
    stdx::state_file::publish(&path, b"nonsense").unwrap();
    assert_eq!(workspaces.list().await.unwrap_err().code, "state_io");
}

#[tokio::test]
async fn a_runtime_that_is_replaced_is_closed_first() {
    let dir = tempfile::tempdir().unwrap();
    let (places, workspaces) = kept(&dir);
    let deferred = Place::Deferred { expected_root: "/w".into(), address: None, ca: None };
    assert_eq!(workspaces.add("later", deferred).await.unwrap().link, Link::Detached);
    assert_eq!(workspaces.named("later").await.unwrap_err().code, "workspace_detached");
    assert!(places.closed().is_empty());
    workspaces.attach("later", "wss://one".into(), None).await.unwrap();
    workspaces.attach("later", "wss://two".into(), None).await.unwrap();
    assert_eq!(places.closed(), [PathBuf::from("later")]);
    let lease = workspaces.named("later").await.unwrap();
    let in_use = workspaces.attach("later", "wss://three".into(), None).await.unwrap_err();
    assert_eq!(in_use.code, "workspace_in_use");
    drop(lease);
    assert_eq!(workspaces.detach("later").await.unwrap().link, Link::Detached);
    assert_eq!(places.closed().len(), 2);
    assert_eq!(
        workspaces.attach("site", "wss://x".into(), None).await.unwrap_err().code,
        "workspace_not_deferred"
    );
}

#[tokio::test]
async fn names_of_places_are_plain() {
    let dir = tempfile::tempdir().unwrap();
    let (_, workspaces) = kept(&dir);
    let long = "x".repeat(WORKSPACE_NAME_BYTES_MAX);
    for good in ["a", "A-b_c.d", &long] {
        workspaces.add(good, far()).await.unwrap();
    }
    for bad in ["", ".", ".a", "-a", "a b", "a/b", "\u{e4}", "a\n", &format!("{long}x")] {
        assert_eq!(workspaces.add(bad, far()).await.unwrap_err().code, "invalid_field", "{bad:?}");
    }
}
