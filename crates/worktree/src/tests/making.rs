//! Where worktrees are made, and where they are not.

use super::*;

#[test]
fn a_worktree_has_a_branch_of_its_own_and_begins_where_the_person_was() {
    let rig = Rig::new();
    let planned = rig.trees.plan(&rig.wish(&rig.repository.join("b"))).unwrap();
    // A plan changes nothing.
    assert!(!planned.tree.path.exists());
    rig.trees.make(&planned).unwrap();
    let tree = &planned.tree;
    assert_eq!(tree.branch, "stead/fix-the-build");
    assert_eq!(tree.path.file_name().unwrap(), "repository-0123abcd");
    assert_eq!((&planned.cwd, &tree.repository), (&tree.path.join("b"), &rig.repository));
    assert_eq!(tree.git_dir, rig.repository.join(".git"));
    assert_eq!(
        rig.sh(&planned.cwd, "cat c.txt; git branch --show-current"),
        "c\nstead/fix-the-build"
    );
    let mode = fs::metadata(rig.trees.root()).unwrap().mode();
    assert_eq!(mode & 0o777, 0o700);
    // The next one of that name is another one, also while nobody has made it yet.
    let second = rig.trees.plan(&rig.wish(&rig.repository)).unwrap();
    assert_eq!(second.tree.branch, "stead/fix-the-build-2");
    let other = Worktree {
        git_dir: "/other".into(),
        branch: "stead/fix-the-build-3".into(),
        ..second.tree.clone()
    };
    let taken = [second.tree, other];
    let wish = Wish { taken: &taken, ..rig.wish(&rig.repository) };
    assert_eq!(rig.trees.plan(&wish).unwrap().tree.branch, "stead/fix-the-build-3");
    rig.trees.unmake(tree).unwrap();
    assert_eq!(rig.sh(&rig.repository, "git branch"), "* main");
}

#[test]
fn the_branch_can_be_named_and_is_never_somebody_elses() {
    let rig = Rig::new();
    rig.sh(&rig.repository, "git branch feature; git branch deep/er");
    let check = |branch: &str, code: Option<&str>| {
        let wish = Wish { branch: Some(branch), ..rig.wish(&rig.repository) };
        let planned = rig.trees.plan(&wish);
        assert_eq!(planned.as_ref().err().map(TreeError::code), code, "{branch:?}");
        if let Ok(planned) = planned {
            assert_eq!(planned.tree.branch, branch);
        }
    };
    check("mine", None);
    check("a/b", None);
    check("feature", Some("branch_exists"));
    check("feature/x", Some("branch_exists"));
    check("deep", Some("branch_exists"));
    for name in ["-x", "", "a b", "a..b", "x.lock", "@{-1}", "a\nb", "/x"] {
        check(name, Some("branch_invalid"));
    }
    // One that appeared after the plan stays as it is.
    let wish = Wish { branch: Some("late"), ..rig.wish(&rig.repository) };
    let planned = rig.trees.plan(&wish).unwrap();
    rig.sh(&rig.repository, "git branch late");
    assert_eq!(rig.trees.make(&planned).unwrap_err().code(), "branch_exists");
    assert!(rig.sh(&rig.repository, "git branch").contains("late"));
    assert!(!planned.tree.path.exists());
}

#[test]
fn a_place_without_a_commit_around_it_is_refused() {
    let rig = Rig::new();
    let base = rig.dir.path().to_owned();
    rig.sh(
        &base,
        "mkdir plain; git init -q empty; git clone -q --bare src/repository bare.git
        mkdir -p src/repository/new/deep",
    );
    let check = |cwd: &str, code: &str| {
        let error = rig.trees.plan(&rig.wish(&base.join(cwd))).unwrap_err();
        assert_eq!(error.code(), code, "{cwd}: {error}");
    };
    check("plain", "not_a_repository");
    check("bare.git", "not_a_repository");
    check("src/repository/.git", "not_a_repository");
    check("empty", "no_commit");
    check("src/repository/new/deep", "cwd_missing");
    check("nowhere", "cwd_missing");
    assert_eq!(rig.sh(&rig.repository, "git branch"), "* main");
    fs::set_permissions(base.join("src/repository"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(base.join("data")).unwrap();
    fs::set_permissions(base.join("data"), fs::Permissions::from_mode(0o755)).unwrap();
    check("src/repository", "state_refused");
}

#[test]
fn repositories_have_any_name_and_any_form() {
    for name in ["with space", "new\nline", "-dash", "ünï", "..dots", "it's"] {
        let rig = Rig::named(name);
        let made = rig.made();
        made.sh("echo x >x");
        let saved = made.retire().unwrap();
        rig.sh(Path::new("/"), &saved[0].command);
        assert_eq!(rig.sh(&rig.repository, "cat x"), "x", "{name:?}");
    }
    // Worktrees of a repository without files, and of another worktree.
    let rig = Rig::new();
    rig.sh(rig.dir.path(), "git clone -q --bare src/repository bare.git
        git -C bare.git worktree add -q ../linked main 2>/dev/null; git -C src/repository worktree add -q ../second");
    let check = |cwd: &str, repository: &str, verb: &str| {
        let base = fs::canonicalize(rig.dir.path()).unwrap();
        let planned = rig.trees.plan(&rig.wish(&base.join(cwd))).unwrap();
        rig.trees.make(&planned).unwrap();
        let made = Made { rig: &rig, planned, id: rig.id.clone() };
        made.sh("echo x >x");
        let saved = made.retire().unwrap();
        assert_eq!(saved[0].repository, base.join(repository));
        assert!(saved[0].command.contains(verb), "{saved:?}");
        rig.sh(&base, &saved[0].command);
    };
    check("linked", "bare.git", " branch ");
    check("src/second", "src/repository", " switch -c ");
}

#[test]
fn a_git_that_is_missing_is_said_to_be() {
    let rig = Rig::new();
    let data = rig.trees.root().parent().unwrap().to_owned();
    let trees = Trees::new(&data, &[("PATH".into(), "/nowhere".into())]);
    let error = trees.plan(&rig.wish(&rig.repository)).unwrap_err();
    assert_eq!(error.code(), "program_missing");
    assert!(error.hint().unwrap().contains("install git"));
}
