//! git that does not do what it should.

#![expect(clippy::disallowed_methods, reason = "stands in for git with a script")]

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::*;

/// A script in the place of git.
fn fake(dir: &Path, script: &str) -> Git {
    let path = dir.join("git");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let search = format!("{}:/usr/local/bin:/usr/bin:/bin", dir.display());
    Git::new(&[("PATH".into(), search.into()), ("SECRET".into(), "x".into())])
}

fn why(git: &Git, dir: &Path) -> String {
    match git.work().at(dir).ok(&[&"status"]) {
        Err(GitError::Failed { step, why }) => {
            assert_eq!(step, "status");
            why
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_git_that_does_not_end_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let git = fake(dir.path(), "sleep 1000 & echo $! >pid; wait");
    assert_eq!(git.limit, Duration::from_millis(WORKTREE_GIT_MS_MAX));
    let git = git.with_limit(Duration::from_millis(300));
    assert!(why(&git, dir.path()).contains("not done in time"));
    // With everything that it has started.
    let pid = fs::read_to_string(dir.path().join("pid")).unwrap_or_default();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(pid.is_empty() || stat.is_empty() || stat.contains(") Z "), "{stat}");
}

/// However soon one comes after the other, and though both are in one process here.
#[test]
fn what_the_one_before_left_running_is_ended_and_nobody_elses() {
    let dir = tempfile::tempdir().unwrap();
    let git = |owner: &str, script: &str| fake(dir.path(), script).marked(owner);
    let owner = format!("test-{}", std::process::id());
    let hangs = "echo >there; exec sleep 1000";
    let (before, elsewhere) = (git(&owner, hangs), git(&format!("{owner}0"), hangs));
    let there = dir.path().join("there");
    std::thread::scope(|scope| {
        let begin = |git: &Git| {
            let git = git.clone();
            let hung = scope.spawn(|| why(&git.with_limit(Duration::from_secs(20)), dir.path()));
            while !there.exists() {
                std::thread::yield_now();
            }
            fs::remove_file(&there).unwrap();
            hung
        };
        let foreign = begin(&elsewhere);
        let left = begin(&before);
        let now = git(&owner, hangs);
        let own = begin(&now);
        assert_eq!(now.end_leftovers(), 1);
        assert!(left.join().unwrap().contains("signal"));
        assert!(!foreign.is_finished() && !own.is_finished());
        for git in [&owner, &format!("{owner}0")] {
            assert_eq!(fake(dir.path(), hangs).marked(git).end_leftovers(), 1);
        }
        for ended in [own, foreign] {
            assert!(ended.join().unwrap().contains("signal"));
        }
    });
}

#[test]
fn what_git_says_is_bounded() {
    let (writer, reader) = sealed(8).unwrap();
    assert_eq!(rustix::io::write(&writer, b"12345678"), Ok(8));
    assert_eq!(rustix::io::write(&writer, b"9"), Err(Errno::PERM));
    assert_eq!(written(&reader).unwrap(), b"12345678");
    let dir = tempfile::tempdir().unwrap();
    let n_bytes = WORKTREE_GIT_BYTES_MAX + 1;
    let git = fake(dir.path(), &format!("head -c {n_bytes} /dev/zero || exit 3"));
    assert!(!why(&git, dir.path()).is_empty());
}

#[test]
fn a_long_complaint_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let git = fake(dir.path(), "echo fatal: $(head -c 5000 /dev/zero | tr '\\0' x) >&2; exit 1");
    let told = why(&git, dir.path());
    assert_eq!(told.chars().count(), WORKTREE_WHY_CHARS_MAX);
    let git =
        fake(dir.path(), "echo going on >&2; echo 'error: a' >&2; echo 'fatal: b' >&2; exit 9");
    assert_eq!(why(&git, dir.path()), "a; b");
    let git = fake(dir.path(), "exit 9");
    assert_eq!(why(&git, dir.path()), "exited with code 9");
}

#[test]
fn git_sees_what_it_needs_and_nobody_answers_it() {
    let dir = tempfile::tempdir().unwrap();
    let git = fake(dir.path(), "cat; env; echo \"$@\"");
    let told = git.work().at(dir.path()).ok_with(&[&"a b"], b"input\n").unwrap();
    let told = String::from_utf8(told).unwrap();
    assert!(told.starts_with("input\n") && told.ends_with(" a b\n"), "{told}");
    assert!(told.contains("core.hooksPath=/dev/null"), "{told}");
    assert!(told.contains("GIT_TERMINAL_PROMPT=0") && !told.contains("SECRET"), "{told}");
    let missing = Git::new(&[("PATH".into(), dir.path().join("none").into())]);
    let error = missing.work().at(dir.path()).ok(&[&"status"]).unwrap_err();
    assert_eq!((error.code(), error.hint().is_some()), ("program_missing", true));
}
