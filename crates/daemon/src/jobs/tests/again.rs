//! Jobs that are started again, and jobs whose end is not the last word.

#![expect(clippy::disallowed_methods, reason = "a test puts things where a job's files are")]

use std::{fs, os::unix::net::UnixListener as Listener, path::Path};

use super::*;

/// A job that has ended with code 4, in a directory that can go.
async fn ended(rig: &Rig, life: &mut Life, command: &[&str]) -> (JobId, std::path::PathBuf) {
    let cwd = rig.dir.path().join("work");
    fs::create_dir_all(&cwd).unwrap();
    let wish = Dispatch { cwd: cwd.clone(), ..wish(command, None) };
    let job = id(&life.jobs.dispatch(&person(), wish).await.unwrap());
    life.ended(&job).await;
    (job, cwd)
}

#[tokio::test]
async fn a_start_that_is_refused_leaves_the_end_before_as_it_was() {
    let rig = Rig::new();
    let mut life = rig.begin().await;
    let program = rig.dir.path().join("program");
    fs::copy("/bin/false", &program).unwrap();
    let check = async |life: &Life, job: &JobId, code: &str| {
        let before = life.jobs.row(job).await.unwrap();
        let exit = fs::read(rig.files(job).dir().join("exit.json")).unwrap();
        let refused = life.jobs.respawn(&person(), job).await.unwrap_err();
        assert_eq!((refused.code.as_str(), refused.effect), (code, Effect::NotStarted));
        assert_eq!(life.jobs.row(job).await.unwrap(), before, "{code}");
        assert_eq!(fs::read(rig.files(job).dir().join("exit.json")).unwrap(), exit, "{code}");
        before
    };
    let (gone, cwd) = ended(&rig, &mut life, &["sh", "-c", "exit 4"]).await;
    fs::remove_dir(&cwd).unwrap();
    let rows = [check(&life, &gone, "cwd_missing").await];
    let (missing, _) = ended(&rig, &mut life, &[program.to_str().unwrap()]).await;
    fs::remove_file(&program).unwrap();
    let rows = [rows, [check(&life, &missing, "program_missing").await]].concat();
    // The next daemon tells the same.
    life.store.close().await.unwrap();
    let next = rig.begin().await;
    for row in rows {
        assert_eq!(next.jobs.row(&id(&row)).await.unwrap(), row);
    }
    // Its directory is there again, and it begins.
    fs::create_dir_all(&cwd).unwrap();
    let row = next.jobs.respawn(&person(), &gone).await.unwrap();
    assert_eq!(row.program.exit, None);
}

#[tokio::test]
async fn a_start_that_was_broken_off_leaves_the_end_before_as_it_was() {
    let rig = Rig::new();
    let mut life = rig.begin().await;
    let (job, _) = ended(&rig, &mut life, &["sh", "-c", "exit 4"]).await;
    life.store.close().await.unwrap();
    // As a daemon leaves it that dies between the two.
    let files = rig.files(&job);
    files.set_exit_aside().unwrap();
    let mut note = files.read_note().unwrap().unwrap();
    (note.ended_at, note.host) = (None, None);
    note.told = pty::job::Told::by_process(JobState::Working);
    files.write_note(&note).unwrap();
    let mut next = rig.begin().await;
    next.ended(&job).await;
    let row = next.jobs.row(&job).await.unwrap();
    assert_eq!(row.condition.status.as_deref(), Some("exit code 4"));
    assert_eq!(row.program.exit.unwrap().code, Some(4));
    assert_eq!(
        *rig.launcher.cleared.lock().unwrap(),
        [],
        "nothing of it runs that was to be ended"
    );
}

#[tokio::test]
async fn what_an_ended_job_has_left_is_ended_with_whoever_stops_or_removes_it() {
    let rig = Rig::new();
    let mut life = rig.begin().await;
    let cleared = || std::mem::take(&mut *rig.launcher.cleared.lock().unwrap());
    let (job, _) = ended(&rig, &mut life, &["true"]).await;
    assert_eq!(cleared(), [], "one that exits lets go of it");
    let row = life.jobs.stop(&person(), &job).await.unwrap();
    assert_eq!((row.condition.state, cleared()), (JobState::Done, vec![job.clone()]));
    life.jobs.remove(&person(), &job, Removal::Saving).await.unwrap();
    assert_eq!(cleared(), [job]);
    // A host that is told to end has ended everything itself.
    let job = id(&life.run("sleep 1000").await);
    life.jobs.stop(&person(), &job).await.unwrap();
    assert_eq!(cleared(), []);
}

#[tokio::test]
async fn whatever_stands_in_a_jobs_place_is_listed_and_removed() {
    type Make = fn(&Path);
    let make: [(&str, Make); 3] = [
        ("a pipe", |path| {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        }),
        ("a socket", |path| drop(Listener::bind(path).unwrap())),
        ("a file", |path| stdx::state_file::publish(path, b"").unwrap()),
    ];
    for (what, make) in make {
        let rig = Rig::new();
        let files = rig.files(&JobId::generate());
        stdx::state_file::ensure_dir(files.dir().parent().unwrap()).unwrap();
        make(files.dir());
        let life = rig.begin().await;
        assert_eq!(life.jobs.counts().await, (1, 0), "{what}");
        life.jobs.remove(&person(), files.id(), Removal::Saving).await.unwrap();
        assert!(fs::symlink_metadata(files.dir()).is_err(), "{what}");
        assert_eq!(life.jobs.counts().await, (0, 0), "{what}");
    }
}

