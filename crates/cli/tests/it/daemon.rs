//! The daemon as a process: the files that it may open, and where its last words go.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::{fs::MetadataExt as _, net::UnixStream},
};

use serde_json::Value;

use crate::home::{Home, read, write};

/// What the starter's shell leaves of the limit on open files.
const STARTER_FILES: u64 = 256;

#[test]
fn a_daemon_opens_more_files_than_its_starter_may() {
    let home = Home::new();
    let line = format!("ulimit -S -n {STARTER_FILES} && exec \"$0\" daemon start --json");
    let started = home.shell(&line).with(0);
    let registration: Value = serde_json::from_str(&started.out).unwrap();

    let of_hard = read("/proc/self/limits".as_ref());
    let hard = open_files(&of_hard, 1);
    let of_daemon = read(format!("/proc/{}/limits", registration["pid"]).as_ref());
    assert_eq!(open_files(&of_daemon, 0), hard.min(vocab::limits::OPEN_FILES));

    // Each connection is a file of the daemon's, and all of them answer at the same time.
    let socket = registration["socket"].as_str().unwrap();
    let mut connections: Vec<UnixStream> =
        (0..STARTER_FILES + 44).map(|_| UnixStream::connect(socket).unwrap()).collect();
    for connection in connections.iter_mut().rev() {
        connection.write_all(b"GET /daemon/status HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let mut status = [0; 12];
        connection.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    }
}

/// Returns the soft (0) or hard (1) limit of open files in a text of `/proc/PID/limits`.
fn open_files(text: &str, column: usize) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let word = line.split_whitespace().nth(column).unwrap();
    word.parse().unwrap_or(u64::MAX)
}

#[test]
fn a_followed_log_ends_with_its_reader() {
    let home = Home::new();
    home.stead(&["daemon", "start"]).with(0);
    let mut follower = home.command(&["daemon", "logs", "--follow"]).spawn().unwrap();
    let mut reader = BufReader::new(follower.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"ready\"") {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0);
    }
    drop(reader);
    assert_eq!(follower.wait().unwrap().code(), Some(0));
}

#[test]
fn a_log_that_is_cut_within_a_character_is_shown() {
    let home = Home::new();
    home.stead(&["daemon", "start"]).with(0);
    home.stead(&["daemon", "stop"]).with(0);
    let log = home.path("state/logs/daemon.log");
    // The last bytes that are looked at begin in the middle of one.
    let text = "é".repeat(usize::try_from(vocab::limits::LOG_FILE_BYTES_MAX / 2).unwrap());
    write(&log, &format!("{text}\nlast\n"));
    let shown = home.stead(&["daemon", "logs", "-n", "2"]).with(0).out;
    assert!(shown.ends_with("é\nlast\n"));
}

#[test]
fn a_start_sets_a_full_file_of_errors_aside() {
    let home = Home::new();
    home.stead(&["daemon", "start"]).with(0);
    home.stead(&["daemon", "stop"]).with(0);
    let path = home.path("state/logs/daemon.err");
    let full = "x".repeat(usize::try_from(vocab::limits::ERRORS_FILE_BYTES_MAX).unwrap() + 1);
    write(&path, &full);
    home.stead(&["daemon", "start"]).with(0);
    assert_eq!(read(&path), "");
    assert_eq!(read(&path.with_extension("err.1")), full);
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_daemon_says_who_it_is_and_how_much_it_holds() {
    let home = Home::new();
    home.stead(&["daemon", "start"]).with(0);
    home.stead(&["bg", "--", "sleep", "1000"]).with(0);
    let told = home.stead(&["daemon", "status", "--json"]).with(0).out;
    let status: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(status["jobs"], serde_json::json!({"total": 1, "live": 1}), "{status}");
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    for (name, is_there) in [
        ("pid", status["pid"].is_u64()),
        ("protocol", status["protocol"].is_u64()),
        ("url", status["url"].is_string()),
        ("socket", status["socket"].is_string()),
        ("started_at", status["started_at"].is_string()),
        ("sessions", !status["sessions"].is_null()),
        ("memory", !status["memory"].is_null()),
    ] {
        assert!(is_there, "{name}: {status}");
    }
}

#[test]
fn a_living_daemon_is_found_although_its_registration_was_removed() {
    let home = Home::new();
    let started = home.stead(&["daemon", "start", "--json"]).with(0);
    let started: Value = serde_json::from_str(&started.out).unwrap();
    let registration = home.path("state/daemon.json");
    stdx::state_file::remove(&registration).unwrap();
    let again = home.stead(&["daemon", "start", "--json"]).with(0);
    assert_eq!(serde_json::from_str::<Value>(&again.out).unwrap()["pid"], started["pid"]);
    home.stead(&["ls"]).with(0);
    let stopped = home.stead(&["daemon", "stop"]).with(0);
    assert!(stopped.err.contains("the daemon has stopped"), "{}", stopped.err);
}

#[test]
fn a_limit_on_file_sizes_ends_neither_the_daemon_nor_a_host() {
    let home = Home::new();
    let ignored = |pid: &Value| {
        let status = read(format!("/proc/{pid}/status").as_ref());
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() >> 24 & 1
    };
    let started = home.stead(&["daemon", "start", "--json"]).with(0);
    let started: Value = serde_json::from_str(&started.out).unwrap();
    assert_eq!(ignored(&started["pid"]), 1);
    // Its programs have what every program has.
    home.stead(&["bg", "--name", "a", "--", "sleep", "1000"]).with(0);
    let listed = home.stead(&["ls", "--json"]).with(0);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    let program = &listed[0]["pid"];
    assert_eq!(ignored(program), 0);
    let status = read(format!("/proc/{program}/status").as_ref());
    let host = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    assert_eq!(ignored(&host.trim().parse::<u64>().unwrap().into()), 1);
}
