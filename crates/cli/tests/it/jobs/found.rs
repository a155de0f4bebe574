//! Hosts that a daemon finds again, and that are nobody's children in particular.

use std::fs;

use serde_json::{Value, json};
use stdx::proc_id::Stat;

use super::{Home, bg, daemon, gone, kill, note, process, row, until};

/// Returns the children of a process that are dead and that nobody has waited for.
fn zombies_of(parent: u32) -> Vec<u32> {
    let names = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse::<u32>().ok());
    pids.filter(|pid| Stat::of(*pid).is_some_and(|one| one.zombie && one.parent == parent))
        .collect()
}

#[test]
fn a_host_that_nobody_noted_and_that_has_no_socket_is_found_by_its_lock() {
    let home = Home::new();
    let id = bg(&home, "read x");
    let before = note(&home, &id);
    kill(&daemon(&home));
    // As if the daemon had died before it noted the host, and the host had no socket yet.
    let state = home.path("state/jobs").join(&id).join("state.json");
    let bare = json!({"state": "working", "startedAt": 1, "updatedAt": 1});
    stdx::state_file::publish(&state, bare.to_string().as_bytes()).unwrap();
    fs::remove_file(home.path("run").join(format!("host-{id}.sock"))).unwrap();
    let found = row(&home, &id);
    assert_eq!((&found["state"], &found["ended_at"]), (&json!("working"), &Value::Null));
    let stopped = home.stead(&["stop", &id]).with(0).err;
    assert!(stopped.starts_with("stopped"), "{stopped}");
    assert_eq!(row(&home, &id)["state"], "stopped");
    let after = note(&home, &id);
    assert_eq!(
        (&after["hostPid"], &after["hostToken"]),
        (&before["hostPid"], &before["hostToken"])
    );
}

#[test]
fn whoever_only_reads_a_hosts_lock_is_not_its_host() {
    let home = Home::new();
    let id = bg(&home, "read x");
    home.stead(&["stop", &id]).with(0);
    let dir = home.path("state/jobs").join(&id);
    // It reads on from before the host began, so that it comes before that in every list of processes.
    let lock = fs::File::open(dir.join("host.lock")).unwrap();
    let mut reader = std::process::Command::new("sleep").arg("1000").stdin(lock).spawn().unwrap();
    home.stead(&["respawn", &id]).with(0);
    let (host, program) = (process(&note(&home, &id)["hostPid"]), process(&row(&home, &id)["pid"]));
    kill(&daemon(&home));
    let bare = json!({"state": "working", "startedAt": 1, "updatedAt": 1});
    stdx::state_file::publish(&dir.join("state.json"), bare.to_string().as_bytes()).unwrap();
    fs::remove_file(home.path("run").join(format!("host-{id}.sock"))).unwrap();
    assert_eq!(row(&home, &id)["state"], "working");
    while note(&home, &id)["hostPid"].is_null() {}
    assert_eq!(process(&note(&home, &id)["hostPid"]), host);
    assert!(program.is_alive());
    home.stead(&["stop", &id]).with(0);
    assert_eq!(row(&home, &id)["state"], "stopped");
    assert!(reader.try_wait().unwrap().is_none(), "nobody has touched it");
    reader.kill().unwrap();
    reader.wait().unwrap();
}

#[test]
fn a_job_that_cannot_be_read_is_attached_to_stopped_and_removed_by_a_person() {
    let home = Home::new();
    let id = bg(&home, "echo on; read x; echo got:$x; read y");
    let dir = home.path("state/jobs").join(&id);
    kill(&daemon(&home));
    stdx::state_file::publish(&dir.join("job.json"), b"{\"id\"").unwrap();
    stdx::state_file::publish(&dir.join("state.json"), b"").unwrap();
    let found = row(&home, &id);
    assert_eq!(
        (&found["state"], &found["failure"]["code"]),
        (&json!("working"), &json!("job_malformed"))
    );
    home.stead(&["send", &id, "abc"]).with(0);
    until("got:abc", || home.stead(&["logs", &id]).out.contains("got:abc"));
    home.stead(&["stop", &id]).with(0);
    assert_eq!(fs::read(dir.join("job.json")).unwrap(), b"{\"id\"");
    assert!(home.stead(&["respawn", &id]).err.contains("cannot be read"));
    home.stead(&["rm", &id]).with(0);
    assert!(!dir.exists());
}

