//! Hosts that do not do what they should, and too many of anything.

use pty::frame::Kind;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// Starts no host: the test stands in for it, at its socket.
struct Nobody;

impl Launcher for Nobody {
    fn launch(&self, _files: JobFiles) -> BoxFuture<'static, Result<ProcId, Failure>> {
        Box::pin(async { Ok(ProcId::current()) })
    }

    fn end_leftovers(&self, _job: &JobId) {}
}

async fn alone(rig: &Rig) -> Arc<Jobs> {
    let life = rig.begin().await;
    stdx::state_file::ensure_dir(&rig.dir.path().join("run")).unwrap();
    let jobs = Jobs::new(Parts {
        home: rig.dir.path().join("home"),
        runtime: rig.dir.path().join("run"),
        socket: "/s".into(),
        version: "0".into(),
        clock: rig.clock.clone(),
        store: life.store,
        hub: life.jobs.parts.hub.clone(),
        launcher: Arc::new(Nobody),
        trees: rig.trees(),
    });
    jobs.adopt().await;
    jobs
}

/// Moves time on by itself whenever nothing else is to be done.
fn time_flies() {
    tokio::time::pause();
}

#[tokio::test]
async fn a_host_that_stays_silent_holds_nobody_up() {
    let rig = Rig::new();
    let jobs = alone(&rig).await;
    let row = jobs.dispatch(&person(), wish(&["true"], None)).await.unwrap();
    let files = rig.files(&id(&row));
    let _door = UnixListener::bind(files.socket()).unwrap();
    time_flies();
    let before = tokio::time::Instant::now();
    let failure = jobs.send(&person(), &id(&row), "x".into()).await.unwrap_err();
    assert_eq!(failure.code, "host_silent");
    assert!(Duration::from_millis(limits::HOST_ANSWER_MS_MAX) <= before.elapsed());
}

#[tokio::test]
async fn a_host_that_does_not_end_its_program_is_killed() {
    let rig = Rig::new();
    let jobs = alone(&rig).await;
    let row = jobs.dispatch(&person(), wish(&["true"], None)).await.unwrap();
    time_flies();
    let before = tokio::time::Instant::now();
    // The process that stands in for it is the test's own, which nobody kills.
    let failure = jobs.stop(&person(), &id(&row)).await.unwrap_err();
    assert_eq!(failure.code, "job_not_ended");
    let limit = limits::HOST_STOP_MS_MAX + limits::HOST_KILL_MS_MAX;
    assert!(Duration::from_millis(limit) <= before.elapsed());
    let note = rig.files(&id(&row)).read_note().unwrap().unwrap();
    assert!(note.stop_requested, "a restart knows that it was to end");
}

#[tokio::test]
async fn a_host_whose_socket_was_removed_is_found_again() {
    let rig = Rig::new();
    let jobs = alone(&rig).await;
    let row = jobs.dispatch(&person(), wish(&["true"], None)).await.unwrap();
    time_flies();
    for step in [limits::HOST_LINK_RETRY_MS, limits::HOST_LINK_RETRY_MS_MAX] {
        tokio::time::sleep(Duration::from_millis(step)).await;
    }
    let door = UnixListener::bind(rig.files(&id(&row)).socket()).unwrap();
    let (mut stream, _) = door.accept().await.unwrap();
    stream.read_u8().await.unwrap();
    let state = State {
        role: pty::hello::Role::Control,
        writer: false,
        cols: 80,
        rows: 24,
        state: JobState::Blocked,
        status: None,
        waiting_for: Some("permission".into()),
        state_source: Some("report".into()),
        since: None,
        protocol: 1,
    };
    stream.write_all(&frame::encode(Kind::State, &pty::hello::to_json(&state))).await.unwrap();
    loop {
        let row = jobs.row(&id(&row)).await.unwrap();
        if row.condition.state == JobState::Blocked {
            assert_eq!(row.condition.waiting_for.as_deref(), Some("permission"));
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_screen_file_over_its_bound_is_refused() {
    let rig = Rig::new();
    let mut life = rig.begin().await;
    let row = life.run("true").await;
    life.fact("job_ended", &row.id).await;
    let screen = rig.files(&id(&row)).screen();
    let most = usize::try_from(limits::HOST_SCREEN_FILE_BYTES_MAX).unwrap();
    for (bytes, is_taken) in [(most, true), (most + 1, false)] {
        stdx::state_file::publish(&screen, &vec![b'x'; bytes]).unwrap();
        assert_eq!(life.jobs.screen(&id(&row)).await.is_ok(), is_taken);
    }
}

fn entry(at: i64, ended_at: Option<i64>) -> book::Entry {
    let record = pty::job::JobRecord {
        id: JobId::generate(),
        name: at.to_string(),
        cwd: "/".into(),
        command: vec!["true".into()],
        env: std::collections::BTreeMap::new(),
        env_names: Vec::new(),
        token: String::new(),
        session_file: None,
        worktree: None,
        origin: "bg".into(),
        record: false,
        agent: false,
        asked: pty::job::Asked::default(),
        created_at: at,
        daemon_socket: None,
        stead_version: "0".into(),
    };
    let mut note = pty::job::JobNote::begun(at);
    note.ended_at = ended_at;
    book::Entry::new(record, note, None)
}

async fn check_full(n: usize, ended_at: Option<i64>) {
    let rig = Rig::new();
    let jobs = alone(&rig).await;
    for at in 0..n {
        let entry = entry(i64::try_from(at).unwrap(), ended_at);
        let id = entry.record.id.clone();
        jobs.book().put(id, entry);
    }
    let full = jobs.dispatch(&person(), wish(&["true"], None)).await.unwrap_err();
    assert_eq!(full.code, "too_many_jobs");
    let one = jobs.book().names().remove(0).0;
    jobs.book().remove(&one);
    jobs.dispatch(&person(), wish(&["true"], None)).await.unwrap();
}

#[tokio::test]
async fn so_many_jobs_are_kept_and_no_more() {
    check_full(limits::JOBS_MAX, Some(0)).await;
}

#[tokio::test]
async fn so_many_jobs_run_and_no_more() {
    check_full(limits::JOBS_LIVE_MAX, None).await;
}
