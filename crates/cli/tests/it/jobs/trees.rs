//! Jobs in worktrees, as a person starts and removes them.

use std::path::PathBuf;

use super::*;

/// Makes a repository in the directory that commands start in.
fn repository(home: &Home) -> PathBuf {
    let script = "git init -q -b main . && mkdir b && echo a >a && echo b >b/b && printf '*.log\\n' >.gitignore \
        && git add -A && git -c user.name=P -c user.email=p@localhost commit -qm begin";
    home.shell(script).with(0);
    fs::canonicalize(home.work()).unwrap()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_job_in_a_worktree_leaves_its_work_where_a_person_finds_it() {
    let home = Home::new();
    let repository = repository(&home);
    let script = "echo more >>b; echo new >new; echo x >x.log; pwd >where";
    let told = home.stead(&[
        "bg",
        "--json",
        "--worktree",
        "--name",
        "Add tests",
        "-C",
        "b",
        "--",
        "sh",
        "-c",
        script,
    ]);
    let started = value(&told.with(0).out);
    let id = started["id"].as_str().unwrap();
    let cwd = fs::canonicalize(home.path("user")).unwrap();
    let cwd = cwd.join(format!(".local/share/stead/worktrees/work-{id}/b"));
    assert_eq!(started["cwd"], cwd.to_str().unwrap());
    home.stead(&["wait", id, "--timeout", "60"]).with(0);
    assert_eq!(row(&home, id)["cwd"], started["cwd"]);
    let tree = serde_json::json!({
        "branch": "stead/add-tests", "path": cwd.parent().unwrap(), "repository": repository,
    });
    assert_eq!((&started["worktree"], &row(&home, id)["worktree"]), (&tree, &tree));
    assert_eq!(
        home.shell("git status --porcelain; git branch").with(0).out,
        "* main\n+ stead/add-tests\n"
    );
    let removed = home.stead(&["rm", "Add tests"]).with(0);
    let lines: Vec<&str> = removed.err.lines().collect();
    let reference = format!("refs/stead/saved/{id}");
    let command = format!("git -C {} switch -c stead/add-tests {reference}", repository.display());
    assert_eq!(
        lines,
        [
            format!("removed · {id} · Add tests"),
            format!("saved · {reference}"),
            format!("  {command}")
        ]
    );
    assert!(!cwd.exists() && cwd.ancestors().nth(2).unwrap().exists());
    // What was told is typed, and everything is there, but for what git was told to ignore.
    home.shell(lines[2]).with(0);
    let there = home.shell("cat b/b b/new b/where; ls b; git status --porcelain").with(0);
    assert_eq!(there.out, format!("b\nmore\nnew\n{}\nb\nnew\nwhere\n", cwd.display()));
}

#[test]
fn who_starts_a_job_in_a_worktree_is_told_its_branch_and_its_place() {
    let home = Home::new();
    repository(&home);
    let told = home.stead(&["bg", "--worktree=mine", "--name", "x", "--", "true"]).with(0);
    let id = told.out.split(" · ").nth(1).unwrap().to_owned();
    let tree = row(&home, &id)["worktree"].clone();
    assert_eq!(tree["branch"], "mine");
    let line = format!("  on branch mine, in {}\n", tree["path"].as_str().unwrap());
    assert!(told.err.contains(&line), "{}", told.err);
    let told = home.stead(&["bg", "--name", "y", "--", "true"]).with(0);
    assert!(!told.err.contains("on branch"), "{}", told.err);
}

#[test]
fn a_named_branch_and_what_was_saved_are_told_to_programs_as_well() {
    let home = Home::new();
    repository(&home);
    let bg = |script: &str| {
        let told = home.stead(&["bg", "--json", "--worktree=mine", "--", "sh", "-c", script]);
        let id = value(&told.with(0).out)["id"].as_str().unwrap().to_owned();
        home.stead(&["wait", &id, "--timeout", "60"]).with(0);
        id
    };
    let id = bg("git branch --show-current >branch; echo new >new");
    let gone = value(&home.stead(&["rm", "--json", &id]).with(0).out);
    assert_eq!(gone[0]["id"], *id);
    let saved = &gone[0]["saved"][0];
    assert_eq!(saved["reference"], format!("refs/stead/saved/{id}"));
    assert!(saved["command"].as_str().unwrap().contains(" switch -c mine "), "{saved}");
    let show = format!("git show {}:branch", saved["reference"].as_str().unwrap());
    assert_eq!(home.shell(&show).with(0).out, "mine\n");
    // Nothing is saved of a job that has done nothing.
    let id = bg("true");
    let gone = value(&home.stead(&["rm", "--json", &id]).with(0).out);
    assert_eq!(gone[0]["saved"], serde_json::json!([]));
    assert_eq!(home.shell("git branch").with(0).out, "* main\n");
}

#[test]
fn what_cannot_be_saved_stays_until_it_is_given_up() {
    let home = Home::new();
    repository(&home);
    let told = home.stead(&["bg", "--json", "--worktree", "--", "sh", "-c", "echo new >new"]);
    let started = value(&told.with(0).out);
    let id = started["id"].as_str().unwrap();
    home.stead(&["wait", id, "--timeout", "60"]).with(0);
    // A reference in the place of the directory of ours.
    home.shell("git update-ref refs/stead HEAD").with(0);
    let refused = home.stead(&["rm", id]).with(1);
    assert!(refused.err.contains("nothing of it was removed"), "{}", refused.err);
    assert!(refused.err.contains("stead rm --discard"), "{}", refused.err);
    let new = PathBuf::from(started["cwd"].as_str().unwrap()).join("new");
    assert!(new.exists());
    home.stead(&["rm", "--discard", id]).with(2);
    assert!(new.exists());
    home.stead(&["rm", "--discard", "--yes", id]).with(0);
    assert!(!new.exists());
    assert_eq!(home.shell("git branch").with(0).out, "* main\n");
}

#[test]
fn where_no_worktree_can_be_made_no_job_begins() {
    let home = Home::new();
    let check = |args: &[&str], code: i32, words: &str| {
        let Ended { err, .. } = home.stead(args).with(code);
        assert!(err.contains(words), "{args:?}: {err}");
    };
    check(&["bg", "--worktree", "--", "true"], 1, "is in no working tree of git");
    repository(&home);
    check(&["bg", "--worktree=main", "--", "true"], 1, "--worktree=BRANCH");
    check(&["bg", "--worktree=a..b", "--", "true"], 1, "no name that git gives");
    check(&["bg", "--worktree", "a prompt"], 2, "PROMPT");
    check(&["bg", "--worktree", "--", "no-such-program"], 3, "program_missing");
    assert_eq!(home.shell("git branch; git worktree list | wc -l").with(0).out, "* main\n1\n");
    assert_eq!(value(&home.stead(&["ls", "--json"]).with(0).out), serde_json::json!([]));
}

/// Tells whether something lives that git has started for a daemon, with programs from this directory.
fn hangs(bin: &std::path::Path) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let environments = entries.filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    let path = format!("PATH={}:", bin.display());
    let has = |environment: &Vec<u8>, word: &str| {
        environment.split(|byte| *byte == 0).any(|line| line.starts_with(word.as_bytes()))
    };
    let mut of_git = environments.filter(|found| has(found, &path) && has(found, "STEAD_RUN=git-"));
    of_git.next().is_some()
}

