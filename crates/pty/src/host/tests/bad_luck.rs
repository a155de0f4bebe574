//! What goes wrong: programs that misbehave, clients that talk nonsense, files that cannot be written.

use vocab::limits::HOST_RECORD_RETRY_MS;

use super::*;

#[test]
fn the_usual_bounds_are_those_of_the_table() {
    assert_eq!(ending::Spans::USUAL.retry, Duration::from_millis(HOST_RECORD_RETRY_MS));
}

#[test]
fn a_job_that_cannot_begin_says_why_in_its_record() {
    let check = |command: &[&str], cwd: &str, code: &str| {
        let mut files = None;
        let failure = Job::from(|record| {
            record.command = command.iter().map(|word| (*word).to_owned()).collect();
            record.cwd = cwd.into();
            files = Some(record.id.clone());
        });
        assert_eq!(failure.err().map(|failure| failure.code).as_deref(), Some(code), "{command:?}");
    };
    check(&["no-such-program"], "/", "program_missing");
    check(&["/etc/passwd"], "/", "program_missing");
    check(&[], "/", "command_missing");
    check(&["true"], "/no/such/directory", "cwd_missing");
    check(&["true"], "/etc/passwd", "cwd_missing");
    check(&["./true"], "/etc", "program_missing");
    assert_eq!(Job::of(&["true"]).unwrap().end().code, Some(0));
}

#[test]
fn programs_that_misbehave_have_a_true_end() {
    let check = |script: &str, code: Option<i32>, signal: Option<&str>, screen: &str| {
        let mut job = Job::sh(script);
        let exit = job.end();
        assert_eq!((exit.code, exit.signal.as_deref()), (code, signal), "{script}");
        assert_eq!(job.screen(), screen, "{script}");
    };
    check("exit 0", Some(0), None, "");
    check("kill -9 $$", None, Some("SIGKILL"), "");
    check("printf 'a\\377\\300b'; exit 2", Some(2), None, "a\u{fffd}\u{fffd}b\n");
    check("printf 'cut \\303'", Some(0), None, "cut\n");
    check("exec <&- >&- 2>&-; exit 4", Some(4), None, "");
    check("printf '\\033[?1049h\\033[?1000hset'; exit 1", Some(1), None, "set\n");
    check("printf 'last words'", Some(0), None, "last words\n");
}

