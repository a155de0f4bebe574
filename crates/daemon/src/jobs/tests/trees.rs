//! Jobs in worktrees of real repositories.

#![expect(clippy::disallowed_methods, reason = "makes a repository and asks git the plain way")]

use std::{path::Path, process::Command};

use super::*;

/// Runs a script beside the daemon.
fn sh(rig: &Rig, cwd: &Path, script: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-euc", script]).current_dir(cwd).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", rig.dir.path());
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Person");
        command.env(format!("GIT_{who}_EMAIL"), "person@localhost");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Makes a repository with one commit, and returns its directory.
fn repository(rig: &Rig) -> PathBuf {
    let path = std::fs::canonicalize(rig.dir.path()).unwrap().join("repository");
    std::fs::create_dir(&path).unwrap();
    sh(
        rig,
        &path,
        "git init -q -b main; mkdir b; echo a >a; echo b >b/b; git add -A; git commit -qm begin",
    );
    path
}

fn in_tree(cwd: &Path, script: &str) -> Dispatch {
    let worktree = Some(TreeWish::default());
    Dispatch { cwd: cwd.to_owned(), worktree, ..wish(&["sh", "-c", script], Some("Fix it")) }
}

fn n_trees(rig: &Rig) -> usize {
    let root = rig.dir.path().join("data/worktrees");
    stdx::state_file::names(&root, None, 9).unwrap().len()
}

#[tokio::test]
async fn a_job_works_in_its_worktree_and_its_work_is_saved_when_it_goes() {
    let rig = Rig::new();
    let repository = repository(&rig);
    let mut life = rig.begin().await;
    let script = "pwd >where; git branch --show-current >>where; echo more >>b; sleep 1000";
    let wish = in_tree(&repository.join("b"), script);
    let row = life.jobs.dispatch(&person(), wish).await.unwrap();
    assert_eq!(row.cwd.file_name().unwrap(), "b");
    let record = rig.files(&id(&row)).read().unwrap();
    let tree = record.worktree.clone().unwrap();
    assert_eq!((&tree.branch, &record.cwd), (&"stead/fix-it".to_owned(), &tree.path.join("b")));
    // Its own files are its own, and the person's are as they were.
    while sh(&rig, &tree.path, "cat b/b") != "b\nmore" {
        tokio::task::yield_now().await;
    }
    assert_eq!(sh(&rig, &repository, "git status --porcelain; cat b/b"), "b");
    // A daemon that comes later knows the worktree as well.
    life.jobs.stop(&person(), &id(&row)).await.unwrap();
    life.fact("job_ended", &row.id).await;
    let life = rig.begin().await;
    let saved = life.jobs.remove(&person(), &id(&row), Removal::Saving).await.unwrap();
    assert_eq!(saved.len(), 1);
    assert_eq!(saved[0].reference, format!("refs/stead/saved/{}", row.id));
    assert!(!rig.files(&id(&row)).dir().exists());
    assert_eq!((n_trees(&rig), sh(&rig, &repository, "git branch")), (0, "* main".to_owned()));
    sh(&rig, &repository, &saved[0].command);
    let there = format!("{}\nstead/fix-it", record.cwd.display());
    assert_eq!(sh(&rig, &repository, "cat b/where"), there);
    assert_eq!(*rig.launcher.cleared.lock().unwrap(), [id(&row)]);
}

#[tokio::test]
async fn a_job_that_does_not_begin_leaves_no_worktree() {
    let rig = Rig::new();
    let repository = repository(&rig);
    let life = rig.begin().await;
    let check = async |wish: Dispatch, code: &str| {
        let failure = life.jobs.dispatch(&person(), wish).await.unwrap_err();
        assert_eq!(failure.code, code, "{failure:?}");
        assert_eq!((life.jobs.counts().await, n_trees(&rig)), ((0, 0), 0), "{code}");
        assert_eq!(sh(&rig, &repository, "git branch; git worktree list | wc -l"), "* main\n1");
    };
    let missing = in_tree(&repository, "true");
    check(Dispatch { command: vec!["no-such-program".into()], ..missing }, "program_missing").await;
    check(in_tree(rig.dir.path(), "true"), "not_a_repository").await;
    let named = TreeWish { branch: Some("main".into()) };
    let wish = Dispatch { worktree: Some(named), ..in_tree(&repository, "true") };
    check(wish, "branch_exists").await;
    let long = "x".repeat(usize::try_from(limits::JOB_FILE_BYTES_MAX).unwrap());
    check(in_tree(&repository, &long), "command_too_long").await;
}

#[tokio::test]
async fn many_jobs_of_one_name_have_a_branch_each() {
    let rig = Rig::new();
    let repository = repository(&rig);
    let life = rig.begin().await;
    let starts = (0..4).map(|_| {
        let wish = in_tree(&repository, "sleep 1000");
        async { life.jobs.dispatch(&person(), wish).await.unwrap().name }
    });
    let mut names = futures_util::future::join_all(starts).await;
    names.sort();
    assert_eq!(names, ["Fix it", "Fix it (2)", "Fix it (3)", "Fix it (4)"]);
    let branches =
        sh(&rig, &repository, "git for-each-ref --format='%(refname:short)' refs/heads/stead");
    let expected = ["stead/fix-it", "stead/fix-it-2", "stead/fix-it-3", "stead/fix-it-4"];
    assert_eq!(branches.lines().collect::<Vec<_>>(), expected);
    life.jobs.end_all().await;
}

#[tokio::test]
async fn a_job_whose_work_cannot_be_saved_stays_until_it_is_given_up() {
    let rig = Rig::new();
    let repository = repository(&rig);
    let mut life = rig.begin().await;
    let wish = in_tree(&repository, "echo x >x; git update-ref refs/stead HEAD");
    let agent = Caller::passed(CallerKind::Agent(None), Carrier::Socket);
    let row = life.jobs.dispatch(&agent, wish).await.unwrap();
    life.fact("job_ended", &row.id).await;
    let failure = life.jobs.remove(&person(), &id(&row), Removal::Saving).await.unwrap_err();
    assert_eq!(failure.code, "worktree_unsaved");
    assert!(row.cwd.join("x").exists());
    assert_eq!(life.jobs.row(&id(&row)).await.unwrap().cwd, row.cwd);
    // Nor is it an agent's to give up, be the job an agent's or not.
    let refused = life.jobs.remove(&agent, &id(&row), Removal::Discarding).await.unwrap_err();
    assert_eq!(refused.code, "person_required");
    let saved = life.jobs.remove(&person(), &id(&row), Removal::Discarding).await.unwrap();
    assert_eq!((saved.len(), n_trees(&rig)), (0, 0));
    assert_eq!(life.jobs.counts().await, (0, 0));
}

#[tokio::test]
async fn no_worktree_is_made_where_no_tool_may_work() {
    let rig = Rig::new();
    let repository = repository(&rig);
    let mut parts = Arc::into_inner(rig.begin().await.jobs).unwrap().parts;
    parts.trees = Trees::new(&parts.home.join("data"), &[]);
    let jobs = Jobs::new(parts);
    let failure = jobs.dispatch(&person(), in_tree(&repository, "true")).await.unwrap_err();
    assert_eq!(failure.code, "state_refused");
    assert!(failure.hint.unwrap().contains("XDG_DATA_HOME"));
}
