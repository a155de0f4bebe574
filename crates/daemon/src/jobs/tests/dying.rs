//! Hosts that died without a daemon, and hosts that only look as if they had.

use std::sync::{
    Condvar,
    mpsc::{Receiver, SyncSender, sync_channel},
};

use super::*;

/// Ends leftovers when it is told to, and says when it was asked.
#[derive(Debug)]
struct Resisting {
    asked: Mutex<SyncSender<JobId>>,
    /// How many are ended just now, and how many were at most.
    at_once: Mutex<(usize, usize)>,
    is_let: Mutex<bool>,
    changed: Condvar,
}

impl Launcher for Resisting {
    fn launch(&self, _files: JobFiles) -> BoxFuture<'static, Result<ProcId, Failure>> {
        Box::pin(async { Err(Failure::not_started("host_failed", "none is started here")) })
    }

    fn end_leftovers(&self, job: &JobId) {
        let enter = |(now, most): (usize, usize)| (now + 1, most.max(now + 1));
        let count = |step: &dyn Fn((usize, usize)) -> (usize, usize)| {
            let mut at_once = self.at_once.lock().unwrap();
            *at_once = step(*at_once);
        };
        count(&enter);
        self.asked.lock().unwrap().send(job.clone()).unwrap();
        let is_let = self.is_let.lock().unwrap();
        drop(self.changed.wait_while(is_let, |is_let| !*is_let).unwrap());
        count(&|(now, most)| (now - 1, most));
    }
}

impl Resisting {
    fn new() -> (Arc<Self>, Receiver<JobId>) {
        let (sender, asked) = sync_channel(64);
        let (is_let, changed) = (Mutex::new(false), Condvar::new());
        let (asking, at_once) = (Mutex::new(sender), Mutex::default());
        (Arc::new(Self { asked: asking, at_once, is_let, changed }), asked)
    }

