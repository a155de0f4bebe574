//! Whatever fails, and whoever dies in between: nothing is lost, and another try ends it.

use super::*;

/// Stands in front of git: the call whose number stands in a file fails, before or after git did it.
const IN_FRONT: &str = r#"#!/bin/sh
read n <"$HOME/n"; read at <"$HOME/at"; read when <"$HOME/when"; read git <"$HOME/git"
n=$((n+1)); echo $n >"$HOME/n"; echo "$*" >>"$HOME/asked"
test $n = $at || exec "$git" "$@"
test $when = before || "$git" "$@"
echo 'fatal: it did not work' >&2
exit 128
"#;

/// A rig whose git fails when it is told to.
fn faulty() -> Rig {
    let mut rig = Rig::new();
    let home = fs::canonicalize(rig.dir.path()).unwrap().join("home");
    let bin = home.join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(home.join("git"), rig.sh(&home, "command -v git") + "\n").unwrap();
    fs::write(bin.join("git"), IN_FRONT).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut search = bin.into_os_string();
    search.push(":");
    search.push(std::env::var_os("PATH").unwrap());
    let environment = [("PATH".into(), search), ("HOME".into(), home.into())];
    let data = rig.trees.root().parent().unwrap().to_owned();
    rig.trees = Trees::new(&data, &environment);
    fail(&rig, 0, "before");
    rig
}

/// Makes the call of a number fail, from now on.
fn fail(rig: &Rig, at: usize, when: &str) {
    let home = rig.dir.path().join("home");
    for (name, text) in [("at", at.to_string()), ("n", "0".into()), ("when", when.into())] {
        fs::write(home.join(name), text + "\n").unwrap();
    }
}

fn n_calls(rig: &Rig) -> usize {
    fs::read_to_string(rig.dir.path().join("home/n")).unwrap().trim().parse().unwrap()
}

/// Fails at one call of saving and removing, and tells whether there was such a call.
fn retire_with(at: usize, when: &str) -> bool {
    let rig = faulty();
    let made = rig.made();
    made.sh(MIXED);
    let (before, known) = (contents(made.path()), rig.known());
    let staged = made.sh("git ls-files -s");
    fail(&rig, at, when);
    let tried = made.retire();
    if tried.is_ok() && n_calls(&rig) < at {
        return false;
    }
    if let Err(TreeError::Unsaved { .. }) = &tried {
        assert_eq!(contents(made.path()), before, "{when} {at}");
        assert_eq!(made.sh("git ls-files -s"), staged, "{when} {at}");
        let now = rig.known();
        let kept = now.lines().filter(|line| !line.contains("refs/stead/saved/"));
        assert_eq!(kept.collect::<Vec<_>>(), known.lines().collect::<Vec<_>>());
    }
    fail(&rig, 0, "before");
    let saved = made.retire().unwrap();
    made.assert_gone();
    assert_eq!(saved.len(), 2, "{when} {at}: {saved:?}");
    rig.sh(rig.dir.path(), &saved[0].command);
    assert_eq!(contents(&rig.repository), before, "{when} {at}");
    true
}

/// Work of every kind: on the branch alone, staged, changed, new.
const MIXED: &str = "echo x >x; git add x; git commit -qm x; git switch -q --detach main
    echo staged >a.txt; git add a.txt; echo later >a.txt; echo new >new";

/// Fails at every third call from one on; the thirds run beside each other.
fn retire_with_each(from: usize) {
    let n_calls = (from..).step_by(3).take_while(|at| retire_with(*at, "before")).count();
    assert!(8 < n_calls, "{n_calls} calls");
}

#[test]
fn a_failure_at_any_step_loses_nothing_and_another_try_ends_it() {
    retire_with_each(1);
}

#[test]
fn a_failure_at_any_second_step_loses_nothing_and_another_try_ends_it() {
    retire_with_each(2);
}

#[test]
fn a_failure_at_any_third_step_loses_nothing_and_another_try_ends_it() {
    retire_with_each(3);
}

/// Ends after every second of the calls that change something; the halves run beside each other.
fn end_after_each(from: usize) {
    let rig = faulty();
    let made = rig.made();
    made.sh(MIXED);
    let asked = rig.dir.path().join("home/asked");
    fs::remove_file(&asked).unwrap();
    made.retire().unwrap();
    let asked = fs::read_to_string(asked).unwrap();
    let words = ["update-", "read-tree", "write-tree", "commit-tree", "add", "remove", "config"];
    let changes =
        |line: &&str| words.iter().any(|word| line.split(' ').any(|part| part.starts_with(word)));
    let numbered = asked.lines().enumerate().filter(|(_, line)| changes(line));
    let mut n_ends = 0;
    for (idx, line) in numbered.skip(from).step_by(2) {
        assert!(retire_with(idx + 1, "after"), "{line}");
        n_ends += 1;
    }
    assert!(4 < n_ends, "{n_ends} of {asked}");
}