/// The daemon dies while work is saved or removed; whoever asks again gets it done.
#[test]
fn a_daemon_that_is_killed_in_between_loses_nothing() {
    let home = Home::new();
    repository(&home);
    // git that stops where it is told to, and says that it is there.
    let bin = home.path("bin");
    fs::create_dir(&bin).unwrap();
    let git = home.shell("command -v git").with(0).out;
    let script = format!(
        "#!/bin/sh\nread word <{0}/word\ncase \" $* \" in *\" $word \"*) echo there >{0}/there; exec sleep 1000;; esac\nexec {1} \"$@\"\n",
        bin.display(),
        git.trim()
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let stead = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("PATH", &path);
        command
    };
    for (nth, word) in ["write-tree", "update-ref", "remove", "-d"].into_iter().enumerate() {
        fs::write(bin.join("word"), "nothing\n").unwrap();
        let told = stead(&["bg", "--json", "--worktree", "--", "sh", "-c", "echo new >new"])
            .output()
            .unwrap();
        let id = value(&String::from_utf8(told.stdout).unwrap())["id"].as_str().unwrap().to_owned();
        home.stead(&["wait", &id, "--timeout", "60"]).with(0);
        fs::write(bin.join("word"), format!("{word}\n")).unwrap();
        fs::remove_file(bin.join("there")).ok();
        let mut removing = stead(&["rm", &id]).spawn().unwrap();
        while !bin.join("there").exists() {
            std::thread::yield_now();
        }
        kill(&daemon(&home));
        assert!(!removing.wait().unwrap().success());
        fs::write(bin.join("word"), "nothing\n").unwrap();
        let again = stead(&["rm", "--json", &id]).output().unwrap();
        assert!(again.status.success(), "{word}: {again:?}");
        let gone = value(&String::from_utf8(again.stdout).unwrap());
        let saved = gone[0]["saved"].as_array().unwrap();
        assert_eq!(saved.len(), 1, "{word}: {gone}");
        let show = format!("git show {}:new", saved[0]["reference"].as_str().unwrap());
        assert_eq!(home.shell(&show).with(0).out, "new\n", "{word}");
        // What hung is not waited for by anybody, and ended by the next daemon.
        while hangs(&bin) {
            std::thread::yield_now();
        }
        let left = home
            .shell("git branch; git worktree list | wc -l; git for-each-ref refs/stead | wc -l");
        assert_eq!(left.with(0).out, format!("* main\n1\n{}\n", nth + 1), "{word}");
    }
}
