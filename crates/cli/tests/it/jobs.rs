//! Jobs from outside: what a person types, and what becomes of programs when everything around them dies.

#![expect(
    clippy::disallowed_methods,
    reason = "starts the program and reads its files, as a person would"
)]

use std::{fs, os::unix::fs::PermissionsExt as _, process::Stdio, time::Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stdx::proc_id::ProcId;

use crate::{
    home::{Ended, Home},
    tmux::PATIENCE,
};

mod at_once;
mod everyday;
mod first_steps;
mod flood;
mod found;
mod luck;
mod meant;
mod orders;
mod people;
mod places;
mod session_files;
mod sessions;
mod told;
mod trees;

/// A job as lists tell it.
fn row(home: &Home, id: &str) -> Value {
    let rows: Value =
        serde_json::from_str(&home.stead(&["ls", "--all", "--json"]).with(0).out).unwrap();
    let rows = rows.as_array().unwrap();
    rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id} in {rows:?}")).clone()
}

/// Starts a script in the background and returns its id.
fn bg(home: &Home, script: &str) -> String {
    let told = home.stead(&["bg", "--json", "--", "sh", "-c", script]).with(0).out;
    let row: Value = serde_json::from_str(&told).unwrap();
    row["id"].as_str().unwrap().to_owned()
}

fn process(pid: &Value) -> ProcId {
    ProcId::of(u32::try_from(pid.as_u64().unwrap()).unwrap()).unwrap()
}

fn daemon(home: &Home) -> ProcId {
    let told = fs::read(home.path("state/daemon.json")).unwrap();
    process(&serde_json::from_slice::<Value>(&told).unwrap()["pid"])
}

fn note(home: &Home, id: &str) -> Value {
    let told = fs::read(home.path("state/jobs").join(id).join("state.json")).unwrap();
    serde_json::from_slice(&told).unwrap()
}

/// Asks until it is so, and no longer than anything takes.
#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
    }
}

/// Kills a process and waits until it is gone or a zombie.
fn kill(process: &ProcId) {
    let pid = Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).ok();
    gone(process);
}

/// Waits until a process is gone or a zombie.
fn gone(process: &ProcId) {
    while process.is_alive() {
        std::thread::yield_now();
    }
}

#[test]
fn a_job_is_started_listed_typed_to_waited_for_and_removed() {
    let home = Home::new();
    let told = home
        .command(&[
            "bg",
            "--name",
            "asker",
            "--env",
            "SECRET_KEY=hidden",
            "--",
            "sh",
            "-c",
            "echo on; read x; test $SECRET_KEY = $x",
        ])
        .output()
        .unwrap();
    let out = String::from_utf8(told.stdout).unwrap();
    let words: Vec<&str> = out.trim().split(" · ").collect();
    assert_eq!((words[0], words[2]), ("backgrounded", "asker"), "{out}");
    let id = words[1];
    let listed = row(&home, id);
    assert_eq!((&listed["state"], &listed["kind"]), (&"working".into(), &"job".into()));
    assert_eq!(listed["env_names"], serde_json::json!(["SECRET_KEY"]));
    assert!(!listed.to_string().contains("hidden"), "{listed}");
    assert!(home.stead(&["ls"]).with(0).out.contains("asker"));
    home.stead(&["send", "asker", "hidden"]).with(0);
    home.stead(&["wait", "asker", "--timeout", "60"]).with(0);
    assert_eq!(row(&home, id)["exit"]["code"], 0);
    // A wait for what is over is no wait.
    home.stead(&["wait", "asker", "--until", "blocked"]).with(1);
    home.stead(&["rename", "asker", "other name"]).with(0);
    home.stead(&["pin", "other"]).with(0);
    assert_eq!(row(&home, id)["pinned"], true);
    home.stead(&["respawn", "other name"]).with(0);
    let late = home.stead(&["wait", "other", "--timeout", "1"]).with(124);
    assert!(late.err.contains(" other name is working (runs) (wait_timed_out)"), "{}", late.err);
    let stopped = home.stead(&["stop", "other name"]).with(0);
    assert!(stopped.err.starts_with("stopped · "), "{}", stopped.err);
    home.stead(&["wait", "other"]).with(1);
    home.stead(&["rm", "other name"]).with(0);
    home.stead(&["rm", "other name"]).with(3);
    assert!(!home.path("state/jobs").join(id).exists());
}

