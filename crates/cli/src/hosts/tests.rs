//! What a host says of its start, and what is known of one that says nothing.

use super::*;

/// Hears what was written into a pipe that ends then, or does not.
fn heard(text: &str, ends: bool, limit: Duration) -> Heard {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    rustix::io::write(&writer, text.as_bytes()).unwrap();
    let kept = (!ends).then_some(writer);
    let heard = hear(reader, limit);
    drop(kept);
    heard
}

#[test]
fn what_a_host_says_of_its_start_is_heard_to_its_last_word() {
    let limit = Duration::from_millis(HOST_READY_MS_MAX);
    let check = |text: &str, begins: bool, said: Result<&str, Silence>| {
        let said = said.map(str::to_owned);
        assert_eq!(heard(text, true, limit), Heard { begins, said }, "{text:?}");
    };
    check("", false, Err(Silence::Ended));
    check("begins\n", true, Err(Silence::Ended));
    check("begins\nready\nmore", true, Ok("ready"));
    check("{}\n", false, Ok("{}"));
    check("begins\n{}\n", true, Ok("{}"));
    let late = |text| heard(text, false, Duration::from_millis(50));
    assert_eq!(late(""), Heard { begins: false, said: Err(Silence::Late) });
    assert_eq!(late("begins\n"), Heard { begins: true, said: Err(Silence::Late) });
}

/// Starts what stands in for a host, and returns why it did not begin.
fn refused(command: &[&str]) -> Failure {
    let dir = tempfile::tempdir().unwrap();
    let id: JobId = "0123abcd".parse().unwrap();
    let files = JobFiles::new(dir.path(), dir.path(), &id);
    stdx::state_file::ensure_dir(files.dir()).unwrap();
    let path = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    let own = open("/proc/self/exe", OFlags::PATH).unwrap();
    let command: Vec<OsString> = command.iter().map(OsString::from).collect();
    begin(&path, &command, &own, &files).unwrap_err()
}

#[test]
fn only_a_host_that_has_not_yet_begun_or_says_so_itself_did_not_begin() {
    let check = |script: &str, code: &str, effect: Effect| {
        let failure = refused(&["sh", "-c", script]);
        assert_eq!((failure.code.as_str(), failure.effect), (code, effect), "{script}");
    };
    let told = r#"echo '{"code":"cwd_missing","effect":"not_started","message":"m"}'"#;
    // The manager's program ended without starting anything.
    check("exit 1", NOT_PLACED, Effect::NotStarted);
    check(told, "cwd_missing", Effect::NotStarted);
    check(&format!("echo begins; {told}"), "cwd_missing", Effect::NotStarted);
    check("echo nonsense", "host_failed", Effect::NotStarted);
    // A host that is gone in the middle has a place, and is not started a second time elsewhere.
    check("echo begins", "host_failed", Effect::Indeterminate);
    check("echo begins; kill -9 $$", "host_failed", Effect::Indeterminate);
    check("echo begins; echo nonsense", "host_failed", Effect::Indeterminate);
    assert_eq!(refused(&["no-such-program"]).code, "program_missing");
}

#[test]
fn a_host_that_is_not_ready_in_time_is_ended() {
    let clock = Clock::system();
    let before = clock.monotonic();
    let failure = refused(&["sh", "-c", "exec sleep 1000"]);
    assert_eq!((failure.code.as_str(), failure.effect), ("host_failed", Effect::Indeterminate));
    let waited = clock.monotonic().saturating_sub(before);
    assert!(Duration::from_millis(HOST_READY_MS_MAX) <= waited);
}
