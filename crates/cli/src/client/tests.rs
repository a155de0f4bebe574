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

/// What other tests shrink to be met in a moment is what the table says where nobody shrinks it.
#[test]
fn the_usual_bounds_are_those_of_the_table() {
    let Patience { ready, checked } = Patience::usual();
    for (time, row) in [(ready, DAEMON_READY_MS_MAX), (checked, DAEMON_CHECK_MS_MAX)] {
        assert_eq!(time, Duration::from_millis(row));
    }
}

#[test]
fn a_daemon_that_never_gets_ready_is_reported() {
    let patience = Patience { ready: SOON, checked: LONG };
    check(HANGS, patience, Err(("daemon_start_failed", "not ready within")));
    let patience = Patience { ready: LONG, checked: LONG };
    check("echo no room", patience, Err(("daemon_start_failed", "no room")));
    let told = r#"echo '{"code":"c","effect":"not_started","message":"m","hint":"h"}'"#;
    check(told, patience, Err(("c", "m")));
    check("exit 1", patience, Err(("daemon_start_failed", "ended before it was ready")));
    check("echo ready", patience, Ok(()));
}

#[test]
fn a_daemon_that_checks_its_database_is_waited_for_and_left_alive() {
    let patience = Patience { ready: LONG, checked: LONG };
    check("echo checking; echo ready", patience, Ok(()));
    check("echo checking; echo checking; echo ready", patience, Ok(()));
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
}

fn paths() -> (tempfile::TempDir, Paths) {
    let dir = tempfile::tempdir().unwrap();
    let below = |name: &str| dir.path().join(name);
    let paths = Paths {
        home: below("home"),
        runtime: below("run"),
        socket_name: daemon::paths::SOCKET_NAME.to_owned(),
        config: below("config.toml"),
    };
    paths.prepare().unwrap();
    (dir, paths)
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_turn_is_told_what_holds_it_up() {
    let Patience { ready, checked } = Patience::usual();
    // Who checks already is not waited for in silence first.
    for (noted, code, silent) in
        [("", "daemon_start_failed", ready * 2), ("checking 71", "daemon_checking", checked)]
    {
        let (_dir, paths) = paths();
        let _held = held(&paths, noted);
        let begun = tokio::time::Instant::now();
        let failure = take_turn(&paths).await.unwrap_err();
        assert_eq!(failure.code, code, "{}", failure.message);
        // The clock of this test moves only with what is waited for.
        assert_eq!(begun.elapsed().as_secs(), silent.as_secs(), "{code}");
    }
}

fn held(paths: &Paths, noted: &str) -> File {
    let held = state_file::open_or_create(&turns(paths)).unwrap();
    held.lock().unwrap();
    rustix::io::pwrite(&held, noted.as_bytes(), 0).unwrap();
    held
}

#[tokio::test]
async fn a_daemon_that_checks_its_database_is_seen_by_who_looks_for_one() {
    let (_dir, paths) = paths();
    let told = async |code: &str, words: &str| {
        let failure = connect_if_running(&paths).await.unwrap_err();
        let said = format!("{} {}", failure.message, failure.hint.unwrap_or_default());
        assert!(failure.code == code && said.contains(words), "{said}");
    };
    told("daemon_unreachable", "stead daemon start").await;
    assert!(!turns(&paths).exists(), "looking makes nothing");
    let turn = held(&paths, "");
    told("daemon_unreachable", "no daemon").await;
    drop(turn);
    let turn = held(&paths, "checking 71");
    told("daemon_checking", "pid 71,").await;
    told("daemon_checking", "kill 71").await;
    // What nobody holds is an old note.
    drop(turn);
    told("daemon_unreachable", "stead daemon start").await;
}

#[tokio::test(start_paused = true)]
async fn what_stays_silent_at_our_socket_is_no_daemon() {
    let (_dir, paths) = paths();
    let socket = paths.socket().display().to_string();
    let registration = Registration {
        id: "1".into(),
        version: "1".into(),
        url: String::new(),
        socket,
        pid: 1,
        protocol: PROTOCOL,
    };
    let listener = tokio::net::UnixListener::bind(paths.socket()).unwrap();
    let silence = async {
        let (_first, _) = listener.accept().await.unwrap();
        let (_second, _) = listener.accept().await.unwrap();
        std::future::pending::<()>().await;
    };
    let asked = async {
        let limit = Duration::from_millis(HANDSHAKE_MS_MAX);
        let begun = tokio::time::Instant::now();
        assert_eq!(answering(&paths).await, None);
        // The clock stands still but for what is waited for, and is told in whole milliseconds.
        assert_eq!(begun.elapsed().as_millis(), limit.as_millis());
        let registered = serde_json::to_vec(&registration).unwrap();
        state_file::publish(&paths.registration(), &registered).unwrap();
        let begun = tokio::time::Instant::now();
        assert_eq!(find(&paths).await.unwrap_err().code, "daemon_unreachable");
        assert_eq!(begun.elapsed().as_millis(), limit.as_millis());
    };
    tokio::select! {
        () = asked => {}
        () = silence => {}
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_to_come_back_wait_longer_each_time_and_end() {
    let mut retry = Retry::default();
    let begun = tokio::time::Instant::now();
    let mut waits = Vec::new();
    while retry.next().await {
        waits.push(begun.elapsed().as_millis() / u128::from(CLIENT_RECONNECT_MS));
    }
    assert_eq!(waits, [0, 1, 3, 7, 15]);
    retry.succeeded();
    assert!(retry.next().await);
    assert_eq!(begun.elapsed().as_millis(), u128::from(15 * CLIENT_RECONNECT_MS));
}