    fn let_go(&self) {
        *self.is_let.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

/// Writes the files of a job that an earlier daemon has started.
fn left(rig: &Rig, host: Option<pty::job::HostNote>) -> JobFiles {
    let job = JobId::generate();
    let files = rig.files(&job);
    let record = fault::blank(&job, rig.clock.now().as_millis());
    files.create(&pty::job::JobRecord { command: vec!["cat".into()], ..record }).unwrap();
    let mut note = pty::job::JobNote::begun(7);
    note.host = host;
    files.write_note(&note).unwrap();
    files
}

fn dead(rig: &Rig) -> JobFiles {
    let gone = pty::job::HostNote { host_pid: 1, host_token: "00000000.1".into() };
    let files = left(rig, Some(gone));
    drop(files.lock().unwrap().unwrap());
    files
}

async fn wait_for(asked: Receiver<JobId>, n: usize) -> (Vec<JobId>, Receiver<JobId>) {
    let waiting = move || {
        let told = (0..n).map(|_| asked.recv_timeout(PATIENCE).unwrap()).collect();
        (told, asked)
    };
    tokio::task::spawn_blocking(waiting).await.unwrap()
}

#[tokio::test]
async fn nobody_waits_for_the_end_of_what_a_dead_host_has_left() {
    let rig = Rig::new();
    let (launcher, asked) = Resisting::new();
    let mut life = rig.begin_with(Arc::clone(&launcher) as Arc<dyn Launcher>).await;
    let files = dead(&rig);
    let row = life.jobs.row(files.id()).await.unwrap();
    let (told, _asked) = wait_for(asked, 1).await;
    assert_eq!(told, [files.id().clone()]);
    assert_eq!((row.condition.state, row.ended_at), (JobState::Failed, None));
    assert!(row.condition.status.unwrap().contains("is being ended"));
    // It is not started again over what still runs.
    let again = life.jobs.respawn(&person(), files.id()).await.unwrap_err();
    assert_eq!(again.code, "job_running");
    launcher.let_go();
    assert_eq!(life.fact("job_ended", files.id().as_str()).await["state"], "failed");
    let row = life.jobs.stop(&person(), files.id()).await.unwrap();
    assert!(row.ended_at.is_some() && row.condition.status.unwrap().contains("its host died"));
}

#[tokio::test]
async fn who_ends_a_job_whose_host_has_died_waits_and_does_not_change_how_it_ended() {
    for way in ["stop", "rm", "daemon stop"] {
        let rig = Rig::new();
        let (launcher, asked) = Resisting::new();
        let mut life = rig.begin_with(Arc::clone(&launcher) as Arc<dyn Launcher>).await;
        let files = dead(&rig);
        let job = files.id().clone();
        life.jobs.row(&job).await.unwrap();
        let (_, _asked) = wait_for(asked, 1).await;
        let (jobs, ended) = (Arc::clone(&life.jobs), job.clone());
        let ending = tokio::spawn(async move {
            match way {
                "stop" => jobs.stop(&person(), &ended).await.map(drop),
                "rm" => jobs.remove(&person(), &ended, Removal::Saving).await.map(drop),
                _ => {
                    jobs.end_all().await;
                    Ok(())
                }
            }
        });
        let_all_go_on().await;
        assert!(!ending.is_finished(), "{way}");
        assert!(!files.read_note().unwrap().unwrap().stop_requested, "{way}");
        launcher.let_go();
        ending.await.unwrap().unwrap();
        assert_eq!(life.fact("job_ended", job.as_str()).await["state"], "failed", "{way}");
        if way != "rm" {
            let row = life.jobs.row(&job).await.unwrap();
            assert_eq!(row.condition.state, JobState::Failed, "{way}");
            assert!(row.condition.status.unwrap().contains("its host died"), "{way}");
        }
    }
}

#[tokio::test]
async fn leftovers_are_ended_side_by_side_and_only_so_many() {
    let rig = Rig::new();
    let (launcher, asked) = Resisting::new();
    let mut life = rig.begin_with(Arc::clone(&launcher) as Arc<dyn Launcher>).await;
    let n_dead = limits::JOBS_FINISHED_AT_ONCE + 2;
    let files: Vec<JobFiles> = std::iter::repeat_with(|| dead(&rig)).take(n_dead).collect();
    assert_eq!(life.jobs.counts().await, (n_dead, n_dead));
    let (_, asked) = wait_for(asked, limits::JOBS_FINISHED_AT_ONCE).await;
    launcher.let_go();
    wait_for(asked, 2).await;
    for files in &files {
        life.ended(files.id()).await;
    }
    assert_eq!(*launcher.at_once.lock().unwrap(), (0, limits::JOBS_FINISHED_AT_ONCE));
}

#[tokio::test]
async fn a_host_that_is_not_noted_and_has_no_socket_yet_is_not_taken_for_dead() {
    let rig = Rig::new();
    let mut life = rig.begin().await;
    let files = left(&rig, None);
    // Whoever starts a host takes its lock, and dies before it has noted it.
    let lock = files.lock().unwrap().unwrap();
    let row = life.jobs.row(files.id()).await.unwrap();
    assert_eq!((row.condition.state, row.ended_at), (JobState::Working, None));
    let (sender, ready) = tokio::sync::oneshot::channel();
    let host = files.clone();
    std::thread::spawn(move || pty::host::run(&host, Some(lock), || sender.send(()).unwrap()));
    ready.await.unwrap();
    life.hosted(&files).await;
    let row = life.jobs.stop(&person(), files.id()).await.unwrap();
    assert_eq!(row.condition.state, JobState::Stopped);
    life.fact("job_ended", files.id().as_str()).await;
    assert_eq!(*rig.launcher.cleared.lock().unwrap(), []);
}

#[tokio::test]
async fn a_host_that_lets_go_of_its_lock_before_it_began_is_dead() {
    let rig = Rig::new();
    let mut life = rig.begin().await;
    let files = left(&rig, None);
    let lock = files.lock().unwrap().unwrap();
    assert_eq!(life.jobs.row(files.id()).await.unwrap().ended_at, None);
    drop(lock);
    assert_eq!(life.fact("job_ended", files.id().as_str()).await["state"], "failed");
    assert_eq!(*rig.launcher.cleared.lock().unwrap(), [files.id().clone()]);
}
