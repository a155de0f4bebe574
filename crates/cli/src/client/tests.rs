//! What starters and askers wait for, and for how long.

use super::*;

const SOON: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(20);
const HANGS: &str = "exec tail -f /dev/null";

#[expect(clippy::disallowed_methods, reason = "a real process in the place of a daemon")]
fn spawn(script: &str) -> Child {
    Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap()
}

fn check(script: &str, patience: Patience, wanted: Result<(), (&str, &str)>) {
    let said = wait_ready(spawn(script), patience);
    match (said, wanted) {
        (Ok(()), Ok(())) => {}
        (Err(failure), Err((code, words))) => {
            assert_eq!(failure.code, code, "{script}");
            assert!(failure.message.contains(words), "{script}: {}", failure.message);
        }
        (said, wanted) => panic!("{script}: {said:?}, not {wanted:?}"),
    }
}

#[test]
fn a_daemon_that_never_gets_ready_is_reported() {
    let patience = Patience { ready: SOON, checked: LONG };
    check(HANGS, patience, Err(("daemon_start_failed", "not ready within")));
    let patience = Patience { ready: LONG, checked: LONG };
    check("echo no room", patience, Err(("daemon_start_failed", "no room")));
    check("exit 1", patience, Err(("daemon_start_failed", "ended before it was ready")));
    check("echo ready", patience, Ok(()));
}

#[test]
fn a_daemon_that_checks_its_database_is_waited_for_and_left_alive() {
    let patience = Patience { ready: LONG, checked: LONG };
    check("echo checking; echo ready", patience, Ok(()));
    let failed = Err(("daemon_start_failed", "no room"));
    check("echo checking; echo no room", patience, failed);
    let ended = Err(("daemon_start_failed", "ended before it was ready"));
    check("echo checking", patience, ended);

    let patience = Patience { ready: LONG, checked: SOON };
    let child = spawn(&format!("echo checking; {HANGS}"));
    let process = stdx::proc_id::ProcId::of(child.id()).unwrap();
    let failure = wait_ready(child, patience).unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("daemon_checking", Effect::NotStarted));
    assert!(process.is_alive(), "it goes on");
    let pid = rustix::process::Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert!(Patience::usual().ready < Patience::usual().checked);
}

fn paths() -> (tempfile::TempDir, Paths) {
    let dir = tempfile::tempdir().unwrap();
    let below = |name: &str| dir.path().join(name);
    let paths = Paths { home: below("home"), runtime: below("run"), config: below("config.toml") };
    paths.prepare().unwrap();
    (dir, paths)
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_turn_is_told_what_holds_it_up() {
    for (noted, code) in [("", "daemon_start_failed"), (print::CHECKING, "daemon_checking")] {
        let (_dir, paths) = paths();
        let held = state_file::open_or_create(&paths.home.join("start.lock")).unwrap();
        held.lock().unwrap();
        rustix::io::pwrite(&held, noted.as_bytes(), 0).unwrap();
        let failure = take_turn(&paths).await.unwrap_err();
        assert_eq!(failure.code, code, "{}", failure.message);
    }
}

#[tokio::test(start_paused = true)]
async fn what_stays_silent_at_our_socket_is_no_daemon() {
    let (_dir, paths) = paths();
    let listener = tokio::net::UnixListener::bind(paths.socket()).unwrap();
    let silence = async {
        let (_held, _) = listener.accept().await.unwrap();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        found = unregistered(&paths) => assert_eq!(found, None),
        () = silence => {}
    }
}
