//! A host that goes on for another one, within this process, and a door that is opened again. That another
//! build does so is seen from outside.

use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use screen::Size;

use super::{
    super::{birth, door::Door, terminal::Pty, upgrade},
    *,
};

/// Lets the host's part begin over a program that runs already, with whatever was handed over.
fn go_on(job: &mut Job, memory: OwnedFd) -> Pty {
    let size = Size::clamped(60, 10);
    let pty = Pty::open(size).unwrap();
    let record = job.files.read().unwrap();
    let (child, scope) = birth::start(&job.files, &record, &pty).unwrap();
    let pid = child.id().pid;
    // The host before has become another program, which drops nothing.
    std::mem::forget((child, scope));
    let lock = Lock::try_acquire(&job.files.dir().join("host.lock")).unwrap().unwrap();
    let door = Door::open(job.files.socket(), lock).unwrap();
    let (master, slave) = (
        rustix::io::fcntl_dupfd_cloexec(&pty, 3).unwrap(),
        rustix::io::fcntl_dupfd_cloexec(pty.program_end().unwrap(), 3).unwrap(),
    );
    let files = job.files.clone();
    let given = upgrade::Given {
        memory,
        pty: Pty::inherited(master, slave),
        door,
        pid,
        streams: Vec::new(),
    };
    job.thread = Some(std::thread::spawn(move || upgrade::go_on(&files, given)));
    pty
}

#[test]
fn a_host_that_cannot_read_the_state_goes_on_with_what_was_recorded() {
    let mut job = Job::sh("echo recorded; read x");
    job.attach().wait_for("recorded");
    let mut control = job.control();
    control.ask(&json!({"op": "send", "text": "\r"}));
    job.end();
    // As if the host had become another one before the end.
    stdx::state_file::remove(&job.files.dir().join("exit.json")).unwrap();
    let mut record = job.files.read().unwrap();
    record.command[2] = "read x; echo got:$x".into();
    job.files.create(&record).unwrap();
    let memory = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
    rustix::io::write(&memory, b"nothing that anybody understands").unwrap();
    let _pty = go_on(&mut job, memory);
    let mut control = job.control();
    let text = control.ask(&json!({"op": "snapshot"}));
    assert!(text["text"].as_str().unwrap().starts_with("recorded\n"), "{text}");
    let status = control.ask(&json!({"op": "status"}));
    assert_eq!((&status["cols"], &status["rows"]), (&json!(60), &json!(10)));
    control.ask(&json!({"op": "send", "text": "abc\r"}));
    assert_eq!(control.wait(Kind::Exit)["code"], 0);
    assert_eq!(job.end().code, Some(0));
    assert!(job.screen().contains("got:abc\n"), "{}", job.screen());
}

#[test]
fn a_program_that_is_no_child_is_not_taken_over() {
    let files = JobFiles::new("/".as_ref(), "/".as_ref(), &vocab::ids::JobId::generate());
    for words in [&[][..], &["x", "3"], &["1", ""], &["1", "3,3,3,3,3"], &["1", "0,1,2,3,4"]] {
        let words: Vec<_> = words.iter().map(Into::into).collect();
        upgrade::resume(&files, &words).unwrap_err();
    }
}

#[test]
fn what_cannot_be_become_is_refused_and_the_job_goes_on() {
    let mut job = Job::sh("read x; echo got:$x");
    let mut client = job.attach();
    for (path, code) in [
        ("/nowhere", "program_unusable"),
        ("/", "program_unusable"),
        ("/dev/null", "program_unusable"),
        ("/bin/true", "upgrade_refused"),
        ("/bin/false", "upgrade_refused"),
    ] {
        let reply = client.ask(&json!({"op": "upgrade", "path": path}));
        assert_eq!(reply["error"]["code"], code, "{reply}");
        assert_eq!(reply["error"]["effect"], "not_started", "{reply}");
    }
    client.type_in("abc\r");
    client.wait_for("got:abc");
    job.end();
}
