//! A job's directory that others have touched, or that luck has.

#![expect(clippy::disallowed_methods, reason = "a test damages the files that it made")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    sync::atomic::{AtomicBool, Ordering},
};

use super::*;
use crate::job::{
    ExitRecord,
    tests::{self as job_tests, Place},
};

/// A place whose directory is there.
fn place() -> Place {
    let place = job_tests::place();
    state_file::ensure_dir(place.files.dir().parent().unwrap()).unwrap();
    state_file::ensure_dir(place.files.dir()).unwrap();
    place
}

fn exit(code: i32) -> ExitRecord {
    ExitRecord { code: Some(code), signal: None, at: 7, stopped: false, failure: None }
}

#[test]
fn what_cannot_be_read_is_kept_beside_and_never_written_over() {
    let Place { dir: _kept, files } = place();
    for number in 1..=JOB_FILES_ASIDE_MAX + 1 {
        let nonsense = format!("nonsense {number}");
        state_file::publish(&files.exit(), nonsense.as_bytes()).unwrap();
        let aside = files.dir().join(format!("exit.json.unreadable-{number}"));
        if JOB_FILES_ASIDE_MAX < number {
            // Rather is the end not written than something lost.
            assert!(files.write_exit(&exit(1)).is_err() && files.set_exit_aside().is_err());
            assert_eq!(fs::read(files.exit()).unwrap(), nonsense.as_bytes());
            continue;
        }
        files.write_exit(&exit(1)).unwrap();
        assert_eq!(fs::read(aside).unwrap(), nonsense.as_bytes());
        assert_eq!(files.read_exit().unwrap(), Some(exit(1)));
        // One that can be read is replaced.
        files.write_exit(&exit(2)).unwrap();
        assert_eq!(files.read_exit().unwrap(), Some(exit(2)));
    }
}

#[test]
fn files_of_a_newer_form_are_refused_and_those_of_this_one_and_without_one_are_read() {
    let Place { dir: _kept, files } = place();
    let check = |schema: &str, code: Option<&str>| {
        let text = format!(r#"{{{schema}"code":0,"signal":null,"at":7}}"#);
        state_file::publish(&files.exit(), text.as_bytes()).unwrap();
        let found = files.read_exit().map_err(|error| error.code());
        match code {
            None => assert_eq!(found, Ok(Some(exit(0))), "{schema}"),
            Some(code) => assert_eq!(found, Err(code), "{schema}"),
        }
    };
    check("", None);
    check(r#""schema":1,"#, None);
    check(r#""schema":2,"#, Some("job_newer"));
    check(r#""schema":"x","#, None);
}

#[test]
fn what_can_be_made_out_of_a_record_is() {
    let Place { dir: _kept, files } = place();
    let check = |text: &str, expected: Salvaged| {
        state_file::publish(&files.record(), text.as_bytes()).unwrap();
        assert_eq!(files.salvage(), expected, "{text}");
    };
    check("{", Salvaged::default());
    check("7", Salvaged::default());
    check(
        r#"{"name":"build","cwd":"/w","command":["sh",7,"x"],"createdAt":7,"worktree":1}"#,
        Salvaged {
            name: Some("build".into()),
            cwd: Some("/w".into()),
            command: vec!["sh".into(), "x".into()],
            created_at: Some(7),
            worktree: None,
        },
    );
}

#[test]
fn access_of_others_is_taken_away_from_so_many_files() {
    let Place { dir: _kept, files } = place();
    let loose = fs::Permissions::from_mode(0o666);
    for number in 0..=JOB_ENTRIES_MAX {
        let path = files.dir().join(format!("{number:06}"));
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, loose.clone()).unwrap();
    }
    symlink("/etc/passwd", files.dir().join("000000-link")).unwrap();
    let tightened = files.tighten().unwrap();
    // One of those that were looked at is a link, and is left alone.
    assert_eq!(tightened.len(), JOB_ENTRIES_MAX - 1);
    assert!(tightened.iter().all(|path| state_file::check_private(path).is_ok()));
    fs::set_permissions(files.dir(), fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(files.tighten().unwrap(), [files.dir().to_owned()]);
    state_file::check_private(files.dir()).unwrap();
}

#[test]
fn a_lock_that_is_looked_at_is_taken_all_the_same() {
    let Place { dir: _kept, files } = place();
    assert!(!files.is_hosted() && !files.had_host());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let _held = files.is_hosted();
            }
        });
        for _ in 0..1_000 {
            let lock = files.lock().unwrap().unwrap();
            assert!(files.is_hosted());
            drop(lock);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let _lock = files.lock().unwrap().unwrap();
    // One that is held is refused.
    assert!(files.lock().unwrap().is_none() && files.had_host());
}

#[test]
fn whoever_still_writes_while_a_job_is_removed_does_not_hold_it_up() {
    let Place { dir, files } = place();
    let others = dir.path().join("jobs/ffffffff.gone/recording");
    fs::create_dir_all(&others).unwrap();
    let (begun, is_begun) = std::sync::mpsc::channel();
    let to = files.dir().to_owned();
    let writer = std::thread::spawn(move || {
        let mut n_written = 0_u32;
        while fs::write(to.join(n_written.to_string()), "late").is_ok() {
            n_written += 1;
            begun.send(()).ok();
        }
    });
    is_begun.recv().unwrap();
    files.remove().unwrap();
    writer.join().unwrap();
    assert!(!files.dir().exists());
    // One that was broken off is gone on with.
    let jobs = files.dir().parent().unwrap();
    sweep(jobs, &state_file::names(jobs, None, 9).unwrap());
    assert_eq!(state_file::names(jobs, None, 9).unwrap().len(), 0);
}

#[test]
fn a_start_that_nobody_finished_is_undone_unless_a_program_may_have_begun() {
    let check = |leave: fn(&JobFiles), is_begun: bool, became: BrokenStart, code: Option<i32>| {
        let Place { dir: _kept, files } = place();
        files.write_exit(&exit(4)).unwrap();
        files.set_exit_aside().unwrap();
        leave(&files);
        assert_eq!(files.settle_broken_start(is_begun).unwrap(), became);
        assert_eq!(files.read_exit().unwrap().and_then(|exit| exit.code), code);
        // Whoever has told the end lets go of what stood aside.
        files.drop_exit_before().unwrap();
        assert_eq!(files.settle_broken_start(is_begun).unwrap(), BrokenStart::None);
    };
    check(|_| (), false, BrokenStart::PutBack, Some(4));
    check(|_| (), true, BrokenStart::Begun, None);
    check(|files| files.mark_begun().unwrap(), false, BrokenStart::Begun, None);
    // An end that was told since is the truth.
    let tell = |files: &JobFiles| files.write_exit(&exit(5)).unwrap();
    check(tell, false, BrokenStart::None, Some(5));
    // Whoever knows that none began puts it back himself.
    let put_back = |files: &JobFiles| {
        files.mark_begun().unwrap();
        assert!(files.put_exit_back().unwrap());
    };
    check(put_back, false, BrokenStart::None, Some(4));
}
