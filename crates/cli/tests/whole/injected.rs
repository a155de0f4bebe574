//! The real program under a tracer that kills it, or lets a system call fail, at chosen places of a short
//! run. Afterwards a plain start must find every promise kept.
//!
//! The places come from a run that is only watched: for each system call on each kind of file the first,
//! the middle and the last one, or every n-th with `STEAD_TEST_EVERY_N`. The n-th call is counted in each
//! thread by itself, as the tracer does. A failing `write` is chosen on the log alone: elsewhere the
//! tracer could not tell a file from the descriptors by which threads wake each other.

#![expect(clippy::disallowed_methods, reason = "runs a tracer and reads what it wrote")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use testkit::{home::finish, model_server::ModelServer};

use crate::{
    played::{Heard, Played, plan, play},
    rig::{Home, Serving, cannot, home, number},
};

/// The system calls that change what a disk holds.
const CALLS: &[&str] =
    &["write", "pwrite64", "fsync", "fdatasync", "?rename", "?renameat", "renameat2"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Kill,
    Io,
    Full,
}

impl Fault {
    fn words(self) -> &'static str {
        match self {
            Self::Kill => "signal=KILL",
            Self::Io => "error=EIO",
            Self::Full => "error=ENOSPC",
        }
    }

    /// Which calls can fail in this way.
    fn strikes(self, call: &str) -> bool {
        match self {
            Self::Kill => true,
            Self::Io => call != "write",
            Self::Full => call != "write" && call != "fdatasync" && call != "fsync",
        }
    }
}

/// A place where something happens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    call: String,
    nth: usize,
    /// Only calls on this file count.
    on: Option<PathBuf>,
}

fn traced(home: &Home, log: &Path, more: &[String]) -> Command {
    let mut command = Command::new("strace");
    // As a grandchild the tracer is out of the way: the child is the program itself.
    command.args(["-D", "-f", "-y", "-qq", "-o"]).arg(log).args(more);
    command.arg(home.program()).args(["daemon", "run"]);
    home.inside(command)
}

fn can_trace() -> bool {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "inject=fsync:error=EIO:when=1", "true"]);
    let works = command.output().is_ok_and(|end| end.status.success());
    if !works {
        cannot("strace may not trace");
    }
    works
}

/// Watches a run and returns, for each system call on each kind of file, which ones there were.
async fn sites() -> BTreeMap<(String, String), Vec<usize>> {
    let server = ModelServer::start(plan()).unwrap();
    let home = home();
    home.ask(&server.v1_url());
    let log = home.root().join("trace");
    let trace = vec!["-e".to_owned(), format!("trace={}", CALLS.join(","))];
    let daemon = Serving::of(traced(&home, &log, &trace)).unwrap();
    let heard = play(&home).await;
    assert!(heard.finished(), "{heard:?}");
    assert!(daemon.terminate().0.success());
    let text = fs::read_to_string(&log).unwrap();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut sites: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((call, rest)) = rest.trim_start().split_once('(') else { continue };
        if !CALLS.iter().any(|known| known.trim_start_matches('?') == call) {
            continue;
        }
        let nth = counts.entry((thread, call)).or_default();
        *nth += 1;
        let site = (call.to_owned(), kind(&home, rest));
        let seen = sites.entry(site).or_default();
        if !seen.contains(nth) {
            seen.push(*nth);
        }
    }
    sites.values_mut().for_each(|seen| seen.sort_unstable());
    sites
}

/// Names what a call works on, without what differs from run to run.
fn kind(home: &Home, arguments: &str) -> String {
    let root = home.root().display().to_string();
    let file = arguments.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    let path = file.map_or(arguments, |(path, _)| path).replace(&root, "");
    path.chars().filter(|c| !c.is_ascii_digit() && !matches!(c, 'a'..='f')).take(40).collect()
}

