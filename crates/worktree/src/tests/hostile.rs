//! Repositories and programs that mean no good.

use super::*;

#[test]
fn no_program_of_the_repository_runs_besides_filters() {
    let rig = Rig::new();
    let marker = rig.dir.path().join("ran");
    let program = rig.dir.path().join("program");
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >>{marker:?}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = "applypatch-msg post-checkout post-commit post-index-change pre-commit \
        reference-transaction post-rewrite update fsmonitor-watchman";
    let made = rig.made();
    made.sh("git switch -q --detach; echo x >x; git add x; git commit -qm x; echo y >y; git add y; echo z >>a.txt");
    rig.sh(
        &rig.repository,
        &format!(
            "for hook in {hooks}; do cp {program:?} .git/hooks/$hook; done
        git config core.fsmonitor {program:?}; git config core.pager {program:?}
        git config diff.external {program:?}; git config core.editor {program:?}
        git config core.sshCommand {program:?}; git config core.askPass {program:?}
        git config gpg.program {program:?}; git config commit.gpgSign true
        git config alias.add '!{program:?}'; git config core.alternateRefsCommand {program:?}
        git config diff.x.textconv {program:?}; git config diff.x.command {program:?}
        printf '* diff=x\\n' >.git/info/attributes"
        ),
    );
    assert_eq!(made.retire().unwrap().len(), 1);
    let made = rig.made();
    fs::write(made.path().join("y"), "y").unwrap();
    assert_eq!(made.retire().unwrap().len(), 2);
    let ran = fs::read_to_string(&marker).unwrap_or_default();
    assert_eq!(ran, "");
}

#[test]
fn a_worktree_that_became_another_repository_is_not_taken_for_ours() {
    let check = |script: &str| {
        let rig = Rig::new();
        let made = rig.made();
        made.sh(script);
        let error = made.retire().unwrap_err();
        assert_eq!(error.code(), "worktree_unsaved", "{script}: {error}");
        assert!(made.path().join("a.txt").exists());
    };
    check("rm .git; git init -q; git add -A; git commit -qm own");
    check(
        "echo x >x; git -C $REPO worktree add -q --detach ../other; echo \"gitdir: $REPO/.git/worktrees/other\" >.git",
    );
    check("rm .git; ln -s $REPO/.git .git");
    check("rm .git; mkfifo .git");
}

#[test]
fn a_link_in_the_place_of_the_worktree_is_not_followed() {
    let rig = Rig::new();
    let made = rig.made();
    let precious = rig.dir.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("f"), "f").unwrap();
    fs::remove_dir_all(made.path()).unwrap();
    std::os::unix::fs::symlink(&precious, made.path()).unwrap();
    assert_eq!(made.retire().unwrap_err().code(), "worktree_unsaved");
    rig.trees.discard(made.tree()).unwrap();
    assert_eq!(fs::read_to_string(precious.join("f")).unwrap(), "f");
    made.assert_gone();
}

#[test]
fn links_in_a_worktree_are_saved_and_removed_as_links() {
    let rig = Rig::new();
    let made = rig.made();
    let precious = rig.dir.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("f"), "f").unwrap();
    made.sh(&format!(
        "ln -s {precious:?} to; git add -A; rm -r b; ln -s {precious:?} b; mkfifo pipe"
    ));
    assert_eq!(made.retire().unwrap().len(), 1);
    made.assert_gone();
    assert_eq!(fs::read_to_string(precious.join("f")).unwrap(), "f");
}
