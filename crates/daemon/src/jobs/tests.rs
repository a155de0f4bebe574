//! Jobs over real hosts: each on a thread of the test, which is all that differs from a process.

use std::{collections::HashMap, time::Duration};

use pty::{frame, hello::State, job::ExitRecord};
use stdx::clock::Timestamp;
use tokio::net::UnixListener;
use vocab::{job::JobState, limits};

use super::*;
use crate::{
    caller::{Caller, CallerKind, Carrier},
    hub::Subscription,
};

mod again;
mod clock;
mod dying;
mod found;
mod foreign;
mod stubborn;
mod told;
mod trees;
mod unreadable;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs hosts on threads.
#[derive(Default)]
struct Threads {
    /// Jobs whose leftovers were to be ended.
    cleared: Mutex<Vec<JobId>>,
}

impl Launcher for Threads {
    fn launch(&self, files: JobFiles) -> BoxFuture<'static, Result<ProcId, Failure>> {
        Box::pin(async move {
            let (sender, ready) = tokio::sync::oneshot::channel();
            let sender = Mutex::new(Some(sender));
            let say = move |told| sender.lock().unwrap().take().map(|sender| sender.send(told));
            std::thread::spawn(move || {
                let told = pty::host::run(&files, None, || drop(say(Ok(()))));
                if let Err(failure) = told {
                    say(Err(failure));
                }
            });
            ready.await.unwrap_or(Ok(()))?;
            Ok(ProcId::current())
        })
    }

    fn end_leftovers(&self, job: &JobId) {
        self.cleared.lock().unwrap().push(job.clone());
    }
}

/// A state root with its jobs.
struct Rig {
    dir: tempfile::TempDir,
    clock: Clock,
    launcher: Arc<Threads>,
    /// The file layer of its database, where that is not the usual one.
    vfs: Option<String>,
}

/// One life of a daemon over it.
struct Life {
    jobs: Arc<Jobs>,
    heard: Subscription,
    store: Store,
}

impl Rig {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        stdx::state_file::ensure_dir(&dir.path().join("home")).unwrap();
        Self { dir, clock: Clock::system(), launcher: Arc::default(), vfs: None }
    }

    fn trees(&self) -> Trees {
        let environment = [
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME".into(), self.dir.path().into()),
        ];
        Trees::new(&self.dir.path().join("data"), &environment)
    }

    async fn begin(&self) -> Life {
        self.begin_with(Arc::clone(&self.launcher) as Arc<dyn Launcher>).await
    }

    async fn begin_with(&self, launcher: Arc<dyn Launcher>) -> Life {
        self.begin_in("run", launcher).await
    }

    /// Begins a life whose sockets lie in a directory of this name.
    async fn begin_in(&self, runtime: &str, launcher: Arc<dyn Launcher>) -> Life {
        let home = self.dir.path().join("home");
        let options = store::Options::new(home.join("stead.db"), self.clock.clone());
        let options = store::Options { vfs: self.vfs.clone(), ..options };
        let (store, _) =
            tokio::task::spawn_blocking(move || Store::open(&options)).await.unwrap().unwrap();
        let hub = Hub::new(store.clone());
        let heard = hub.subscribe_after(None).await.unwrap();
        let jobs = Jobs::new(Parts {
            home,
            runtime: self.dir.path().join(runtime),
            socket: self.dir.path().join(runtime).join("daemon.sock"),
            version: "0".into(),
            clock: self.clock.clone(),
            store: store.clone(),
            hub,
            launcher,
            trees: self.trees(),
        });
        Life { jobs, heard, store }
    }

    fn files(&self, id: &JobId) -> JobFiles {
        JobFiles::new(&self.dir.path().join("home"), &self.dir.path().join("run"), id)
    }
}

impl Life {
    async fn run(&self, script: &str) -> Row {
        self.named(script, None).await.unwrap()
    }

    async fn named(&self, script: &str, name: Option<&str>) -> Result<Row, Failure> {
        self.jobs.dispatch(&person(), wish(&["sh", "-c", script], name)).await
    }

