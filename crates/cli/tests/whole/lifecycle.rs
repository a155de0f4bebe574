//! One daemon, however it is started; and nothing of it is left when it ends.

#![expect(clippy::disallowed_methods, reason = "changes and reads the files of a home")]

use std::{
    fs,
    os::fd::OwnedFd,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::Path,
    process::{Child, Stdio},
};

use api::{
    client::{Address, Client, ClientError, Target},
    daemon::{Hello, Registration, Status, Welcome},
    routes::{Endpoint, PROTOCOL},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::inotify,
    process::Signal,
};
use stdx::secret::Secret;
use testkit::{home::finish, process::Watched};
use vocab::message::{RunEnd, RunState};

use crate::rig::{
    Home, SOON, Stored, WITHIN, calls, client, home, outcome, request, run, working_home,
};

fn daemons(home: &Home) -> Vec<Watched> {
    let is_daemon = |process: &Watched| {
        let words = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("daemon\0run")
    };
    home.processes().into_iter().filter(is_daemon).collect()
}

fn registration(home: &Home) -> Registration {
    serde_json::from_slice(&fs::read(home.state().join("daemon.json")).unwrap()).unwrap()
}

#[test]
fn ten_clients_at_once_end_up_on_one_daemon() {
    let home = home();
    let spawn = |idx: usize| -> Child {
        let list: &[&str] = &["sessions", "list", "--json"];
        let args = if idx.is_multiple_of(2) { list } else { &["daemon", "start", "--json"] };
        home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let clients: Vec<Child> = (0..10).map(spawn).collect();
    let ends: Vec<_> = clients.into_iter().map(|one| one.wait_with_output().unwrap()).collect();
    let mut found = Vec::new();
    for (idx, end) in ends.iter().enumerate() {
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
        if idx % 2 == 1 {
            found.push(serde_json::from_slice::<Registration>(&end.stdout).unwrap());
        } else {
            assert_eq!(String::from_utf8_lossy(&end.stdout).trim(), "[]");
        }
    }
    assert!(found.iter().all(|one| *one == registration(&home)), "{found:?}");
    assert_eq!(daemons(&home).len(), 1);
    let second = home.run(&["daemon", "run"]);
    assert_eq!(second.status.code(), Some(5), "{second:?}");
    assert!(String::from_utf8_lossy(&second.stderr).contains("another daemon holds"), "{second:?}");
    assert_eq!(home.run(&["daemon", "stop"]).status.code(), Some(0));
    assert!(daemons(&home).is_empty());
    assert_eq!(home.run(&["daemon", "status"]).status.code(), Some(5));
}

#[test]
fn what_a_dead_daemon_left_does_not_keep_the_next_one_from_starting() {
    let home = home();
    let first = home.serve().unwrap();
    let old = registration(&home);
    first.crash();
    assert!(home.runtime().join("daemon.sock").exists() && registration(&home) == old);
    assert_eq!(home.run(&["daemon", "status"]).status.code(), Some(5));
    let listed = home.run(&["sessions", "list", "--json"]);
    assert!(listed.status.success(), "{listed:?}");
    let said = String::from_utf8_lossy(&listed.stderr);
    assert!(said.contains("the database is being checked"), "{said}");
    assert_ne!(registration(&home).id, old.id);
    // A registration that is cut off is nobody's either.
    assert!(home.run(&["daemon", "stop"]).status.success());
    testkit::home::private(&home.state().join("daemon.json"), "{\"id\":\"ar");
    assert!(home.run(&["daemon", "start"]).status.success());
}

#[tokio::test]
async fn the_credential_opens_the_port_and_nothing_else_does() {
    let home = home();
    let _daemon = home.serve().unwrap();
    let host = registration(&home).url.trim_start_matches("http://").to_owned();
    let credential = fs::read_to_string(home.state().join("daemon.credential")).unwrap();
    let ask = async |credential: &str| -> Result<Status, ClientError> {
        let credential = Secret::new(credential.to_owned());
        let client = Client::new(Address::Tcp { host: host.clone(), credential });
        client.json::<(), _>(Endpoint::DaemonStatus, Target::default(), None).await
    };
    assert!(ask(&credential).await.is_ok());
    for wrong in ["", "x", &credential[1..], &"0".repeat(credential.len())] {
        let Err(ClientError::Problem(problem)) = ask(wrong).await else {
            panic!("{wrong:?} opens")
        };
        assert_eq!(problem.code, "unauthorized");
        assert_eq!(api::problem::status_of(&problem.code), 401);
    }
}

#[tokio::test]
async fn a_client_of_another_protocol_is_told_which_one_is_spoken() {
    let home = home();
    let _daemon = home.serve().unwrap();
    for protocol in [0, PROTOCOL + 1] {
        let hello = Hello { protocol, version: "9.9.9".into() };
        let welcome: Welcome =
            client(&home).json(Endpoint::Handshake, Target::default(), Some(&hello)).await.unwrap();
        assert_eq!(welcome.protocol, PROTOCOL);
        assert!(!welcome.version.is_empty());
    }
}

/// Lets a command run that starts processes in every way, and hands them out.
async fn busy(home: &Home) -> (crate::rig::Stream, Vec<Watched>) {
    let mut stream = run(&client(home), &request("stay", &home.work())).await.unwrap();
    stream.until("data-stead-progress").await.unwrap();
    let own: Vec<u32> = daemons(home).iter().map(|daemon| daemon.pid).collect();
    let children: Vec<Watched> =
        home.processes().into_iter().filter(|process| !own.contains(&process.pid)).collect();
    assert!(children.len() >= 4, "a shell and three sleepers, not {children:?}");
    (stream, children)
}

async fn nothing_is_left(home: &Home, children: &[Watched], stream: &crate::rig::Stream) {
    for child in children {
        assert!(child.gone(SOON), "{} outlives its daemon", child.pid);
    }
    assert!(home.processes().is_empty());
    let stored = Stored::of(home);
    assert_eq!(stored.state(&stream.run).await, RunState::Ended(RunEnd::Aborted));
    let messages = stored.messages(&stream.session).await;
    assert!(calls(&messages).iter().all(|(.., state)| outcome(state).is_some()));
    stored.close().await;
}

#[tokio::test]
async fn a_stop_ends_every_process_that_a_run_started() {
    let home = working_home(0);
    let daemon = home.serve().unwrap();
    let (mut stream, children) = busy(&home).await;
    let stopped = finish(home.command(&["daemon", "stop"]));
    assert!(stopped.status.success(), "{stopped:?}");
    assert!(daemon.ended().0.success());
    assert_eq!(stream.end().await, Some(RunState::Ended(RunEnd::Aborted)));
    nothing_is_left(&home, &children, &stream).await;
    assert!(!home.state().join("daemon.json").exists());
}

#[tokio::test]
async fn a_signal_drains_as_a_stop_does() {
    for signal in [Signal::TERM, Signal::INT] {
        let home = working_home(0);
        let daemon = home.serve().unwrap();
        let (mut stream, children) = busy(&home).await;
        Watched::of(daemon.pid()).unwrap().signal(signal);
        assert!(daemon.ended().0.success());
        assert_eq!(stream.end().await, Some(RunState::Ended(RunEnd::Aborted)));
        nothing_is_left(&home, &children, &stream).await;
    }
}

/// Waits until a file is gone; `watch` tells of deletions beside it.
fn removed(watch: &OwnedFd, path: &Path) {
    let limit = Timespec::try_from(WITHIN).ok();
    while path.exists() {
        let mut fds = [PollFd::new(watch, PollFlags::IN)];
        assert_eq!(poll(&mut fds, limit.as_ref()), Ok(1), "{} stays", path.display());
        rustix::io::read(watch, &mut [0_u8; 4_096]).ok();
    }
}

#[tokio::test]
async fn who_needs_a_daemon_while_the_last_one_drains_waits_for_its_end() {
    let home = working_home(0);
    let daemon = home.serve().unwrap();
    let mut stream = run(&client(&home), &request("defy", &home.work())).await.unwrap();
    stream.until("data-stead-progress").await.unwrap();
    let old = registration(&home);
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, home.state(), inotify::WatchFlags::DELETE).unwrap();
    let draining = std::thread::spawn(move || daemon.terminate());
    removed(&watch, &home.state().join("daemon.json"));
    let next = home.run(&["daemon", "start", "--json"]);
    assert!(next.status.success(), "{next:?}");
    assert_ne!(registration(&home).id, old.id);
    assert!(draining.join().unwrap().0.success());
}