#[test]
fn an_end_after_any_step_loses_nothing_and_another_try_ends_it() {
    end_after_each(0);
}

#[test]
fn an_end_after_any_second_step_loses_nothing_and_another_try_ends_it() {
    end_after_each(1);
}

#[test]
fn what_was_retired_is_told_again_and_nothing_changes() {
    let rig = Rig::new();
    let made = rig.made();
    made.sh(MIXED);
    let saved = made.retire().unwrap();
    let known = rig.known();
    assert_eq!((made.retire().unwrap(), rig.known()), (saved, known));
}

#[test]
fn a_worktree_that_cannot_be_made_leaves_nothing() {
    for when in ["before", "after"] {
        for at in 1.. {
            let rig = faulty();
            let known = rig.known();
            fail(&rig, at, when);
            let planned = rig.trees.plan(&rig.wish(&rig.repository));
            let made = planned.and_then(|planned| rig.trees.make(&planned));
            if made.is_ok() && n_calls(&rig) < at {
                break;
            }
            fail(&rig, 0, "before");
            assert!(made.is_err(), "{when} {at}");
            assert_eq!(rig.known(), known, "{when} {at}");
            let left = fs::read_dir(rig.trees.root()).map_or(0, Iterator::count);
            assert_eq!(left, 0, "{when} {at}");
        }
    }
}

#[test]
fn a_repository_that_takes_nothing_loses_nothing() {
    let check = |breaks: &str, mends: &str| {
        let rig = Rig::new();
        let made = rig.made();
        made.sh("echo more >>a.txt; echo x >x; git add x; git commit -qm x; echo y >y");
        let before = contents(made.path());
        rig.sh(&rig.repository, breaks);
        let error = made.retire().unwrap_err();
        assert_eq!(error.code(), "worktree_unsaved", "{breaks}: {error}");
        assert!(error.hint().unwrap().contains("--discard"));
        assert_eq!(contents(made.path()), before, "{breaks}");
        rig.sh(&rig.repository, mends);
        let saved = made.retire().unwrap();
        rig.sh(rig.dir.path(), &saved[0].command);
        assert_eq!(contents(&rig.repository), before, "{breaks}");
    };
    // A reference stands where the directory of ours would be.
    check("git update-ref refs/stead HEAD", "git update-ref -d refs/stead");
    check(
        "cd .git/worktrees/*; mv HEAD keep; mkdir HEAD",
        "cd .git/worktrees/*; rmdir HEAD; mv keep HEAD",
    );
    if !rustix::process::geteuid().is_root() {
        check("find .git/objects -type d -exec chmod a-w {} +", "chmod -R u+w .git/objects");
        check("chmod a-w .git .git/refs", "chmod u+w .git .git/refs");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_nothing() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let rig = Rig::new();
    let made = rig.made();
    made.sh("echo secret >secret; chmod 000 secret");
    assert_eq!(made.retire().unwrap_err().code(), "worktree_unsaved");
    made.sh("chmod 600 secret");
    assert_eq!(made.retire().unwrap().len(), 1);
}

#[test]
fn an_end_in_the_middle_of_the_removal_is_gone_on_with() {
    let rig = Rig::new();
    let made = rig.made();
    made.sh(
        "echo more >>a.txt; mkdir -p ignored/deep; echo x >ignored/deep/x; chmod 555 ignored/deep",
    );
    let before = contents(made.path());
    let first = made.retire().unwrap();
    // As if it had ended before the last file went: what is left says nothing about the whole.
    let path = made.path().to_owned();
    rig.sh(
        &rig.repository,
        &format!("git worktree add -q -f --detach {:?} && rm {:?}/a.txt", path, path),
    );
    fs::rename(&path, path.with_file_name("repository-0123abcd.gone")).unwrap();
    let again = made.retire().unwrap();
    made.assert_gone();
    assert_eq!(again, first);
    rig.sh(rig.dir.path(), &again[0].command);
    assert_eq!(contents(&rig.repository), before);
}

#[test]
fn work_after_a_failed_removal_is_saved_beside_the_first() {
    let rig = Rig::new();
    let made = rig.made();
    made.sh("echo first >x; git add x; git commit -qm first; git tag keep");
    rig.sh(&rig.repository, "git update-ref refs/stead/saved/0123abcd main");
    let saved = made.retire().unwrap();
    let names: Vec<&str> = saved.iter().map(|one| one.reference.as_str()).collect();
    assert_eq!(names, ["refs/stead/saved/0123abcd", "refs/stead/saved/0123abcd-2"]);
    assert_eq!(
        rig.sh(&rig.repository, "git rev-parse refs/stead/saved/0123abcd-2"),
        rig.sh(&rig.repository, "git rev-parse keep")
    );
    assert!(
        saved[1].command.ends_with("switch -c stead/fix-the-build-2 refs/stead/saved/0123abcd-2")
    );
}