#[test]
fn jobs_that_are_kept_are_typed_to_and_stopped_from_another_runtime_directory() {
    let home = Home::new();
    let id = bg(&home, "read x; echo got:$x; read y");
    home.stead(&["daemon", "stop", "--keep-jobs"]).with(0);
    // As from cron, where nobody has said where sockets are.
    let elsewhere = |args: &[&str]| {
        let output = home.command(args).env("STEAD_RUNTIME_DIR", home.path("other")).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    elsewhere(&["send", &id, "abc"]);
    while !elsewhere(&["logs", &id]).contains("got:abc") {}
    elsewhere(&["explain", &id]);
    elsewhere(&["upgrade", &id]);
    elsewhere(&["stop", &id]);
    let rows: Value = serde_json::from_str(&elsewhere(&["ls", "--all", "--json"])).unwrap();
    assert_eq!(rows[0]["state"], "stopped", "{rows}");
    elsewhere(&["rm", &id]);
    elsewhere(&["daemon", "stop"]);
}

#[test]
fn a_job_whose_directory_became_a_link_is_stopped_before_it_is_removed() {
    let home = Home::new();
    let id = bg(&home, "read x");
    let program = process(&row(&home, &id)["pid"]);
    kill(&daemon(&home));
    let (dir, moved) = (home.path("state/jobs").join(&id), home.path("moved"));
    fs::rename(&dir, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &dir).unwrap();
    let found = row(&home, &id);
    assert_eq!(
        (&found["state"], &found["failure"]["code"], &found["ended_at"]),
        (&json!("working"), &json!("job_refused"), &Value::Null)
    );
    let err = home.stead(&["rm", &id]).with(4).err;
    assert!(err.contains("stead stop"), "{err}");
    assert!(program.is_alive());
    home.stead(&["stop", &id]).with(0);
    assert!(!program.is_alive());
    assert_eq!(row(&home, &id)["state"], "stopped");
    home.stead(&["rm", &id]).with(0);
    assert!(fs::symlink_metadata(&dir).is_err() && moved.join("job.json").exists());
}

#[test]
fn nothing_depends_on_whose_child_a_host_is() {
    let home = Home::new();
    let (ends, stays) = (bg(&home, "read x"), bg(&home, "read x"));
    let (first, host) = (daemon(&home), process(&note(&home, &ends)["hostPid"]));
    home.stead(&["stop", &ends]).with(0);
    // Whoever has started it has waited for it: its number is free.
    while Stat::of(host.pid).is_some_and(|one| one.parent == first.pid) {
        std::thread::yield_now();
    }
    assert!(zombies_of(first.pid).is_empty());
    let host = process(&note(&home, &stays)["hostPid"]);
    let program = process(&row(&home, &stays)["pid"]);
    kill(&first);
    let found = row(&home, &stays);
    assert_eq!((&found["state"], &found["ended_at"]), (&json!("working"), &Value::Null));
    let second = daemon(&home);
    let parent = Stat::of(host.pid).unwrap().parent;
    assert!(parent != first.pid && parent != second.pid, "it is a child of neither");
    // The end of a host that is no child is seen all the same, also when it is sudden.
    kill(&host);
    until("its end", || !row(&home, &stays)["ended_at"].is_null());
    gone(&program);
    assert_eq!(row(&home, &stays)["status"], "its host died, and the program with it");
    assert!(zombies_of(second.pid).is_empty());
}
