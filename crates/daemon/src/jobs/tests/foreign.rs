//! Job directories that others could get into, or that are not ours at all.

#![expect(clippy::disallowed_methods, reason = "a test damages the files that it made")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use super::*;

/// A user that nobody is.
const STRANGER: u32 = 65_534;

async fn ended(rig: &Rig) -> JobFiles {
    let mut life = rig.begin().await;
    let job = id(&life.run("exit 3").await);
    life.fact("job_ended", job.as_str()).await;
    life.store.close().await.unwrap();
    rig.files(&job)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_directory_that_others_could_get_into_is_ours_alone_again() {
    let rig = Rig::new();
    let files = ended(&rig).await;
    let jobs = files.dir().parent().unwrap();
    let inner = ["job.json", "state.json", "exit.json"].map(|name| files.dir().join(name));
    for (path, loose) in [(jobs, 0o755), (files.dir(), 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(loose)).unwrap();
    }
    for path in &inner {
        fs::set_permissions(path, fs::Permissions::from_mode(0o664)).unwrap();
    }
    let row = rig.begin().await.jobs.row(files.id()).await.unwrap();
    assert_eq!(row.condition.status.as_deref(), Some("exit code 3"));
    assert_eq!(row.condition.failure, None);
    assert_eq!((mode(jobs), mode(files.dir())), (0o700, 0o700));
    assert_eq!(inner.map(|path| mode(&path)), [0o600; 3]);
}

/// Sees that a directory is listed, never looked into and never written to, and that only its name is
/// removed, if that is ours.
async fn check_refused(rig: &Rig, files: &JobFiles, real: &Path, said: &str) {
    let names = || fs::read_dir(real).unwrap().flatten().map(|one| one.file_name());
    let before: std::collections::BTreeSet<_> = names().collect();
    let record = fs::read(real.join("job.json")).unwrap();
    let life = rig.begin().await;
    let row = life.jobs.row(files.id()).await.unwrap();
    let failure = row.condition.failure.unwrap();
    assert_eq!(failure.code, "job_refused");
    assert!(failure.message.contains(said), "{failure:?}");
    assert_eq!((row.program.command.len(), row.name.as_str()), (0, files.id().as_str()));
    let again = rig.begin().await.jobs.row(files.id()).await.unwrap();
    assert_eq!((again.started_at, again.ended_at), (row.started_at, row.ended_at));
    assert_eq!(row.ended_at, Some(row.started_at), "it is no later at each start");
    let code = |told: Result<(), Failure>| told.unwrap_err().code;
    let job = files.id();
    assert_eq!(code(life.jobs.stop(&person(), job).await.map(drop)), "job_refused");
    assert_eq!(code(life.jobs.respawn(&person(), job).await.map(drop)), "job_refused");
    assert_eq!(code(life.jobs.screen(job).await.map(drop)), "job_refused");
    assert_eq!(code(life.jobs.pin(&person(), job, true).await.map(drop)), "job_refused");
    assert!(pty::record::Reader::open(files).is_err());
    assert_eq!(names().collect::<std::collections::BTreeSet<_>>(), before);
    assert_eq!(fs::read(real.join("job.json")).unwrap(), record);
    life.jobs.remove(&person(), job, Removal::Saving).await.unwrap();
    assert!(fs::symlink_metadata(files.dir()).is_err());
}

#[tokio::test]
async fn a_directory_that_is_a_link_is_refused_and_never_followed() {
    let rig = Rig::new();
    let files = ended(&rig).await;
    let elsewhere = rig.dir.path().join("elsewhere");
    fs::rename(files.dir(), &elsewhere).unwrap();
    symlink(&elsewhere, files.dir()).unwrap();
    check_refused(&rig, &files, &elsewhere, "is a link").await;
    assert!(elsewhere.join("exit.json").exists(), "what it leads to is left alone");
}

#[tokio::test]
async fn a_job_that_runs_while_its_directory_is_refused_is_listed_and_not_removed() {
    let rig = Rig::new();
    let old = rig.begin().await;
    let job = id(&old.run("read x; echo got:$x; read y").await);
    old.store.close().await.unwrap();
    let (files, elsewhere) = (rig.files(&job), rig.dir.path().join("elsewhere"));
    fs::rename(files.dir(), &elsewhere).unwrap();
    symlink(&elsewhere, files.dir()).unwrap();
    let life = rig.begin().await;
    let row = life.jobs.row(&job).await.unwrap();
    assert_eq!((row.condition.state, row.ended_at), (JobState::Working, None));
    assert_eq!(row.condition.failure.unwrap().code, "job_refused");
    let refused = life.jobs.remove(&person(), &job, Removal::Saving).await.unwrap_err();
    assert_eq!((refused.code.as_str(), refused.effect), ("job_refused", Effect::NotStarted));
    assert!(refused.hint.unwrap().contains("stead stop"));
    life.jobs.send(&person(), &job, "x\r".into()).await.unwrap();
    life.shows(&job, "got:x").await;
    assert_eq!(life.jobs.respawn(&person(), &job).await.unwrap_err().code, "job_running");
}

#[tokio::test]
async fn a_directory_of_somebody_else_is_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not run: giving a directory away takes root");
        return;
    }
    let rig = Rig::new();
    let files = ended(&rig).await;
    std::os::unix::fs::chown(files.dir(), Some(STRANGER), None).unwrap();
    check_refused(&rig, &files, files.dir(), "belongs to uid 65534").await;
}

#[tokio::test]
async fn a_file_of_somebody_else_in_a_jobs_directory_is_not_read() {
    let rig = Rig::new();
    let files = ended(&rig).await;
    let exit = files.dir().join("exit.json");
    let elsewhere = rig.dir.path().join("other.json");
    fs::rename(&exit, &elsewhere).unwrap();
    symlink(&elsewhere, &exit).unwrap();
    let row = rig.begin().await.jobs.row(files.id()).await.unwrap();
    assert_eq!(row.condition.failure.unwrap().code, "job_files_unusable");
    assert_eq!(row.program.exit, None);
    assert!(elsewhere.exists());
}