    /// Waits for a fact, and returns it.
    async fn fact(&mut self, kind: &str, id: &str) -> serde_json::Value {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.heard.next()).await;
            let event = next.unwrap_or_else(|_| panic!("no {kind} of {id}")).unwrap().unwrap();
            if event.subject == "job" && event.body["kind"] == kind && event.body["job"] == id {
                return event.body;
            }
        }
    }

    /// Waits until a job's end is written down, whatever else is told meanwhile.
    async fn ended(&mut self, id: &JobId) {
        while self.jobs.row(id).await.unwrap().ended_at.is_none() {
            tokio::time::timeout(PATIENCE, self.heard.next()).await.unwrap().unwrap();
        }
        let mut ended = self.jobs.book().get(id).unwrap().ended();
        let waiting = ended.wait_for(|ended| *ended);
        tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap();
    }

    /// Waits until the host of a job that was found is noted.
    async fn hosted(&self, files: &JobFiles) {
        let is_noted = || {
            let host = files.read_note().unwrap().and_then(|note| note.host);
            host.is_some_and(|host| host.host_token == ProcId::current().token)
        };
        let waiting = async {
            while !is_noted() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    }

    /// Waits until a job's screen shows a text.
    async fn shows(&self, id: &JobId, text: &str) {
        let waiting = async {
            while !self.jobs.screen(id).await.unwrap().contains(text) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("no {text:?}"));
    }
}

/// Lets every other task go on until it has to wait. There is one thread, on which they take turns.
async fn let_all_go_on() {
    for _turn in 0..64 {
        tokio::task::yield_now().await;
    }
}

fn person() -> Caller {
    Caller::passed(CallerKind::Person, Carrier::Socket)
}