#[test]
fn what_is_wrong_with_a_command_is_said_with_the_next_step() {
    let home = Home::new();
    let check = |args: &[&str], code: i32, words: &str| {
        let Ended { err, .. } = home.stead(args).with(code);
        assert!(err.contains(words), "{args:?}: {err}");
    };
    check(&["bg", "--", "no-such-program"], 3, "program_missing");
    check(&["bg", "-C", "/no/such", "--", "true"], 3, "cwd_missing");
    check(&["bg", "--env", "NOT_SET_HERE", "--", "true"], 2, "--env NOT_SET_HERE=VALUE");
    check(&["stop", "nothing"], 3, "stead ls --all");
    check(&["send", "nothing", "x"], 3, "there is no job");
    bg(&home, "sleep 1000");
    bg(&home, "sleep 1000");
    check(&["stop", "sleep"], 2, "sh -c sleep 1000 (2)");
    check(&["bg"], 2, "stead bg -- COMMAND");
    home.stead(&["daemon", "stop"]).with(0);
    let rows: Value = serde_json::from_str(&home.stead(&["ls", "--json"]).with(0).out).unwrap();
    for row in rows.as_array().unwrap() {
        assert_eq!(row["state"], "stopped", "{row}");
    }
}

#[test]
fn jobs_that_are_kept_outlive_a_stop_and_are_found_again() {
    let home = Home::new();
    let id = bg(&home, "sleep 1000");
    let worker = process(&row(&home, &id)["pid"]);
    home.stead(&["daemon", "stop", "--keep-jobs"]).with(0);
    assert!(worker.is_alive());
    assert_eq!(row(&home, &id)["state"], "working");
    assert_eq!(process(&row(&home, &id)["pid"]), worker);
    home.stead(&["daemon", "stop"]).with(0);
    gone(&worker);
}

#[test]
fn what_a_program_reports_is_listed_explained_and_kept_over_an_upgrade() {
    let home = Home::new();
    let program = home.command(&[]).get_program().to_str().unwrap().to_owned();
    let script =
        format!("{program} report blocked -m 'a review'; read x; {program} report done; read x");
    let id = bg(&home, &script);
    home.stead(&["wait", &id, "--until", "blocked", "--timeout", "60"]).with(0);
    let listed = row(&home, &id);
    assert_eq!((&listed["state"], &listed["state_source"]), (&"blocked".into(), &"report".into()));
    assert_eq!(listed["waiting_for"], "a review");
    home.stead(&["upgrade", &id]).with(0);
    let explained = home.stead(&["explain", &id]).with(0).out;
    assert!(explained.starts_with("blocked, as was reported"), "{explained}");
    let told: Value =
        serde_json::from_str(&home.stead(&["explain", &id, "--json"]).with(0).out).unwrap();
    assert_eq!((&told["state"], &told["source"]), (&"blocked".into(), &"report".into()));
    home.stead(&["send", &id, ""]).with(0);
    home.stead(&["wait", &id, "--timeout", "60"]).with(0);
    // Its turn has ended, and its program has not.
    let listed = row(&home, &id);
    assert_eq!((&listed["status"], &listed["ended_at"]), (&"idle".into(), &Value::Null));
    home.stead(&["stop", &id]).with(0);
    assert!(home.stead(&["explain", &id]).with(0).out.starts_with("stopped, as the process tells"));
}

