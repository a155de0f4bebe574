//! Jobs that are shown inside others.

use super::*;
use crate::ask::Within;

#[test]
fn jobs_that_show_each_other_are_refused_whoever_comes_last() {
    let jobs: Vec<Job> = (0..3).map(|_| Job::sh("read x")).collect();
    let socket = |nth: usize| jobs[nth].files.socket();
    let refused = |shown: usize, own: usize| {
        let failure = Within::say(socket(shown), socket(own)).unwrap_err();
        assert_eq!(failure.code, "attached_to_itself", "{shown} in {own}");
        assert_eq!(failure.effect, Effect::NotStarted);
    };
    refused(0, 0);
    // The first is shown in the second, and that in the third.
    let first = Within::say(socket(0), socket(1)).unwrap();
    let second = Within::say(socket(1), socket(2)).unwrap();
    let told = jobs[0].control().ask(&json!({"op": "status"}));
    assert_eq!(told["shownWithin"], json!([socket(1)]));
    refused(1, 0);
    refused(2, 1);
    refused(2, 0);
    // Again, and in two others at once, is no circle.
    let more = [(0, 1), (0, 2)].map(|(shown, own)| Within::say(socket(shown), socket(own)));
    assert!(more.iter().all(Result::is_ok));
    drop((first, more));
    // It is over as soon as the host has heard so.
    while jobs[0].control().ask(&json!({"op": "status"}))["shownWithin"] != Value::Null {}
    let third = Within::say(socket(2), socket(0)).unwrap();
    refused(0, 1);
    drop((second, third));
}

#[test]
fn so_many_jobs_in_a_row_are_asked_and_no_more() {
    // Nobody listens there, so each is the end of its row.
    let job = Job::sh("read x");
    let own = job.dir.path().join("elsewhere.sock");
    assert!(Within::say(job.files.socket(), &own).is_ok());
    let nowhere = job.dir.path().join("nowhere.sock");
    assert!(Within::say(&nowhere, &own).is_ok(), "whoever attaches says what is wrong");
    // One that is shown in more than that is asked about no further.
    let (base, other) = (job.dir.path().display().to_string(), Job::sh("read x"));
    let shown = |n: usize| {
        let within = format!("{base}/{n}.sock");
        let mut client = job.client(json!({"role": "control", "within": within}));
        client.ask(&json!({"op": "status"}));
        client
    };
    let most = vocab::limits::SHOWN_WITHIN_MAX - 1;
    let _held: Vec<Client> = (0..most).map(shown).collect();
    assert!(Within::say(other.files.socket(), job.files.socket()).is_ok());
    let _one_more = shown(most);
    let refused = Within::say(other.files.socket(), job.files.socket()).unwrap_err();
    assert!(refused.message.contains("too many"), "{refused:?}");
}

#[test]
fn jobs_that_do_not_answer_hold_up_whoever_shows_one_once() {
    let (job, other) = (Job::sh("read x"), Job::sh("read x"));
    // The kernel takes the connections for them, as it does for a host that is stopped.
    let stuck: Vec<_> = (0..8)
        .map(|n| {
            let path = job.dir.path().join(format!("{n}.sock"));
            let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
            (path, listener)
        })
        .collect();
    let shown = |(path, _): &(std::path::PathBuf, _)| {
        let mut client = job.client(json!({"role": "control", "within": path}));
        client.ask(&json!({"op": "status"}));
        client
    };
    let _held: Vec<Client> = stuck.iter().map(shown).collect();
    let clock = stdx::clock::Clock::system();
    let within = Within::say(other.files.socket(), job.files.socket()).unwrap();
    assert!(!within.is_sure());
    assert!(Duration::from_millis(vocab::limits::SHOWN_WITHIN_MS_MAX) <= clock.monotonic());
    // The first has used the time up, and the others were not even asked.
    let asked = |(_, listener): &(_, std::os::unix::net::UnixListener)| {
        listener.set_nonblocking(true).unwrap();
        listener.accept().is_ok()
    };
    assert_eq!(stuck.iter().filter(|stuck| asked(stuck)).count(), 1);
    assert!(
        Within::say(other.files.socket(), &job.dir.path().join("none.sock")).unwrap().is_sure()
    );
}
