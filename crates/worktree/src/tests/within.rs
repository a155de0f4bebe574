//! Repositories in a worktree.

use vocab::limits::WORKTREE_NESTED_MAX;

use super::*;

/// A rig with a submodule whose origin lies beside it.
fn with_submodule() -> Rig {
    let rig = Rig::new();
    rig.sh(
        rig.dir.path(),
        "git init -q -b main origin; cd origin; echo s >s; git add s; git commit -qm s",
    );
    rig.sh(&rig.repository, "git -c protocol.file.allow=always submodule --quiet add ../../origin sub; git commit -qm sub");
    rig
}

const FILL: &str = "git -c protocol.file.allow=always submodule --quiet update --init";

fn check(rig: &Rig, script: &str, words: Option<&str>) {
    let made = rig.made();
    made.sh(script);
    match words {
        None => {
            made.retire().unwrap_or_else(|error| panic!("{script}: {error}"));
        }
        Some(words) => {
            let error = made.retire().err().unwrap_or_else(|| panic!("{script}"));
            assert!(error.to_string().contains(words), "{script}: {error}");
            assert_eq!(error.code(), "worktree_unsaved");
            assert!(error.hint().unwrap().contains("push"), "{script}: {error:?}");
            assert!(made.path().exists());
            rig.trees.discard(made.tree()).unwrap();
        }
    }
    made.assert_gone();
}

#[test]
fn a_submodule_with_work_of_its_own_is_not_removed() {
    let rig = with_submodule();
    check(&rig, "echo x >x", None);
    check(&rig, FILL, None);
    check(&rig, &format!("{FILL}; echo more >>sub/s"), Some("sub in it has changes"));
    check(&rig, &format!("{FILL}; echo new >sub/new"), Some("sub in it has changes"));
    let commit = "cd sub; echo more >>s; git commit -qam more";
    check(&rig, &format!("{FILL}; {commit}"), Some("sub in it has commits"));
    check(&rig, &format!("{FILL}; {commit}; git push -q origin HEAD:refs/heads/pushed"), None);
    check(&rig, &format!("{FILL}; echo stashed >>sub/s; git -C sub stash -q"), Some("has commits"));
    check(&rig, "echo file >sub/file", Some("is not one any more"));
    // Git keeps what a submodule was where nobody sees it. Each commit says something else, since two of one
    // second that say the same are one, and that was pushed above.
    let of_branch =
        format!("{FILL}; (cd sub; git switch -qc own; echo own >>s; git commit -qam own)");
    check(&rig, &format!("{of_branch}; git rm -qf sub"), Some("sub in it has commits"));
    let left = "git switch -q --detach; echo left >>s; git commit -qam left; git switch -q own";
    check(&rig, &format!("{FILL}; cd sub; git branch own; {left}"), Some("sub in it has commits"));
    for flag in ["assume-unchanged", "skip-worktree"] {
        let hide = format!("{FILL}; cd sub; git update-index --{flag} s");
        check(&rig, &hide, None);
        check(&rig, &format!("{hide}; echo more >>s"), Some("sub in it has changes"));
    }
    // Last, since the repository forgets where the submodule comes from.
    check(
        &rig,
        &format!("{of_branch}; git submodule -q deinit -f sub"),
        Some("sub in it has commits"),
    );
}

#[test]
fn a_clone_in_a_worktree_is_looked_into() {
    let rig = with_submodule();
    check(&rig, "git clone -q $REPO/../../origin inner", None);
    check(
        &rig,
        "git clone -q $REPO/../../origin d/inner; echo x >d/inner/x",
        Some("d/inner in it has changes"),
    );
    check(
        &rig,
        "git init -q own; cd own; echo x >x; git add x; git commit -qm x",
        Some("own in it has commits"),
    );
    // One without a commit cannot be named by the one around it.
    let made = rig.made();
    made.sh("git init -q fresh; echo x >fresh/x");
    assert_eq!(made.retire().unwrap_err().code(), "worktree_unsaved");
}

#[test]
fn a_worktree_in_a_worktree_is_looked_into_even_if_ignored() {
    let rig = Rig::new();
    let add = "git worktree add -q ignored/inner 2>/dev/null";
    let made = rig.made();
    made.sh(&format!("{add}; echo x >ignored/inner/x"));
    let error = made.retire().unwrap_err();
    assert!(error.to_string().contains("ignored/inner in it has changes"), "{error}");
    made.sh("cd ignored/inner; git add x; git commit -qm x");
    // Its branch stays.
    assert_eq!(made.retire().unwrap(), []);
    assert_eq!(rig.sh(&rig.repository, "git show inner:x"), "x");
    rig.sh(&rig.repository, "git worktree prune; git branch -qD inner");
    let made = rig.made();
    made.sh("git worktree add -q --detach plain; cd plain; echo x >x; git add x; git commit -qm x");
    let error = made.retire().unwrap_err();
    assert!(error.to_string().contains("plain in it has commits that no branch has"), "{error}");
}

#[test]
fn repositories_in_one_another_are_looked_into_only_so_deep() {
    let rig = Rig::new();
    let make = |depth: usize| {
        // From the innermost on, so that each can name the one in it.
        let all = (1..=depth).rev().map(|n| {
            let path = (1..=n).map(|n| format!("r{n}")).collect::<Vec<_>>().join("/");
            format!("mkdir -p {path}; (cd {path}; git init -q; echo x >x; git add -A 2>/dev/null; git commit -qm x; git update-ref refs/remotes/o/m HEAD)\n")
        });
        all.collect::<String>()
    };
    check(&rig, &make(WORKTREE_NESTED_MAX), None);
    check(&rig, &make(WORKTREE_NESTED_MAX + 1), Some("too deep"));
}

/// Needs the right to mount; without it there is nothing to show.
#[test]
fn where_something_is_mounted_nothing_is_removed() {
    let rig = Rig::new();
    let made = rig.made();
    made.sh("mkdir -p ignored/there ../outside; echo x >../outside/x");
    let mount =
        made.sh("mount --bind ../outside ignored/there 2>/dev/null && echo done || echo no");
    if mount == "no" {
        eprintln!("not run: nothing can be mounted here");
        return;
    }
    let refused = made.retire();
    assert!(rig.trees.discard(made.tree()).is_err());
    let is_there = made.sh("cat ../outside/x; umount ignored/there");
    assert_eq!(is_there, "x");
    let refused = refused.unwrap_err();
    assert!(refused.to_string().contains("ignored/there"), "{refused}");
    assert_eq!(made.retire().unwrap(), []);
}