#[test]
fn twenty_jobs_go_on_while_the_program_is_replaced() {
    let home = Home::new();
    let program = home.path("stead");
    let own = home.command(&[]).get_program().to_owned();
    fs::copy(&own, &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |args: &[&str]| {
        let template = home.command(args);
        let mut command = std::process::Command::new(&program);
        command.args(args).current_dir(home.work()).env_clear().stdin(Stdio::null());
        for (name, value) in template.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let script = "n=0; while :; do n=$((n+1)); echo tick $n; sleep 0.05; done";
    let ids: Vec<String> = (0..20)
        .map(|_| {
            let told = run(&["bg", "--json", "--", "sh", "-c", script]);
            serde_json::from_str::<Value>(&told).unwrap()["id"].as_str().unwrap().to_owned()
        })
        .collect();
    let before: Vec<ProcId> = ids.iter().map(|id| process(&row(&home, id)["pid"])).collect();
    let old = daemon(&home);
    // As an installer does: another file under the same name, then the daemon is asked to go.
    let next = home.path("stead.next");
    fs::copy(&own, &next).unwrap();
    fs::set_permissions(&next, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(&next, &program).unwrap();
    kill_process(Pid::from_raw(i32::try_from(old.pid).unwrap()).unwrap(), Signal::TERM).unwrap();
    gone(&old);
    let rows: Value = serde_json::from_str(&run(&["ls", "--json"])).unwrap();
    assert_ne!(daemon(&home), old);
    for (id, worker) in ids.iter().zip(&before) {
        let listed = rows.as_array().unwrap().iter().find(|row| row["id"] == **id).unwrap();
        assert_eq!(listed["state"], "working", "{listed}");
        assert_eq!(&process(&listed["pid"]), worker);
    }
    // The hosts themselves are still the old build; one goes on as the new one, in the same process.
    let host = process(&note(&home, &ids[1])["hostPid"]);
    run(&["upgrade", &ids[1]]);
    let listed = row(&home, &ids[1]);
    assert_eq!((&listed["state"], process(&listed["pid"])), (&"working".into(), before[1].clone()));
    assert_eq!(process(&note(&home, &ids[1])["hostPid"]), host);
    // They are not only there: the new daemon commands them.
    let stopped = run(&["stop", "--json", &ids[0], &ids[19]]);
    assert_eq!(stopped.matches("\"stopped\"").count(), 2, "{stopped}");
}

#[test]
fn a_prompt_runs_in_the_background_and_is_a_row_of_the_same_list() {
    let script = serde_json::json!({"turns": [
        {"blocks": [{"type": "text", "text": "All done."}]},
    ]});
    let home = Home::scripted(&script);
    let told = home.stead(&["bg", "--name", "totals", "add them up"]).with(0);
    assert!(
        told.out.starts_with("backgrounded · ") && told.out.ends_with(" · totals\n"),
        "{}",
        told.out
    );
    home.stead(&["wait", "totals", "--timeout", "60"]).with(0);
    let rows: Value = serde_json::from_str(&home.stead(&["ls", "--json"]).with(0).out).unwrap();
    let listed = &rows[0];
    assert_eq!((&listed["kind"], &listed["state"]), (&"session".into(), &"done".into()));
    assert_eq!((&listed["id"], &listed["status"]), (&listed["session"], &Value::Null));
    // A session's run is ended by the same word as a job; what is over stays what it is.
    let stopped = home.stead(&["stop", "totals"]).with(0);
    assert!(stopped.err.starts_with("done · "), "{}", stopped.err);
}

/// Nobody but who waits starts the next daemon here.
#[test]
fn a_wait_outlives_the_daemon() {
    let home = Home::new();
    let id = bg(&home, "read x");
    let waiting = home.command(&["wait", &id, "--timeout", "60"]).spawn().unwrap();
    let is_connected = || {
        let links = fs::read_dir(format!("/proc/{}/fd", waiting.id())).unwrap();
        let mut links = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
        links.any(|link| link.to_string_lossy().starts_with("socket:"))
    };
    while !is_connected() {
        std::thread::yield_now();
    }
    let old = daemon(&home);
    kill(&old);
    let registered = || {
        let told: Value =
            serde_json::from_slice(&fs::read(home.path("state/daemon.json")).unwrap()).unwrap();
        ProcId::of(u32::try_from(told["pid"].as_u64().unwrap()).unwrap())
    };
    while registered().is_none_or(|next| next == old) {
        std::thread::yield_now();
    }
    home.stead(&["send", &id, ""]).with(0);
    let ended = waiting.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert!(String::from_utf8(ended.stderr).unwrap().contains(&format!("done · {id} · ")));
}
