//! Jobs whose files were damaged, while their program runs or after its end.

#![expect(clippy::disallowed_methods, reason = "a test damages the files that it made")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::*;

/// What happens to a file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    /// So many hundredths of it are left.
    Cut(usize),
    Garbage,
    Newer,
    Locked,
}

impl Damage {
    const ALL: [Self; 7] = [
        Self::Cut(0),
        Self::Cut(1),
        Self::Cut(50),
        Self::Cut(99),
        Self::Garbage,
        Self::Newer,
        Self::Locked,
    ];

    /// Does it, and returns what stands there then; none where nobody is kept out of anything.
    fn do_to(self, path: &Path) -> Option<Vec<u8>> {
        let whole = fs::read(path).unwrap();
        let damaged = match self {
            Self::Cut(hundredths) => whole[..whole.len() * hundredths / 100].to_vec(),
            Self::Garbage => vec![0xff; 100],
            Self::Newer => {
                let text = String::from_utf8(whole).unwrap();
                text.replacen('{', r#"{"schema":2,"#, 1).into_bytes()
            }
            Self::Locked if rustix::process::geteuid().is_root() => {
                eprintln!("not run: no mode keeps root out");
                return None;
            }
            Self::Locked => whole,
        };
        stdx::state_file::publish(path, &damaged).unwrap();
        if matches!(self, Self::Locked) {
            fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
        }
        Some(damaged)
    }

    fn code(self) -> &'static str {
        match self {
            Self::Cut(_) | Self::Garbage => "job_malformed",
            Self::Newer => "job_newer",
            Self::Locked => "job_files_unusable",
        }
    }
}

/// Reads a file that may have been locked.
fn unlocked(path: &Path) -> Vec<u8> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::read(path).unwrap()
}

fn record(files: &JobFiles) -> PathBuf {
    files.dir().join("job.json")
}

fn exit(files: &JobFiles) -> PathBuf {
    files.dir().join("exit.json")
}

#[tokio::test]
async fn a_job_whose_record_cannot_be_read_is_listed_typed_to_and_ended() {
    for damage in Damage::ALL {
        let rig = Rig::new();
        let old = rig.begin().await;
        let job = id(&old.run("read x; echo got:$x; read y").await);
        old.store.close().await.unwrap();
        let files = rig.files(&job);
        let Some(damaged) = damage.do_to(&record(&files)) else { continue };
        let life = rig.begin().await;
        let row = life.jobs.rows(&Wanted::default()).await.remove(0);
        assert_eq!(row.id, job.as_str(), "{damage:?}");
        assert_eq!((row.condition.state, row.ended_at), (JobState::Working, None), "{damage:?}");
        let failure = row.condition.failure.unwrap();
        assert_eq!((failure.code.as_str(), failure.effect), (damage.code(), Effect::Indeterminate));
        assert!(failure.hint.unwrap().contains(&format!("stead rm {job}")), "{damage:?}");
        // What can be made out is told.
        let command = if matches!(damage, Damage::Newer) { "sh" } else { "" };
        assert_eq!(row.program.command.first().map_or("", String::as_str), command);
        life.jobs.send(&person(), &job, "abc\r".into()).await.unwrap();
        life.shows(&job, "got:abc").await;
        let agent = Caller::passed(CallerKind::Agent(None), Carrier::Socket);
        assert!(life.jobs.stop(&agent, &job).await.is_err(), "it is taken for a person's");
        let row = life.jobs.stop(&person(), &job).await.unwrap();
        assert_eq!(row.condition.state, JobState::Stopped, "{damage:?}");
        assert!(row.condition.failure.is_some() && row.program.exit.is_some(), "{damage:?}");
        let again = life.jobs.respawn(&person(), &job).await.unwrap_err();
        assert_eq!((again.code.as_str(), again.effect), (damage.code(), Effect::NotStarted));
        assert_eq!(unlocked(&record(&files)), damaged, "{damage:?}: it is as it was");
        life.jobs.remove(&person(), &job, Removal::Saving).await.unwrap();
        assert!(!files.dir().exists(), "{damage:?}");
    }
}

