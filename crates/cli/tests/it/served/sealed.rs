//! A runtime under a user that may read nothing of the daemon's: it works, and a tracer sees that it never tried.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::Path,
    process::Stdio,
};

use rustix::process::Signal;
use tokio_util::sync::CancellationToken;
use workspace::{
    law,
    primitive::{ExecRequest, Request},
    source::{OwnedWorkspace as _, Workspace},
};

use super::{Served, TOKEN};
use crate::home::Home;

/// Whoever owns nothing here but the directory that is served.
const STRANGER: u32 = 65_534;

/// Nor may a program of the same user look where the token came in.
async fn the_token_is_read_by_nobody(workspace: &dyn Workspace) {
    let command = "cat /proc/$PPID/environ; echo read: $?".into();
    let what = ExecRequest { command, timeout_ms: 60_000 };
    let cancel = CancellationToken::new();
    let at = Request { path: ".".into(), expected: workspace.id(), cancel };
    let read = workspace.exec().unwrap().exec(at, what).await.unwrap();
    let read = String::from_utf8_lossy(&read.output).into_owned();
    assert!(read.contains("read: 1") && !read.contains(TOKEN), "{read}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_runtime_works_while_all_that_is_the_daemons_is_shut_and_tries_none_of_it() {
    let traces = std::process::Command::new("strace").args(["-qq", "true"]).output();
    if !traces.is_ok_and(|end| end.status.success()) {
        eprintln!("left out: strace may not trace");
        return;
    }
    let home = Home::new();
    let is_root = rustix::process::geteuid().is_root();
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    open(home.path("").as_path());
    let program = home.path("stead");
    let built = home.command(&[]);
    fs::copy(built.get_program(), &program).unwrap();
    open(&program);
    for name in ["state", "state/secrets", "outputs"] {
        fs::create_dir_all(home.path(name)).unwrap();
    }
    for name in ["state/stead.db", "state/daemon.credential", "state/secrets/x", "config.toml"] {
        fs::write(home.path(name), "shut").unwrap();
    }
    if is_root {
        for name in ["work", "outputs"] {
            chown(home.path(name), Some(STRANGER), Some(STRANGER)).unwrap();
        }
    }
    for name in ["state/stead.db", "state/secrets", "config.toml", "state"] {
        fs::set_permissions(home.path(name), fs::Permissions::from_mode(0o0)).unwrap();
    }
    let log = home.path("trace");
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=%file", "-o"]).arg(&log);
    if is_root {
        let id = STRANGER.to_string();
        command.args(["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"]);
    }
    command.arg(&program).args([
        "workspace",
        "serve",
        "--allow-exec",
        "--allow-mounts",
        "--artifact-dir",
    ]);
    command.arg(home.path("outputs")).current_dir(home.work()).env_clear();
    command.envs(built.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("STEAD_WORKSPACE_TOKEN", TOKEN).env("STEAD_WORKSPACE_LISTEN", "127.0.0.1:0");
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut served = Served::ready(command);
    let remote = served.connect().await;
    assert_eq!(law::broken(remote.borrow()).await, Vec::<String>::new());
    the_token_is_read_by_nobody(&*remote.borrow()).await;
    Box::new(remote).close().await;
    // The tracer hands it on to nobody: its child is the one to end.
    let tracer = served.child.id();
    let children = fs::read_to_string(format!("/proc/{tracer}/task/{tracer}/children")).unwrap();
    let runtime = children.split_whitespace().next().unwrap().parse().unwrap();
    let runtime = rustix::process::Pid::from_raw(runtime).unwrap();
    rustix::process::kill_process(runtime, Signal::TERM).unwrap();
    assert!(served.child.wait().unwrap().success());
    let trace = fs::read_to_string(&log).unwrap();
    assert!(trace.contains("/work"), "the tracer saw it work");
    for name in ["secrets", "stead.db", "credential", "config.toml", "daemon."] {
        let tried: Vec<&str> = trace.lines().filter(|line| line.contains(name)).collect();
        assert!(tried.is_empty(), "{name}: {tried:?}");
    }
    // The home can be removed again.
    fs::set_permissions(home.path("state"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(home.path("state/secrets"), fs::Permissions::from_mode(0o700)).unwrap();
}
