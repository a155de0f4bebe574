//! Jobs that an earlier daemon has left.

#![expect(clippy::disallowed_methods, reason = "starts a process that is no host")]

use super::*;

#[tokio::test]
async fn the_next_daemon_finds_what_runs_and_what_has_ended() {
    let rig = Rig::new();
    let (runs, ended, renamed) = {
        let mut life = rig.begin().await;
        let runs = life.run("echo on; read x; echo got:$x; exit 5").await;
        let ended = life.run("exit 2").await;
        life.fact("job_ended", &ended.id).await;
        let renamed = life.jobs.rename(&person(), &id(&runs), "kept").await.unwrap();
        life.store.close().await.unwrap();
        (runs, ended, renamed)
    };
    let mut life = rig.begin().await;
    let rows = life.jobs.rows(&Wanted::default()).await;
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0].id, rows[0].ended_at), (&runs.id, None));
    assert_eq!(rows[0].name, renamed.name);
    assert_eq!(rows[1].condition.status.as_deref(), Some("exit code 2"));
    assert_eq!(rows[1].id, ended.id);
    life.jobs.send(&person(), &id(&runs), "x\r".into()).await.unwrap();
    assert_eq!(life.fact("job_ended", &runs.id).await["state"], "failed");
    // What is pinned stays in lists for ever.
    life.jobs.pin(&person(), &id(&ended), true).await.unwrap();
    let since = Some(Timestamp::from_millis(rig.clock.now().as_millis() + 1));
    let rows = life.jobs.rows(&Wanted { since, cwd: None }).await;
    assert_eq!(rows.iter().map(|row| &row.id).collect::<Vec<_>>(), [&ended.id]);
    let elsewhere = Wanted { cwd: Some("/tmp".into()), ..Wanted::default() };
    assert_eq!(life.jobs.rows(&elsewhere).await, []);
}

#[tokio::test]
async fn what_ended_meanwhile_is_told_by_the_record_or_by_its_absence() {
    let rig = Rig::new();
    let jobs = {
        let life = rig.begin().await;
        let rows = [life.run("sleep 1000").await, life.run("sleep 1000").await];
        life.jobs.end_all().await;
        life.store.close().await.unwrap();
        [id(&rows[0]), id(&rows[1])]
    };
    // As if no daemon had seen these ends: one has a record, the other's host died with all it had.
    let gone = pty::job::HostNote { host_pid: 1, host_token: "00000000.1".into() };
    for id in &jobs {
        let files = rig.files(id);
        let mut note = files.read_note().unwrap().unwrap();
        (note.ended_at, note.stop_requested, note.host) = (None, false, Some(gone.clone()));
        note.told = pty::job::Told::by_process(JobState::Working);
        files.write_note(&note).unwrap();
    }
    stdx::state_file::remove(&rig.files(&jobs[1]).dir().join("exit.json")).unwrap();
    let at = rig.clock.now().as_millis() + 7;
    let exit = ExitRecord { code: Some(0), signal: None, at, stopped: false, failure: None };
    rig.files(&jobs[0]).write_exit(&exit).unwrap();
    let mut life = rig.begin().await;
    for job in &jobs {
        life.ended(job).await;
    }
    let rows = life.jobs.rows(&Wanted::default()).await;
    let found: HashMap<_, _> = rows.iter().map(|row| (id(row), row)).collect();
    assert_eq!(found[&jobs[0]].condition.state, JobState::Done);
    assert_eq!(found[&jobs[0]].ended_at, Some(Timestamp::from_millis(at)));
    assert_eq!(found[&jobs[1]].condition.state, JobState::Failed);
    assert!(found[&jobs[1]].condition.status.as_deref().unwrap().contains("its host died"));
    assert_eq!(*rig.launcher.cleared.lock().unwrap(), [jobs[1].clone()]);
}

#[tokio::test]
async fn a_pid_that_was_given_away_is_nobodys_host() {
    let rig = Rig::new();
    let old = rig.begin().await;
    let job = id(&old.run("sleep 1000").await);
    old.store.close().await.unwrap();
    // The note names a process that lives, and is another one than it was.
    let files = rig.files(&job);
    let mut note = files.read_note().unwrap().unwrap();
    let stranger = pty::job::HostNote { host_pid: std::process::id(), host_token: "0.1".into() };
    note.host = Some(stranger);
    files.write_note(&note).unwrap();
    let life = rig.begin().await;
    life.jobs.adopt().await;
    // Its socket says who it is.
    life.hosted(&files).await;
    let row = life.jobs.row(&job).await.unwrap();
    assert_eq!((row.condition.state, row.ended_at), (JobState::Working, None));
    let host = files.read_note().unwrap().unwrap().host.unwrap();
    assert_eq!(host.host_token, ProcId::current().token);
    life.jobs.end_all().await;
}

#[tokio::test]
async fn the_end_of_what_was_taken_for_a_host_is_not_the_jobs() {
    let rig = Rig::new();
    let old = rig.begin().await;
    let job = id(&old.run("read x; exit 4").await);
    old.store.close().await.unwrap();
    let files = rig.files(&job);
    let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let stranger = ProcId::of(child.id()).unwrap();
    let mut note = files.read_note().unwrap().unwrap();
    note.host = Some(pty::job::HostNote { host_pid: stranger.pid, host_token: stranger.token });
    files.write_note(&note).unwrap();
    let mut life = rig.begin().await;
    assert_eq!(life.jobs.row(&job).await.unwrap().ended_at, None);
    child.kill().unwrap();
    child.wait().unwrap();
    life.hosted(&files).await;
    assert_eq!(life.jobs.row(&job).await.unwrap().ended_at, None);
    assert_eq!(*rig.launcher.cleared.lock().unwrap(), []);
    life.jobs.send(&person(), &job, "x\r".into()).await.unwrap();
    assert_eq!(life.fact("job_ended", job.as_str()).await["state"], "failed");
    let row = life.jobs.row(&job).await.unwrap();
    assert_eq!(row.condition.status.as_deref(), Some("exit code 4"));
}

#[tokio::test]
async fn hosts_are_reached_by_a_daemon_of_another_runtime_directory() {
    let rig = Rig::new();
    let old = rig.begin().await;
    let job = id(&old.run("read x; echo got:$x; read y").await);
    old.store.close().await.unwrap();
    let mut life = rig.begin_in("elsewhere", Arc::clone(&rig.launcher) as Arc<dyn Launcher>).await;
    life.jobs.send(&person(), &job, "x\r".into()).await.unwrap();
    life.shows(&job, "got:x").await;
    life.jobs.detach(&person(), &job).await.unwrap();
    life.jobs.explain(&job).await.unwrap();
    // It is followed as well, and ends as any other.
    let row = life.jobs.stop(&person(), &job).await.unwrap();
    assert_eq!((row.condition.state, row.program.exit.is_some()), (JobState::Stopped, true));
    life.ended(&job).await;
    // A socket that is left there goes with the job.
    let files = rig.files(&job);
    let _left = UnixListener::bind(files.socket()).unwrap();
    life.jobs.remove(&person(), &job, Removal::Saving).await.unwrap();
    assert!(!files.socket().exists() && !files.dir().exists());
}