#[tokio::test]
async fn a_job_whose_end_cannot_be_read_is_listed_as_ended_and_started_again() {
    for damage in Damage::ALL {
        let rig = Rig::new();
        let mut old = rig.begin().await;
        let job = id(&old.run("exit 3").await);
        old.fact("job_ended", job.as_str()).await;
        old.store.close().await.unwrap();
        let files = rig.files(&job);
        // As if no daemon had seen the end.
        let mut note = files.read_note().unwrap().unwrap();
        note.ended_at = None;
        note.told = pty::job::Told::by_process(JobState::Working);
        note.host = Some(pty::job::HostNote { host_pid: 1, host_token: "00000000.1".into() });
        files.write_note(&note).unwrap();
        let Some(damaged) = damage.do_to(&exit(&files)) else { continue };
        let mut life = rig.begin().await;
        let row = life.jobs.row(&job).await.unwrap();
        life.fact("job_ended", job.as_str()).await;
        assert_eq!(row.condition.state, JobState::Failed, "{damage:?}");
        assert_eq!(row.condition.failure.unwrap().code, damage.code(), "{damage:?}");
        assert!(row.ended_at.is_some() && row.program.exit.is_none(), "{damage:?}");
        // Its host has let go of what it left: nobody ends that.
        assert_eq!(*rig.launcher.cleared.lock().unwrap(), []);
        let row = life.jobs.respawn(&person(), &job).await.unwrap();
        assert_eq!(row.condition.failure, None, "{damage:?}");
        assert_eq!(life.fact("job_ended", job.as_str()).await["state"], "failed");
        let aside = files.dir().join("exit.json.unreadable-1");
        assert_eq!(unlocked(&aside), damaged, "{damage:?}: it is kept beside");
        assert_eq!(files.read_exit().unwrap().unwrap().code, Some(3), "{damage:?}");
    }
}

#[tokio::test]
async fn an_end_that_is_mended_is_told_as_it_was() {
    let rig = Rig::new();
    let mut old = rig.begin().await;
    let job = id(&old.run("exit 3").await);
    old.fact("job_ended", job.as_str()).await;
    old.store.close().await.unwrap();
    let exit = exit(&rig.files(&job));
    let whole = fs::read(&exit).unwrap();
    Damage::Garbage.do_to(&exit);
    let unread = rig.begin().await;
    let row = unread.jobs.row(&job).await.unwrap();
    assert_eq!((row.condition.state, row.program.exit), (JobState::Failed, None));
    unread.jobs.pin(&person(), &job, true).await.unwrap();
    unread.store.close().await.unwrap();
    stdx::state_file::publish(&exit, &whole).unwrap();
    let row = rig.begin().await.jobs.row(&job).await.unwrap();
    assert_eq!(row.condition.status.as_deref(), Some("exit code 3"));
    assert_eq!((row.condition.failure, row.program.exit.unwrap().code), (None, Some(3)));
}

#[tokio::test]
async fn a_note_that_cannot_be_read_is_found_out_again_and_kept_beside() {
    let rig = Rig::new();
    let old = rig.begin().await;
    let job = id(&old.run("sleep 1000").await);
    old.store.close().await.unwrap();
    let files = rig.files(&job);
    // Nothing is left that could be read but the lock.
    Damage::Garbage.do_to(&record(&files));
    Damage::Newer.do_to(&files.state());
    let life = rig.begin().await;
    let row = life.jobs.row(&job).await.unwrap();
    assert_eq!((row.condition.state, row.ended_at), (JobState::Working, None));
    let row = life.jobs.stop(&person(), &job).await.unwrap();
    assert_eq!(row.condition.state, JobState::Stopped);
    let aside = fs::read_to_string(files.dir().join("state.json.unreadable-1")).unwrap();
    assert!(aside.contains(r#""schema":2"#));
    // It can be read from then on.
    files.read_note().unwrap().unwrap();
}

#[tokio::test]
async fn a_directory_in_which_nothing_began_is_no_job() {
    let rig = Rig::new();
    let files = rig.files(&JobId::generate());
    stdx::state_file::ensure_dir(files.dir().parent().unwrap()).unwrap();
    stdx::state_file::ensure_dir(files.dir()).unwrap();
    let life = rig.begin().await;
    assert_eq!(life.jobs.counts().await, (0, 0));
    assert!(files.dir().exists());
}
