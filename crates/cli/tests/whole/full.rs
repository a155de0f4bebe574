//! Places that fail for real: a full file system, a directory that nobody may write, one that vanishes.

#![expect(clippy::disallowed_methods, reason = "fills and mounts what a home is made of")]

use std::{fs, os::unix::fs::DirBuilderExt as _, path::Path, process::Command, time::Instant};

use serde_json::Value;
use testkit::home::finish;
use vocab::{
    message::{Message, RunEnd, RunState},
    outcome::Effect,
};

use crate::rig::{
    Home, Serving, Stored, WITHIN, calls, cannot, client, outcome, request, run, said, working_home,
};

#[tokio::test]
async fn a_root_that_vanishes_during_a_run_fails_its_calls_and_not_the_daemon() {
    let home = working_home(0);
    let daemon = home.serve().unwrap();
    let root = home.root().join("doomed");
    fs::create_dir(&root).unwrap();
    let mut stream = run(&client(&home), &request("wipe", &root)).await.unwrap();
    assert_eq!(stream.end().await, Some(RunState::Ended(RunEnd::Finished)));
    assert!(!root.exists());
    well(&home).await;
    let gone = run(&client(&home), &request("again", &root)).await;
    assert!(
        gone.is_err_and(
            |failure| failure.effect == Effect::NotStarted && failure.code != "internal"
        )
    );
    // The directory that stands there later is a place like any other.
    fs::create_dir(&root).unwrap();
    let mut anew = run(&client(&home), &request("go", &root)).await.unwrap();
    assert_eq!(anew.end().await, Some(RunState::Ended(RunEnd::Finished)));
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "two\n");
    assert!(daemon.terminate().0.success());
    let stored = Stored::of(&home);
    let messages = stored.messages(&stream.session).await;
    stored.close().await;
    let (.., state) = calls(&messages).into_iter().find(|(_, tool, _)| tool == "write").unwrap();
    let failure = outcome(&state).unwrap().failure.clone().unwrap();
    assert_eq!(failure.effect, Effect::NotStarted, "{failure:?}");
}

/// The daemon lives, and a new run works.
async fn well(home: &Home) {
    let mut stream = run(&client(home), &request("again", &home.work())).await.unwrap();
    assert_eq!(stream.end().await, Some(RunState::Ended(RunEnd::Finished)));
}

/// Runs to the end in a directory, sees that the daemon is well after it, and returns what is stored.
async fn finished_in(home: &Home, root: &Path) -> Vec<Message> {
    let daemon = home.serve().unwrap();
    let mut stream = run(&client(home), &request("go", root)).await.unwrap();
    assert_eq!(stream.end().await, Some(RunState::Ended(RunEnd::Finished)));
    well(home).await;
    assert!(daemon.terminate().0.success());
    let stored = Stored::of(home);
    let messages = stored.messages(&stream.session).await;
    stored.close().await;
    messages
}

/// Runs an ignored test of this file again in a mount namespace of its own.
fn in_own_mounts(test: &str) {
    if !rustix::process::geteuid().is_root() {
        // Nothing is missing on this machine: whoever runs the tests as root has run it.
        eprintln!("not run: mounting takes root");
        return;
    }
    let me = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private"]).arg(me).args(["--ignored", "--exact", test]);
    let end = finish(command);
    let said = String::from_utf8_lossy(&end.stdout);
    if !end.status.success() && said.is_empty() {
        return cannot(&format!("no mount namespace: {}", String::from_utf8_lossy(&end.stderr)));
    }
    assert!(end.status.success() && said.contains("1 passed"), "{end:?}");
}

fn mount(args: &[&str], at: &Path) {
    let mut command = Command::new("mount");
    command.args(args).arg(at);
    let end = finish(command);
    assert!(end.status.success(), "{end:?}");
}

#[test]
fn a_full_disk_refuses_work_and_loses_none() {
    in_own_mounts("full::inside_a_full_disk");
}

#[test]
fn a_root_without_room_keeps_its_files_whole() {
    in_own_mounts("full::inside_a_root_without_room");
}

#[test]
fn a_root_that_nobody_may_write_fails_its_calls_and_not_the_daemon() {
    in_own_mounts("full::inside_a_read_only_root");
}

