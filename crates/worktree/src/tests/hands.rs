//! What people do to worktrees with their own hands.

use super::*;

#[test]
fn a_directory_that_somebody_removed_is_no_loss_of_commits() {
    let check = |script: &str, n_saved: usize| {
        let rig = Rig::new();
        let made = rig.made();
        made.sh("echo x >x; git add x; git commit -qm x; echo y >y; git add y");
        rig.sh(&rig.repository, &script.replace("TREE", &format!("{:?}", made.path())));
        let saved = made.retire().unwrap();
        assert_eq!(saved.len(), n_saved, "{script}: {saved:?}");
        made.assert_gone();
        rig.sh(rig.dir.path(), &saved[0].command);
        assert_eq!(rig.sh(&rig.repository, "cat x"), "x");
    };
    // What was staged is there, too.
    check("rm -r TREE", 1);
    check("rm -r TREE; git worktree prune", 1);
    check("git worktree remove --force TREE", 1);
    check("git worktree lock TREE; rm -r TREE", 1);
}

#[test]
fn files_that_git_has_forgotten_are_saved_from_the_branch_on() {
    let check = |script: &str| {
        let rig = Rig::new();
        let made = rig.made();
        made.sh("echo x >x; git add x; git commit -qm x; echo y >y; echo more >>a.txt");
        let before = contents(made.path());
        rig.sh(&rig.repository, &script.replace("TREE", &format!("{:?}", made.path())));
        let saved = made.retire().unwrap();
        made.assert_gone();
        rig.sh(rig.dir.path(), &saved[0].command);
        assert_eq!(contents(&rig.repository), before, "{script}");
    };
    check("mv TREE elsewhere; git worktree prune; mv elsewhere TREE");
    check("rm TREE/.git");
    check("rm .git/worktrees/*/index");
    check("touch .git/worktrees/repository-0123abcd/index.lock");
    check("rm TREE/.git; mv TREE elsewhere; git worktree prune; mv elsewhere TREE");
    check("git worktree lock TREE");
}

#[test]
fn a_worktree_that_somebody_moved_is_theirs() {
    let rig = Rig::new();
    let made = rig.made();
    made.sh("echo x >x; git add x; git commit -qm x; echo y >y");
    let moved = rig.dir.path().join("moved");
    rig.sh(&rig.repository, &format!("git worktree move {:?} {moved:?}", made.path()));
    let saved = made.retire().unwrap();
    assert_eq!(rig.sh(&moved, "cat y; git branch --show-current"), "y\nstead/fix-the-build");
    // The branch stays with it, so that the command names another one.
    assert!(saved[0].command.contains("switch -c stead/fix-the-build-2 "), "{saved:?}");
}

#[test]
fn a_branch_that_is_used_elsewhere_stays() {
    let rig = Rig::new();
    let made = rig.made();
    made.sh("echo x >x; git add x; git commit -qm x; git switch -q --detach");
    rig.sh(&rig.repository, "git switch -q stead/fix-the-build");
    assert_eq!(made.retire().unwrap().len(), 1);
    assert_eq!(
        rig.sh(&rig.repository, "git branch --show-current; git status --porcelain"),
        "stead/fix-the-build"
    );
}

#[test]
fn a_repository_that_is_gone_keeps_the_files_until_they_are_given_up() {
    let rig = Rig::new();
    let made = rig.made();
    made.sh("echo y >y");
    let away = rig.dir.path().join("away");
    fs::rename(&rig.repository, &away).unwrap();
    let error = made.retire().unwrap_err();
    assert_eq!((error.code(), error.hint().is_some()), ("repository_missing", true));
    assert!(made.path().join("y").exists());
    // Put back, all is well.
    fs::rename(&away, &rig.repository).unwrap();
    assert_eq!(made.retire().unwrap().len(), 1);
    made.assert_gone();
    let made = rig.made();
    fs::rename(&rig.repository, &away).unwrap();
    rig.trees.discard(made.tree()).unwrap();
    assert!(!made.path().exists());
    // Then there is nothing left to ask about.
    assert_eq!(made.retire().unwrap(), []);
}

#[test]
fn what_is_given_up_is_gone_and_nothing_else() {
    let rig = Rig::new();
    let known = rig.known();
    let made = rig.made();
    made.sh("echo x >x; git add x; git commit -qm x; echo y >y; git config branch.stead/fix-the-build.remote o");
    rig.trees.discard(made.tree()).unwrap();
    made.assert_gone();
    assert_eq!(rig.known(), known);
    assert_eq!(rig.sh(&rig.repository, "git config --get-regexp '^branch' || echo none"), "none");
}

#[test]
fn only_worktrees_of_ours_are_ever_removed() {
    let rig = Rig::new();
    let made = rig.made();
    let root = rig.trees.root();
    for path in
        [rig.repository.clone(), root.to_owned(), root.join("a/b"), root.join(".."), "/".into()]
    {
        let tree = Worktree { path: path.clone(), ..made.tree().clone() };
        assert_eq!(rig.trees.discard(&tree).unwrap_err().code(), "worktree_foreign", "{path:?}");
        let job = Job { id: &rig.id, name: "n", ended_at: 0 };
        assert_eq!(rig.trees.retire(&tree, &job).unwrap_err().code(), "worktree_foreign");
    }
    assert!(rig.repository.join("a.txt").exists() && made.path().exists());
}