async fn points(fault: Fault) -> Vec<Point> {
    let every = number("STEAD_TEST_EVERY_N");
    let mut points = Vec::new();
    for ((call, _), seen) in sites().await {
        if !fault.strikes(&call) {
            continue;
        }
        let chosen: Vec<usize> = match every {
            Some(every) => seen.iter().copied().step_by(every.max(1)).collect(),
            None => [0, seen.len() / 2, seen.len() - 1].map(|idx| seen[idx]).to_vec(),
        };
        points.extend(chosen.into_iter().map(|nth| Point { call: call.clone(), nth, on: None }));
    }
    points.sort();
    points.dedup();
    if fault != Fault::Kill {
        let on = Some(PathBuf::from("state/logs/daemon.log"));
        points.extend((1..=2).map(|nth| Point { call: "write".into(), nth, on: on.clone() }));
    }
    points
}

/// Tells whether the fault struck.
async fn trial(fault: Fault, point: &Point) -> bool {
    let what = format!("{fault:?} at {} {}", point.call, point.nth);
    let server = ModelServer::start(plan()).unwrap();
    let home = home();
    home.ask(&server.v1_url());
    let log = home.root().join("trace");
    let (call, nth) = (&point.call, point.nth);
    let mut more = vec!["-e".to_owned(), format!("trace={call}")];
    more.extend(["-e".to_owned(), format!("inject={call}:{}:when={nth}", fault.words())]);
    if let Some(on) = &point.on {
        more.extend(["-P".to_owned(), home.root().join(on).display().to_string()]);
    }
    let mut heard = Heard::default();
    match Serving::of(traced(&home, &log, &more)) {
        Ok(daemon) => {
            heard = play(&home).await;
            let (status, said) = daemon.terminate();
            let killed = status.signal() == Some(9);
            assert!(!killed || fault == Fault::Kill, "{what}: it had to be ended by force: {said}");
        }
        Err((status, said)) if fault != Fault::Kill => {
            assert_eq!(status.code(), Some(1), "{what}: {said}");
            assert!(said.contains("stead: "), "{what}: it ended without a word: {said}");
        }
        Err(_) => {}
    }
    let struck = fs::read_to_string(&log)
        .is_ok_and(|text| text.contains("INJECTED") || text.contains("killed by SIGKILL"));
    Played { home, server, heard, what, clean: fault != Fault::Kill }.check().await;
    struck
}

async fn every_point(fault: Fault) {
    if !can_trace() {
        return;
    }
    let points = points(fault).await;
    let mut struck = 0;
    for point in &points {
        struck += usize::from(trial(fault, point).await);
    }
    println!("{fault:?}: struck at {struck} of {} places", points.len());
    assert!(struck * 4 >= points.len() * 3, "{fault:?} struck at {struck} of {points:?}");
}

#[tokio::test]
async fn a_kill_at_any_write_breaks_no_promise() {
    every_point(Fault::Kill).await;
}

#[tokio::test]
async fn a_disk_that_fails_at_any_write_breaks_no_promise() {
    every_point(Fault::Io).await;
}

#[tokio::test]
async fn a_disk_that_is_full_at_any_write_breaks_no_promise() {
    every_point(Fault::Full).await;
}

#[test]
fn a_starter_that_is_killed_does_not_hold_up_the_next() {
    if !can_trace() {
        return;
    }
    // The tracer sees the starter alone, so that it ends with it.
    let calls = [
        "openat:when=10",
        "openat:when=30",
        "?mkdir:when=1",
        "flock:when=1",
        "pipe2:when=1",
        "socketpair:when=1",
        "?clone3:when=1",
        "?clone3:when=2",
        "?clone3:when=3",
        "?vfork:when=1",
        "connect:when=1",
        "epoll_wait:when=1",
        "epoll_wait:when=3",
    ];
    let mut killed = 0;
    for call in calls {
        let home = home();
        let (name, when) = call.split_once(':').unwrap();
        let mut command = Command::new("strace");
        let inject = format!("inject={name}:signal=KILL:{when}");
        command.args(["-qq", "-e", &inject, "-o", "/dev/null"]);
        command.arg(home.program()).args(["daemon", "start"]);
        killed += usize::from(!finish(home.inside(command)).status.success());
        let next = home.run(&["daemon", "start", "--json"]);
        assert!(next.status.success(), "after a kill at {call}: {next:?}");
        let status = home.run(&["daemon", "status"]);
        assert!(status.status.success(), "after a kill at {call}: {status:?}");
    }
    println!("killed at {killed} of {} places", calls.len());
    assert!(killed > 5, "killed at {killed} places only");
}