#[tokio::test]
async fn a_job_whose_end_cannot_be_written_says_why_and_can_be_removed() {
    let rig = Rig::new();
    let life = rig.begin().await;
    let job = id(&life.run("sleep 1000").await);
    let files = rig.files(&job);
    let in_the_way = files.dir().join("exit.json");
    stdx::state_file::ensure_dir(&in_the_way).unwrap();
    for number in 1..=limits::JOB_FILES_ASIDE_MAX {
        fs::write(files.dir().join(format!("exit.json.unreadable-{number}")), "").unwrap();
    }
    let failure = life.jobs.stop(&person(), &job).await.unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("end_unwritten", Effect::Completed));
    assert!(failure.message.contains(in_the_way.to_str().unwrap()), "{failure:?}");
    life.jobs.remove(&person(), &job, Removal::Saving).await.unwrap();
    assert_eq!(life.jobs.counts().await, (0, 0));
    // Its host finds nothing left to write to, and goes.
    while files.is_hosted() {
        tokio::task::yield_now().await;
    }
    assert!(!files.dir().exists() && !files.socket().exists());
    assert_eq!(*rig.launcher.cleared.lock().unwrap(), [job], "once, by whoever removed it");
}

/// Begins a program whose host dies before it can say so.
#[derive(Default)]
struct Dying {
    cleared: Mutex<Vec<JobId>>,
}

impl Launcher for Dying {
    fn launch(&self, files: JobFiles) -> BoxFuture<'static, Result<ProcId, Failure>> {
        Box::pin(async move {
            files.mark_begun().unwrap();
            Err(Failure::new("host_failed", Effect::Indeterminate, "it was killed"))
        })
    }

    fn end_leftovers(&self, job: &JobId) {
        self.cleared.lock().unwrap().push(job.clone());
    }
}

/// Checks that a daemon tells of a job that its host died, and nothing of the end before.
async fn check_died(life: &Life, job: &JobId) {
    let row = life.jobs.row(job).await.unwrap();
    assert_eq!((row.condition.state, row.program.exit), (JobState::Failed, None));
    assert!(row.condition.status.unwrap().contains("its host died"));
}

#[tokio::test]
async fn an_end_before_is_never_told_of_a_life_whose_host_died_as_it_began() {
    let rig = Rig::new();
    let mut life = rig.begin().await;
    let (job, _) = ended(&rig, &mut life, &["sh", "-c", "exit 4"]).await;
    life.store.close().await.unwrap();
    let launcher = Arc::new(Dying::default());
    let life = rig.begin_with(Arc::clone(&launcher) as Arc<dyn Launcher>).await;
    let failure = life.jobs.respawn(&person(), &job).await.unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("host_failed", Effect::Indeterminate));
    check_died(&life, &job).await;
    assert_eq!(*launcher.cleared.lock().unwrap(), std::slice::from_ref(&job));
    life.store.close().await.unwrap();
    // The next daemon tells the same.
    check_died(&rig.begin().await, &job).await;
}

#[tokio::test]
async fn an_end_before_is_put_back_after_a_crash_only_where_nothing_began() {
    type Leave = fn(&JobFiles, &mut pty::job::JobNote);
    let note_dead_host: Leave = |_, note| {
        note.host = Some(pty::job::HostNote { host_pid: 1, host_token: "00000000.1".into() });
    };
    let mark: Leave = |files, _| files.mark_begun().unwrap();
    // For want of room it was not noted that it was started again.
    let mark_unnoted: Leave = |files, note| {
        files.mark_begun().unwrap();
        note.ended_at = Some(7);
    };
    for leave in [note_dead_host, mark, mark_unnoted] {
        let rig = Rig::new();
        let mut life = rig.begin().await;
        let (job, _) = ended(&rig, &mut life, &["sh", "-c", "exit 4"]).await;
        life.store.close().await.unwrap();
        let files = rig.files(&job);
        files.set_exit_aside().unwrap();
        let mut note = files.read_note().unwrap().unwrap();
        (note.ended_at, note.host) = (None, None);
        note.told = pty::job::Told::by_process(JobState::Working);
        leave(&files, &mut note);
        files.write_note(&note).unwrap();
        for n_start in 0..2 {
            let mut next = rig.begin().await;
            next.ended(&job).await;
            check_died(&next, &job).await;
            assert_eq!(
                *rig.launcher.cleared.lock().unwrap(),
                std::slice::from_ref(&job),
                "{n_start}"
            );
            next.store.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_start_anew_that_waits_does_not_escape_whoever_ends_all() {
    let rig = Rig::new();
    let mut life = rig.begin().await;
    let (job, _) = ended(&rig, &mut life, &["sh", "-c", "exit 4"]).await;
    life.store.close().await.unwrap();
    // Its host holds the farewell, and is waited for.
    let files = rig.files(&job);
    let mut host = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let found = ProcId::of(host.id()).unwrap();
    let mut note = files.read_note().unwrap().unwrap();
    note.host = Some(pty::job::HostNote { host_pid: found.pid, host_token: found.token });
    files.write_note(&note).unwrap();
    let life = rig.begin().await;
    let before = life.jobs.row(&job).await.unwrap();
    let jobs = Arc::clone(&life.jobs);
    let again = job.clone();
    let respawn = tokio::spawn(async move { jobs.respawn(&person(), &again).await });
    let_all_go_on().await;
    assert!(!respawn.is_finished());
    life.jobs.end_all().await;
    host.kill().unwrap();
    host.wait().unwrap();
    let failure = respawn.await.unwrap().unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("draining", Effect::NotStarted));
    assert_eq!((life.jobs.row(&job).await.unwrap(), life.jobs.counts().await.1), (before, 0));
    assert!(!files.is_hosted());
}