#[tokio::test]
#[ignore = "runs in mounts of its own"]
async fn inside_a_full_disk() {
    let home = working_home(0);
    fs::DirBuilder::new().mode(0o700).create(home.state()).unwrap();
    mount(&["-t", "tmpfs", "-o", "size=2m,mode=0700", "none"], &home.state());
    let daemon = home.serve().unwrap();
    well(&home).await;
    let filler = home.state().join("filler");
    fill(&filler);
    let mut refused = None;
    // What the log of the database holds free already takes some runs more.
    for _ in 0..200 {
        match run(&client(&home), &request("go", &home.work())).await {
            Err(failure) => {
                assert_eq!(
                    (failure.code.as_str(), failure.effect),
                    ("disk_full", Effect::NotStarted)
                );
                refused = Some(());
                break;
            }
            Ok(mut stream) => match stream.end().await {
                Some(RunState::Ended(RunEnd::Failed { failure })) => {
                    assert_eq!(failure.code, "disk_full", "{failure:?}");
                }
                end => assert_eq!(end, Some(RunState::Ended(RunEnd::Finished))),
            },
        }
        fill(&filler);
    }
    assert!(refused.is_some(), "the disk never became full");
    assert!(home.run(&["daemon", "status", "--json"]).status.success());
    fs::remove_file(&filler).unwrap();
    well(&home).await;
    ends_whole(&home, daemon).await;
}

#[test]
fn a_daemon_starts_on_a_full_disk_and_jobs_are_listed_typed_to_and_stopped() {
    in_own_mounts("full::inside_a_disk_that_is_full_at_start");
}

/// Asks until it is so, and no longer than anything takes.
#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < WITHIN, "{what} never came");
    }
}