#[test]
fn nonsense_costs_its_speaker_the_connection_and_nobody_else() {
    let mut job = Job::sh("echo on; read x; echo $x");
    let mut witness = job.attach();
    witness.wait_for("on");
    let oversize = [&[2][..], &u32::MAX.to_be_bytes()].concat();
    let hello = frame::encode(Kind::Hello, br#"{"role":"attach"}"#);
    let refused: [(&str, Vec<u8>); 6] = [
        ("frame_too_long", oversize.clone()),
        ("frame_too_long", [&hello[..], &oversize].concat()),
        ("hello_missing", frame::encode(Kind::Data, b"x")),
        ("frame_malformed", frame::encode(Kind::Hello, b"\xff\xfe")),
        ("frame_malformed", frame::encode(Kind::Hello, br#"{"role":"attach","cols":-5}"#)),
        ("frame_malformed", [&hello[..], &frame::encode(Kind::Resize, b"{}")].concat()),
    ];
    for (code, bytes) in refused {
        let mut client = job.stranger();
        client.raw(&bytes);
        let told = client.let_go();
        assert_eq!((&told["reason"], &told["error"]["code"]), (&json!("refused"), &json!(code)));
    }
    // Cut in the middle, gone without a word, unknown, in the wrong direction.
    let mut cut = job.stranger();
    cut.raw(&hello[..7]);
    drop((cut, job.stranger()));
    let mut odd = job.client(json!({"role": "attach"}));
    odd.raw(&frame::encode(Kind::Exit, b"{}"));
    odd.raw(&[[99, 0, 0, 0, 2].as_slice(), b"??"].concat());
    odd.wait_for("on");
    drop(odd);
    witness.type_in("still here\r");
    witness.wait_for("still here\r\nstill here");
    assert_eq!(job.end().code, Some(0));
}

#[test]
fn absurd_sizes_are_brought_into_bounds() {
    let job = Job::sh("echo on; cat");
    for (cols, rows, expected) in [
        (0_u32, 0_u32, (120, 30)),
        (1, 1, (2, 1)),
        (u32::MAX, u32::MAX, (1_000, 500)),
        (65_537, 1, (1_000, 1)),
        (80, 24, (80, 24)),
    ] {
        let mut client = job.client(json!({"role": "attach", "cols": cols, "rows": rows}));
        let state = client.wait(Kind::State);
        assert_eq!((&state["cols"], &state["rows"]), (&json!(expected.0), &json!(expected.1)));
    }
}

#[test]
fn a_job_has_one_host_and_one_life() {
    let mut job = Job::sh("echo on; read x");
    let refused = run(&job.files, None, || panic!("two hosts")).unwrap_err();
    assert_eq!(refused.code, "locked");
    let mut typist = job.attach();
    typist.type_in("\r");
    assert_eq!(job.end().code, Some(0));
    assert_eq!(run(&job.files, None, || ()).unwrap_err().code, "job_ended");
}

#[test]
fn an_end_that_cannot_be_written_is_tried_again() {
    let mut job = Job::sh("echo on; read x; exit 5");
    let mut client = job.attach();
    client.wait_for("on");
    client.wait(Kind::State);
    let in_the_way = job.files.dir().join("exit.json");
    stdx::state_file::ensure_dir(&in_the_way.join("full")).unwrap();
    // Nor can it be put beside: all names are taken.
    for number in 1..=vocab::limits::JOB_FILES_ASIDE_MAX {
        let name = format!("exit.json.unreadable-{number}");
        stdx::state_file::publish(&job.files.dir().join(name), b"").unwrap();
    }
    client.type_in("\r");
    assert_eq!(client.wait(Kind::State)["state"], "failed");
    // It is still there to be asked, and nothing is lost.
    assert_eq!(job.control().ask(&json!({"op": "status"}))["alive"], false);
    stdx::state_file::remove_tree(&in_the_way).unwrap();
    assert_eq!(client.wait(Kind::Exit)["code"], 5);
    assert_eq!(job.end().code, Some(5));
}

#[test]
fn whatever_stands_where_the_end_is_written_is_kept_beside() {
    let check = |make: &dyn Fn(&std::path::Path)| {
        let mut job = Job::sh("echo on; read x; exit 5");
        let mut client = job.attach();
        client.wait_for("on");
        make(&job.files.dir().join("exit.json"));
        client.type_in("\r");
        assert_eq!(job.end().code, Some(5));
        let aside = job.files.dir().join("exit.json.unreadable-1");
        assert!(rustix::fs::lstat(&aside).is_ok());
        job.files.remove().unwrap();
    };
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    check(&|path| stdx::state_file::ensure_dir(&path.join("full")).unwrap());
    check(&|path| rustix::fs::symlink("nowhere", path).unwrap());
    let fifo = rustix::fs::FileType::Fifo;
    check(&|path| rustix::fs::mknodat(rustix::fs::CWD, path, fifo, mode, 0).unwrap());
    check(&|path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()));
}

#[test]
fn a_program_that_does_not_begin_anew_leaves_its_end_as_it_was() {
    let mut job = Job::sh("exit 3");
    let exit = job.end();
    let again = |job: &Job, command: &[&str]| {
        let mut record = job.files.read().unwrap();
        record.command = command.iter().map(|word| (*word).to_owned()).collect();
        job.files.create(&record).unwrap();
        job.files.set_exit_aside().unwrap();
        run(&job.files, None, || ())
    };
    let refused = again(&job, &["no-such-program"]).unwrap_err();
    assert_eq!((refused.code.as_str(), refused.effect), ("program_missing", Effect::NotStarted));
    assert_eq!(job.files.read_exit().unwrap(), Some(exit));
    // One that begins has another end, and nothing is left of the one before.
    assert_eq!(again(&job, &["sh", "-c", "exit 4"]).unwrap().code, Some(4));
    assert_eq!(job.files.read_exit().unwrap().and_then(|exit| exit.code), Some(4));
    assert!(!job.files.put_exit_back().unwrap());
}

#[test]
fn a_job_that_was_removed_while_it_ran_ends_all_the_same() {
    let mut job = Job::sh("echo on; read x");
    let mut client = job.attach();
    client.wait_for("on");
    stdx::state_file::remove_tree(job.files.dir()).unwrap();
    client.type_in("\r");
    assert_eq!(client.let_go(), json!({"reason": "exit"}));
    assert_eq!(job.ended().unwrap().code, Some(0));
}

#[test]
fn a_session_file_has_one_writer_for_as_long_as_its_program_lives() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.jsonl");
    let lock = dir.path().join("s.jsonl.lock");
    let of = |script: &str| {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let file = Some(file.clone());
        Job::from(|record| (record.command, record.session_file) = (command, file))
    };
    let mut first = of("read x").unwrap();
    let Err(failure) = of("true") else { panic!("two write one file") };
    assert_eq!(failure.code, "locked");
    let link = dir.path().join("another-name.jsonl");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    stdx::state_file::publish(&file, b"{}").unwrap();
    let linked = Job::from(|record| {
        (record.command, record.session_file) = (vec!["true".into()], Some(link.clone()));
    });
    assert_eq!(linked.err().map(|failure| failure.code).as_deref(), Some("locked"));
    let me = format!("process {} holds", std::process::id());
    assert!(failure.message.contains(&me), "{failure:?}");
    let mut typist = first.attach();
    typist.type_in("x\r");
    assert_eq!(first.end().code, Some(0));
    assert!(!lock.exists());
    let mut second = of("true").unwrap();
    assert_eq!(second.end().code, Some(0));
}