fn wish(command: &[&str], name: Option<&str>) -> Dispatch {
    Dispatch {
        name: name.map(str::to_owned),
        cwd: "/".into(),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        env: [("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())].into(),
        record: true,
        ..Dispatch::default()
    }
}

fn id(row: &Row) -> JobId {
    row.id.parse().unwrap()
}

#[tokio::test]
async fn a_job_runs_is_listed_and_ends_as_its_program_does() {
    let rig = Rig::new();
    let mut life = rig.begin().await;
    let check = async |life: &mut Life, script: &str, state: &str, status: Option<&str>| {
        let row = life.run(script).await;
        let ended = life.fact("job_ended", &row.id).await;
        assert_eq!(ended["state"], state, "{script}");
        let row = life.jobs.row(&id(&row)).await.unwrap();
        assert_eq!(row.condition.state.as_str(), state, "{script}");
        assert_eq!(row.condition.status.as_deref(), status, "{script}");
        assert!(row.ended_at.is_some() && row.program.pid.is_none() && row.program.exit.is_some());
    };
    check(&mut life, "true", "done", None).await;
    check(&mut life, "exit 3", "failed", Some("exit code 3")).await;
    check(&mut life, "kill -9 $$", "failed", Some("killed by SIGKILL")).await;
    let row = life.run("echo hi; read x; echo got:$x; read y").await;
    assert_eq!((row.condition.state, row.ended_at), (JobState::Working, None));
    assert_eq!(row.program.host_version.as_deref(), Some(env!("CARGO_PKG_VERSION")));
    life.fact("job_started", &row.id).await;
    life.shows(&id(&row), "hi").await;
    life.jobs.send(&person(), &id(&row), "abc\r".into()).await.unwrap();
    life.shows(&id(&row), "got:abc").await;
    assert_eq!(life.jobs.counts().await, (4, 1));
    let row = life.jobs.stop(&person(), &id(&row)).await.unwrap();
    assert_eq!(row.condition.state, JobState::Stopped);
    assert!(life.jobs.screen(&id(&row)).await.unwrap().contains("got:abc"));
    // Ending what has ended changes nothing.
    assert_eq!(life.jobs.stop(&person(), &id(&row)).await.unwrap(), row);
    let gone = life.jobs.send(&person(), &id(&row), "x".into()).await.unwrap_err();
    assert_eq!(gone.code, "job_ended");
    assert_eq!(life.jobs.rows(&Wanted::default()).await.len(), 4);
}

#[tokio::test]
async fn what_does_not_begin_leaves_nothing() {
    let rig = Rig::new();
    let life = rig.begin().await;
    let check = async |wish: Dispatch, code: &str| {
        let failure = life.jobs.dispatch(&person(), wish).await.unwrap_err();
        assert_eq!(failure.code, code);
        assert_eq!(life.jobs.counts().await, (0, 0), "{code}");
        let dir = pty::job::jobs_dir(&rig.dir.path().join("home"));
        assert_eq!(stdx::state_file::names(&dir, None, 9).unwrap().len(), 0, "{code}");
    };
    check(wish(&[], None), "command_missing").await;
    check(wish(&["no-such-program"], None), "program_missing").await;
    check(Dispatch { cwd: "/no/such/dir".into(), ..wish(&["true"], None) }, "cwd_missing").await;
    check(Dispatch { cwd: "tmp".into(), ..wish(&["true"], None) }, "invalid_field").await;
    let long = "x".repeat(usize::try_from(limits::JOB_FILE_BYTES_MAX).unwrap());
    check(wish(&["echo", &long], None), "command_too_long").await;
}

#[tokio::test]
async fn a_removed_job_ends_first_and_leaves_no_file() {
    let rig = Rig::new();
    let mut life = rig.begin().await;
    let row = life.run("sleep 1000").await;
    let files = rig.files(&id(&row));
    assert!(files.socket().exists());
    life.jobs.remove(&person(), &id(&row), Removal::Saving).await.unwrap();
    life.fact("job_ended", &row.id).await;
    life.fact("job_removed", &row.id).await;
    assert!(!files.dir().exists() && !files.socket().exists());
    assert_eq!(
        life.jobs.remove(&person(), &id(&row), Removal::Saving).await.unwrap_err().code,
        "job_not_found"
    );
    assert_eq!(life.jobs.row(&id(&row)).await.unwrap_err().code, "job_not_found");
}

#[tokio::test]
async fn an_ended_job_is_started_again_and_a_running_one_is_not() {
    let rig = Rig::new();
    let mut life = rig.begin().await;
    let row = life.run("echo one; exit 4").await;
    life.fact("job_ended", &row.id).await;
    let again = life.jobs.respawn(&person(), &id(&row)).await.unwrap();
    assert_eq!((again.condition.state, again.program.exit), (JobState::Working, None));
    assert_eq!(life.fact("job_ended", &row.id).await["state"], "failed");
    let row = life.run("sleep 1000").await;
    let failure = life.jobs.respawn(&person(), &id(&row)).await.unwrap_err();
    assert_eq!(failure.code, "job_running");
    life.jobs.end_all().await;
    assert_eq!(life.jobs.counts().await, (2, 0));
    // Whoever ends takes nothing on.
    let failure = life.named("true", None).await.unwrap_err();
    assert_eq!(failure.code, "draining");
    assert_eq!(life.jobs.respawn(&person(), &id(&row)).await.unwrap_err().code, "draining");
}

#[tokio::test]
async fn names_are_unique_and_can_be_changed() {
    let rig = Rig::new();
    let life = rig.begin().await;
    let names: Vec<String> = [
        life.named("true", Some("fix")).await.unwrap().name,
        life.named("true", Some("fix")).await.unwrap().name,
        life.named("true", Some(" fix\n")).await.unwrap().name,
        life.named("true", None).await.unwrap().name,
    ]
    .into();
    assert_eq!(names, ["fix", "fix (2)", "fix (3)", "sh -c true"]);
    let found = async |text: &str| life.jobs.fitting(text).await.unwrap().jobs;
    let [(third, _)] = &found("fix (3)").await[..] else { panic!() };
    assert_eq!(life.jobs.rename(&person(), third, "fix").await.unwrap().name, "fix (3)");
    assert_eq!(life.jobs.rename(&person(), third, "other").await.unwrap().name, "other");
    assert_eq!(life.jobs.rename(&person(), third, "\n").await.unwrap_err().code, "invalid_field");
    assert!(life.jobs.pin(&person(), third, true).await.unwrap().pinned);
    assert_eq!(found("other").await, [(third.clone(), "other".to_owned())]);
}