/// Returns a job as it is listed.
fn listed(home: &Home, id: &str) -> Value {
    let told = home.run(&["ls", "--all", "--json"]);
    let rows: Value = serde_json::from_slice(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
    rows.as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone()
}

#[tokio::test]
#[ignore = "runs in mounts of its own"]
async fn inside_a_disk_that_is_full_at_start() {
    let home = working_home(0);
    fs::DirBuilder::new().mode(0o700).create(home.state()).unwrap();
    mount(&["-t", "tmpfs", "-o", "size=2m,mode=0700", "none"], &home.state());
    let daemon = home.serve().unwrap();
    well(&home).await;
    let script = "echo on; read x; echo got:$x; read y";
    let told = home.run(&["bg", "--json", "--", "sh", "-c", script]);
    let row: Value = serde_json::from_slice(&told.stdout).unwrap();
    let id = row["id"].as_str().unwrap();
    let filler = home.state().join("filler");
    // After a clean end, and after a sudden one.
    assert!(daemon.terminate().0.success());
    fill(&filler);
    home.serve().unwrap().crash();
    fs::remove_file(&filler).unwrap();
    let daemon = home.serve().unwrap();
    let told = home.run(&["bg", "--mode", "auto", "--json", "stay"]);
    let session: Value =
        serde_json::from_slice(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
    let session = session["id"].as_str().unwrap();
    daemon.crash();
    fill(&filler);
    let daemon = home.serve().unwrap();
    // A run that cannot be closed is over all the same.
    let row = listed(&home, session);
    assert!(row["state"] == "failed" && !row["ended_at"].is_null(), "{row}");
    for (verb, words) in
        [("wait", "failed · "), ("stop", "failed · "), ("explain", "the daemon ended")]
    {
        let told = home.run(&[verb, session]);
        let said = String::from_utf8_lossy(&[told.stdout, told.stderr].concat()).into_owned();
        assert!(said.contains(words), "{verb}: {said}");
    }
    let told = home.run(&["ls"]);
    assert!(String::from_utf8_lossy(&told.stderr).contains("the disk is full"), "{told:?}");
    let row = listed(&home, id);
    assert!(row["state"] == "working" && row["ended_at"].is_null(), "{row}");
    assert!(home.run(&["send", id, "abc"]).status.success());
    until("got:abc", || {
        String::from_utf8_lossy(&home.run(&["logs", id]).stdout).contains("got:abc")
    });
    // What the daemon before had registered made a little room.
    fill(&filler);
    for refused in [&["bg", "--", "true"][..], &["rename", id, "other"], &["run", "go"]] {
        let told = home.run(refused);
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(!told.status.success() && said.contains("(disk_full)"), "{refused:?}: {told:?}");
    }
    // Its program ends, and its host stays until that can be written.
    let told = home.run(&["stop", id]);
    assert!(String::from_utf8_lossy(&told.stderr).contains("(end_unwritten)"), "{told:?}");
    let exit = home.state().join("jobs").join(id).join("exit.json");
    assert!(!exit.exists() && listed(&home, id)["ended_at"].is_null());
    fs::remove_file(&filler).unwrap();
    until("the end", || !listed(&home, id)["ended_at"].is_null());
    let row = listed(&home, id);
    assert!(exit.exists() && row["state"] == "stopped" && !row["exit"].is_null(), "{row}");
    // The daemon goes on by itself: runs that the last one left are closed, and new ones are begun.
    until("room", || {
        !String::from_utf8_lossy(&home.run(&["ls"]).stderr).contains("the disk is full")
    });
    well(&home).await;
    assert!(daemon.terminate().0.success());
    let stored = Stored::of(&home);
    let (facts, runs) = (stored.job_facts(id).await, stored.live_runs().await);
    stored.close().await;
    assert!(facts.contains(&"job_ended".to_owned()) && runs == 0, "{facts:?} {runs}");
    let daemon = home.serve().unwrap();
    well(&home).await;
    assert!(daemon.terminate().0.success());
}

#[test]
fn a_daemon_starts_where_no_more_files_can_be_made() {
    in_own_mounts("full::inside_a_disk_without_names");
}

#[tokio::test]
#[ignore = "runs in mounts of its own"]
async fn inside_a_disk_without_names() {
    let home = working_home(0);
    fs::DirBuilder::new().mode(0o700).create(home.state()).unwrap();
    mount(&["-t", "tmpfs", "-o", "nr_inodes=200,mode=0700", "none"], &home.state());
    let daemon = home.serve().unwrap();
    well(&home).await;
    assert!(daemon.terminate().0.success());
    let fillers = home.state().join("fillers");
    fs::create_dir(&fillers).unwrap();
    let made = (0..200).map_while(|n| fs::File::create(fillers.join(n.to_string())).ok()).count();
    assert!(made < 200);
    let daemon = home.serve().unwrap();
    let told = home.run(&["sessions", "list"]);
    let said = String::from_utf8_lossy(&[told.stdout, told.stderr].concat()).into_owned();
    assert!(said.contains("the disk is full") && said.contains("again"), "{said}");
    assert!(daemon.terminate().0.success());
    fs::remove_dir_all(&fillers).unwrap();
    let daemon = home.serve().unwrap();
    well(&home).await;
    assert!(daemon.terminate().0.success());
}

/// Writes until nothing more fits.
fn fill(path: &Path) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    for size in [65_536, 4_096, 1] {
        while std::io::Write::write_all(&mut file, &vec![0; size]).is_ok() {}
    }
}

async fn ends_whole(home: &Home, daemon: Serving) {
    assert!(daemon.terminate().0.success());
    let stored = Stored::of(home);
    for session in stored.sessions().await {
        let messages = stored.messages(&session).await;
        assert_eq!(said(&messages, "go") + said(&messages, "again"), 1);
        assert!(calls(&messages).iter().all(|(.., state)| outcome(state).is_some()));
    }
    stored.close().await;
}

#[tokio::test]
#[ignore = "runs in mounts of its own"]
async fn inside_a_read_only_root() {
    let home = working_home(0);
    let root = home.root().join("fixed");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.txt"), "zero\n").unwrap();
    mount(&["--bind", root.to_str().unwrap()], &root);
    mount(&["-o", "remount,bind,ro"], &root);
    let messages = finished_in(&home, &root).await;
    for (_, tool, state) in calls(&messages) {
        let outcome = outcome(&state).unwrap();
        match tool.as_str() {
            "bash" => assert!(outcome.plain_text().contains("Read-only"), "{outcome:?}"),
            _ => {
                assert!(outcome.is_error() && outcome.effect() == Effect::NotStarted, "{outcome:?}")
            }
        }
    }
    let names: Vec<_> = fs::read_dir(&root).unwrap().flatten().map(|one| one.file_name()).collect();
    assert_eq!(names, ["a.txt"]);
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "zero\n");
}

#[tokio::test]
#[ignore = "runs in mounts of its own"]
async fn inside_a_root_without_room() {
    let home = working_home(0);
    let root = home.root().join("narrow");
    fs::create_dir(&root).unwrap();
    mount(&["-t", "tmpfs", "-o", "size=256k", "none"], &root);
    fs::write(root.join("a.txt"), "one\n").unwrap();
    fill(&root.join("filler"));
    let messages = finished_in(&home, &root).await;
    for (_, tool, state) in calls(&messages).into_iter().filter(|(_, tool, _)| tool != "bash") {
        let failure = outcome(&state).unwrap().failure.clone().unwrap();
        assert_eq!(
            (failure.code.as_str(), failure.effect),
            ("no_space", Effect::NotStarted),
            "{tool}"
        );
    }
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "one\n");
    let mut names: Vec<_> =
        fs::read_dir(&root).unwrap().flatten().map(|one| one.file_name()).collect();
    names.retain(|name| name != "ran.txt");
    names.sort();
    assert_eq!(names, ["a.txt", "filler"]);
}
