//! Whatever is in a worktree alone comes back, byte for byte.

use vocab::limits::{WORKTREE_LEFT_MAX, WORKTREE_LOG_BYTES_MAX};

use super::*;

/// Does something to a worktree, retires it, and brings what was saved back by the commands that are told.
/// The first of them must bring the files back.
fn check(script: &str, n_saved: usize) {
    let rig = Rig::new();
    let made = rig.made();
    made.sh(script);
    let before = contents(made.path());
    let saved = made.retire().unwrap_or_else(|error| panic!("{script}: {error}"));
    made.assert_gone();
    assert_eq!(saved.len(), n_saved, "{script}: {saved:?}");
    for (nth, saved) in saved.iter().enumerate() {
        assert_eq!(saved.repository, rig.repository);
        rig.sh(rig.dir.path(), &saved.command);
        if nth == 0 {
            assert_eq!(contents(&rig.repository), before, "{script}");
        }
    }
    // Nothing is left over in what was brought back.
    assert_eq!(rig.sh(&rig.repository, "git status --porcelain"), "", "{script}");
}

#[test]
fn what_was_not_committed_comes_back() {
    for script in [
        "echo more >>a.txt",
        "echo staged >a.txt; git add a.txt; echo later >a.txt",
        "echo new >new.txt; mkdir -p d/e; echo deep >d/e/f.txt; git add d",
        "rm a.txt; git rm -q --cached b/c.txt",
        "git mv a.txt moved.txt; echo more >>moved.txt",
        "chmod +x a.txt; chmod -x run.sh",
        "ln -sfn nowhere link; rm -r b; ln -s /etc b; rm a.txt; mkdir a.txt; echo x >a.txt/x",
        "head -c 100000 /dev/urandom >random; printf 'a\\000b' >nul; printf 'a\\r\\nb\\n' >crlf; : >empty",
        "printf x >'with space'; printf x >'new\nline'; printf x >-dash; printf x >\"ünï 'q' \\\\\"",
        "printf x >'a*'; printf x >':(top)b'; printf x >'\"q\"'; git add -A; printf y >'a*'",
        "git add -N a.txt; echo x >later; git add -N later",
    ] {
        check(script, 1);
    }
}

#[test]
fn what_is_saved_elsewhere_is_not_saved_again() {
    for script in [
        "true",
        "mkdir ignored; echo x >ignored/x; echo x >x.log",
        "mkdir -p empty/directory",
        // Commits that another branch or a remote has.
        "echo x >x; git add x; git commit -qm x; git -C $REPO merge -q stead/fix-the-build",
        "echo x >x; git add x; git commit -qm x; git update-ref refs/remotes/o/x HEAD",
        "git switch -qc other; echo x >x; git add x; git commit -qm x",
        "git switch -q --detach; touch a.txt",
        "git switch -q --detach; echo x >x; git add x; git commit -qm x; git branch kept; git switch -q -",
        "git commit -q --allow-empty -m x; git reset -q --hard HEAD~1; git switch -qc other; git switch -q -",
    ] {
        let rig = Rig::new();
        let made = rig.made();
        made.sh(script);
        assert_eq!(made.retire().unwrap(), [], "{script}");
        made.assert_gone();
    }
}

#[test]
fn commits_that_no_branch_has_come_back() {
    let commit = "echo x >x; git add x; git commit -qm x";
    check(commit, 1);
    check(&format!("{commit}; echo more >>x"), 1);
    check(&format!("git switch -q --detach; {commit}"), 1);
    check(&format!("git switch -q --detach; {commit}; echo more >>x; echo y >y; git add y"), 1);
    // The branch is elsewhere than the head.
    check(
        &format!("{commit}; git switch -q --detach main; echo y >y; git add y; git commit -qm y"),
        2,
    );
    check(&format!("{commit}; git switch -q --detach main; echo y >y"), 2);
    check(&format!("{commit}; git switch -qc other main; echo y >y"), 2);
    // The head was there and has left it, more than once.
    let left = format!("git switch -q --detach; {commit}; git switch -q stead/fix-the-build");
    check(&format!("{left}; echo y >y"), 2);
    check(
        &format!(
            "{left}; git switch -q --detach HEAD@{{1}}; git switch -q stead/fix-the-build; echo y >y"
        ),
        2,
    );
    check(
        &format!(
            "{left}; git switch -q --detach; echo z >z; git add z; git commit -qm z; git switch -q -; echo y >y"
        ),
        3,
    );
    let detached = format!("git switch -q --detach; {commit}");
    check(&format!("{detached}; git rebase -q main stead/fix-the-build; echo y >y"), 2);
    check(&format!("{detached}; git rebase -q --onto main HEAD stead/fix-the-build; echo y >y"), 2);
    // What a rebase of the branch has replaced is not work.
    check(
        &format!(
            "{commit}; echo m >m; git add m; git commit -qm m; git rebase -qf main; echo y >y"
        ),
        1,
    );
    check(
        &format!(
            "git update-ref refs/worktree/wip $(git commit-tree -m w HEAD^{{tree}}); {commit}"
        ),
        2,
    );
    check(&format!("{detached}; git switch -q --orphan fresh; echo y >y"), 2);
    check(
        &format!(
            "{detached}; git switch -q --orphan fresh; echo y >y; git add y; git commit -qm y; echo z >z"
        ),
        2,
    );
    // A branch without a commit.
    check("git switch -q --orphan fresh; echo y >y; git add y; echo z >z", 1);
}