fn refused(home: &Home, fix: &str) {
    for args in [&["daemon", "start"][..], &["daemon", "run"]] {
        let end = home.run(args);
        let said = String::from_utf8_lossy(&end.stderr);
        assert!(!end.status.success() && said.contains(fix), "{args:?} should say {fix}: {said}");
    }
}

#[test]
fn what_others_could_read_is_refused_with_the_command_that_mends_it() {
    let home = home();
    assert!(home.serve().unwrap().terminate().0.success());
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap()
    };
    let names = ["stead.db", "daemon.credential", "daemon.lock", "start.lock"];
    for name in names {
        let path = home.state().join(name);
        // A lock that only starters take is made by them.
        testkit::home::private(&home.state().join("start.lock"), "");
        mode(&path, 0o644);
        if name == "start.lock" {
            let end = home.run(&["daemon", "start"]);
            assert!(String::from_utf8_lossy(&end.stderr).contains("chmod 600"), "{end:?}");
        } else {
            refused(&home, "chmod 600");
        }
        mode(&path, 0o600);
    }
    for dir in
        [home.state(), home.runtime(), home.state().join("secrets"), home.state().join("logs")]
    {
        mode(&dir, 0o755);
        refused(&home, "chmod 700");
        mode(&dir, 0o700);
    }
    if rustix::process::geteuid().is_root() {
        for path in [home.state(), home.state().join("stead.db")] {
            chown(&path, Some(12_345), None).unwrap();
            refused(&home, "chown 0");
            chown(&path, Some(0), None).unwrap();
        }
    }
    assert!(home.run(&["daemon", "start"]).status.success());
}

fn private_below(dir: &Path, seen: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let meta = entry.path().symlink_metadata().unwrap();
        let right = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(meta.mode() & 0o777, right, "{}", entry.path().display());
        seen.push(entry.file_name().to_string_lossy().into_owned());
        if meta.is_dir() {
            private_below(&entry.path(), seen);
        }
    }
}

#[tokio::test]
async fn everything_a_daemon_makes_is_private() {
    let home = working_home(0);
    let _daemon = home.serve().unwrap();
    let mut stream = run(&client(&home), &request("go", &home.work())).await.unwrap();
    assert_eq!(stream.end().await, Some(RunState::Ended(RunEnd::Finished)));
    let mut seen = Vec::new();
    for dir in [home.state(), home.runtime()] {
        assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
        private_below(&dir, &mut seen);
    }
    for name in [
        "stead.db",
        "stead.db-wal",
        "stead.db-shm",
        "daemon.credential",
        "daemon.json",
        "daemon.log",
        "daemon.sock",
    ] {
        assert!(seen.iter().any(|known| known == name), "{name} is not among {seen:?}");
    }
}
