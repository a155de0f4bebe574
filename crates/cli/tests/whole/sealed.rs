//! A job's host while everything that is the daemon's alone belongs to somebody else and is shut: it works,
//! and a tracer sees that it never tried to open any of it.

#![expect(clippy::disallowed_methods, reason = "runs a tracer and reads what it wrote")]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, chown},
    path::Path,
    process::{Command, Stdio},
};

use pty::job::{JobFiles, JobRecord};
use serde_json::json;
use vocab::ids::JobId;

use crate::rig::{cannot, home};

/// Whoever owns nothing here but the job.
const STRANGER: u32 = 65_534;

/// What is the daemon's alone.
const SHUT: &[&str] =
    &["secrets", "secrets/local", "stead.db", "stead.db-wal", "daemon.credential"];

fn below(dir: &Path, owner: Option<u32>) {
    chown(dir, owner, owner).unwrap();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            below(&entry.path(), owner);
        } else {
            chown(entry.path(), owner, owner).unwrap();
        }
    }
}

#[test]
fn a_host_works_while_all_that_is_not_its_own_is_shut_and_tries_none_of_it() {
    let home = home();
    let is_root = rustix::process::geteuid().is_root();
    let traces = Command::new("strace").args(["-qq", "true"]).output();
    if !traces.is_ok_and(|end| end.status.success()) {
        return cannot("strace may not trace");
    }
    let open = |dir: &Path| fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    open(home.root());
    // The program itself may lie where the stranger may not look.
    let program = home.root().join("stead");
    fs::copy(home.program(), &program).unwrap();
    open(&program);
    let mut private = fs::DirBuilder::new();
    private.mode(0o700).create(home.state()).unwrap();
    let id = JobId::generate();
    let files = JobFiles::new(&home.state(), &home.runtime(), &id);
    let record: JobRecord = serde_json::from_value(json!({
        "id": id, "name": "sealed", "cwd": "/",
        "command": ["sh", "-c", "echo up; stty size; ls -l /dev/tty; echo got:abc"],
        "env": BTreeMap::from([("PATH", "/usr/local/bin:/usr/bin:/bin")]),
        "token": "0123456789abcdef0123456789abcdef", "origin": "bg", "createdAt": 0,
        "steadVersion": "0",
    }))
    .unwrap();
    files.create(&record).unwrap();
    private.create(home.runtime()).unwrap();
    private.create(home.state().join("secrets")).unwrap();
    for name in SHUT.iter().skip(1) {
        fs::write(home.state().join(name), "shut").unwrap();
    }
    home.configure("default_model = \"local/actor\"\n");
    let owner = is_root.then_some(STRANGER);
    for dir in [home.state(), home.runtime()] {
        below(&dir, owner);
    }
    // Last, since what is shut cannot be walked into: of another owner where that can be, and of mode 0.
    let shut = SHUT.iter().rev().map(|name| home.state().join(name));
    for path in shut.chain([home.config()]) {
        let of = if is_root { Some(0) } else { None };
        chown(&path, of, of).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    }
    let log = home.root().join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=%file", "-o"]).arg(&log);
    if is_root {
        let id = STRANGER.to_string();
        command.args(["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"]);
    }
    command.arg(&program).args(["host", id.as_str(), "--detach"]);
    let mut command = home.inside(command);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let told: Vec<String> =
        BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
    assert_eq!(told, ["begins", "ready"]);
    assert!(child.wait().unwrap().success());
    let screen = fs::read_to_string(files.screen()).unwrap();
    assert!(screen.contains("got:abc"), "{screen}");
    let trace = fs::read_to_string(&log).unwrap();
    assert!(trace.contains("job.json") && trace.contains("exit.json"), "the tracer saw it work");
    for name in ["secrets", "stead.db", "credential", "config.toml", "daemon."] {
        let tried: Vec<&str> = trace.lines().filter(|line| line.contains(name)).collect();
        assert!(tried.is_empty(), "{name}: {tried:?}");
    }
    // The home can be removed again.
    for path in [home.state().join("secrets"), home.config()] {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }
}