#[test]
fn what_was_begun_comes_back_with_its_conflicts() {
    let sides = "echo ours >a.txt; git commit -qam ours; git switch -q --detach main
        echo theirs >a.txt; git commit -qam theirs; git tag theirs; git switch -q stead/fix-the-build";
    // The files, and the side that only a tag has.
    check(&format!("{sides}; ! git merge -q theirs >/dev/null; git diff --quiet || echo x >x"), 2);
    check(&format!("{sides}; ! git cherry-pick theirs >/dev/null 2>&1; rm a.txt; echo x >x"), 2);
    // The files on the other side, and the branch, which a rebase moves last.
    check(&format!("{sides}; ! git rebase -q theirs >/dev/null 2>&1; echo both >a.txt"), 2);
    check(&format!("{sides}; ! git rebase -q theirs >/dev/null 2>&1; git add a.txt"), 2);
    check(&format!("{sides}; git merge -q --no-commit -s ours theirs; echo x >x"), 2);
}

#[test]
fn what_git_has_put_away_meanwhile_comes_back() {
    let two = "echo x >x; git add x; git commit -qm x; echo y >y; git add y; git commit -qm y";
    let edit = "GIT_SEQUENCE_EDITOR='sed -i 1s/^pick/edit/' git rebase -q -i";
    check(&format!("{two}; echo away >>a.txt; {edit} --autostash main 2>/dev/null; echo z >z"), 3);
    check(
        &format!("git switch -q --detach; {two}; {edit} main 2>/dev/null; git reset -q HEAD~1"),
        2,
    );
    check(
        "git switch -qc x1; echo x >x; git add x; git commit -qm x; git switch -q -; echo m >m; git add m
        git commit -qm m; echo away >>a.txt; git merge -q --no-commit --autostash x1; echo z >z",
        2,
    );
    let rig = Rig::new();
    let made = rig.made();
    made.sh("echo p >>a.txt; git commit -qam p; git format-patch -q -1 -o ../p HEAD; git reset -q --hard HEAD~1
        echo other >a.txt; git commit -qam other; ! git am -q ../p/*.patch 2>/dev/null");
    assert!(made.retire().unwrap_err().to_string().contains("git am has patches"));
    made.sh("git am --abort");
    assert_eq!(made.retire().unwrap().len(), 1);
}

#[test]
fn what_is_written_while_it_is_saved_is_saved_as_well() {
    let rig = Rig::new();
    let late = "if mkdir $HOME/once 2>/dev/null; then echo late >late; fi; cat";
    rig.sh(
        &rig.repository,
        &format!(
            "git config filter.late.clean '{late}'; echo '*.l filter=late' >.gitattributes
        git add -A; git commit -qm filtered"
        ),
    );
    let made = rig.made();
    made.sh("echo l >x.l");
    let saved = made.retire().unwrap();
    assert_eq!(saved.len(), 2, "{saved:?}");
    assert_eq!(rig.sh(&rig.repository, &format!("git show {}:late", saved[1].reference)), "late");
    made.assert_gone();
}

#[test]
fn of_two_that_are_removed_at_once_one_saves_what_both_have() {
    for _ in 0..8 {
        let rig = Rig::new();
        let (one, other) = (rig.made(), rig.made_by("0123abce"));
        one.sh("echo x >x; git add x; git commit -qm x");
        let commit = one.sh("git rev-parse HEAD");
        other.sh(&format!("git reset -q --hard {commit}"));
        let saved = std::thread::scope(|scope| {
            let first = scope.spawn(|| one.retire().unwrap().len());
            other.retire().unwrap().len() + first.join().unwrap()
        });
        assert_eq!(saved, 1);
    }
}

#[test]
fn what_is_hidden_from_git_comes_back() {
    check("git update-index --assume-unchanged a.txt; echo hidden >a.txt", 1);
    check("git update-index --skip-worktree a.txt; echo hidden >a.txt", 1);
}

#[test]
fn what_is_staged_comes_back_as_it_was_staged() {
    let rig = Rig::new();
    let made = rig.made();
    made.sh("echo staged >a.txt; echo new >new; git add -A; echo later >a.txt; rm b/c.txt");
    let (before, staged) = (contents(made.path()), made.sh("git write-tree"));
    let reference = made.retire().unwrap().remove(0).reference;
    assert_eq!(reference, "refs/stead/saved/0123abcd");
    let there = |script: &str| rig.sh(&rig.repository, script);
    assert_eq!(there(&format!("git rev-parse {reference}^2^{{tree}}")), staged);
    assert_eq!(
        there(&format!("git log -1 --format=%s {reference}")),
        "what was not committed in the job fix the build (0123abcd)"
    );
    // It has the form of a stash.
    there(&format!("git stash apply -q --index {reference}"));
    assert_eq!(there("git write-tree"), staged);
    assert_eq!(contents(&rig.repository), before);
}

#[test]
fn an_ignored_file_that_was_added_all_the_same_comes_back_as_it_is() {
    let rig = Rig::new();
    let made = rig.made();
    made.sh("echo staged >x.log; git add -f x.log; echo later >x.log; echo x >y.log");
    let saved = made.retire().unwrap();
    rig.sh(rig.dir.path(), &saved[0].command);
    assert_eq!(rig.sh(&rig.repository, "cat x.log; ls *.log"), "later\nx.log");
}

#[test]
fn a_sparse_worktree_loses_nothing_and_gains_nothing() {
    let rig = Rig::new();
    let made = rig.made();
    made.sh("git sparse-checkout set --cone b 2>/dev/null; test ! -e b/../d; echo more >>b/c.txt");
    made.sh("mkdir out; echo out >out/side");
    rig.sh(&rig.repository, "mkdir e; echo e >e/e; git add e; git commit -qm e");
    made.sh("git merge -q main; test ! -e e");
    let saved = made.retire().unwrap();
    rig.sh(rig.dir.path(), &saved[0].command);
    let there = "cat b/c.txt out/side e/e; git diff --name-only main";
    assert_eq!(rig.sh(&rig.repository, there), "c\nmore\nout\ne\nb/c.txt\nout/side");
}

#[test]
fn what_filters_make_of_files_is_undone_by_them() {
    let rig = Rig::new();
    rig.sh(&rig.repository, "git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr a-z n-za-m'
        git config filter.rot.required true; echo '*.rot filter=rot' >.gitattributes; echo plain >x.rot
        git add -A; git commit -qm filtered; git config core.safecrlf true; git config core.autocrlf input");
    let made = rig.made();
    assert_eq!(made.sh("cat x.rot"), "plain");
    made.sh("echo changed >x.rot; printf 'a\\r\\n' >crlf");
    let saved = made.retire().unwrap();
    rig.sh(rig.dir.path(), &saved[0].command);
    assert_eq!(rig.sh(&rig.repository, "cat x.rot; git show HEAD:x.rot"), "changed\npunatrq");
    // One that fails loses nothing.
    let made = rig.made();
    made.sh("echo again >x.rot; git config filter.rot.clean false");
    assert_eq!(made.retire().unwrap_err().code(), "worktree_unsaved");
    assert_eq!(made.sh("cat x.rot"), "again");
}

#[test]
fn what_a_head_has_left_is_bounded() {
    let rig = Rig::new();
    let made = rig.made();
    let leave = |n: usize| {
        let commits = format!(
            "log=$(git rev-parse --git-path logs/HEAD); for n in $(seq {n}); do \
             c=$(git commit-tree -m $n HEAD^{{tree}}); \
             printf '%s %s a <b> 0 +0000\\tcheckout: moving from %s to x\\n' $c $c $c >>\"$log\"; done"
        );
        made.sh(&commits);
    };
    leave(WORKTREE_LEFT_MAX + 1);
    let refused = made.retire().unwrap_err();
    assert_eq!(refused.code(), "worktree_unsaved");
    assert!(refused.to_string().contains("has left 201 commits behind"), "{refused}");
    made.sh("git rev-parse --git-path logs/HEAD | xargs sed -i '$d'");
    assert_eq!(made.retire().unwrap().len(), WORKTREE_LEFT_MAX);

    let rig = Rig::new();
    let made = rig.made();
    made.sh(&format!(
        "git rev-parse --git-path logs/HEAD | xargs truncate -s {}",
        WORKTREE_LOG_BYTES_MAX + 1
    ));
    assert!(made.retire().unwrap_err().to_string().contains("cannot be read whole"));
    made.sh("git rev-parse --git-path logs/HEAD | xargs truncate -s 0");
    assert_eq!(made.retire().unwrap().len(), 0);
}
