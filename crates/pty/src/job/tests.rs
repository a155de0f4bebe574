//! Job files: what is written is read, and what is none of ours is said to be so.

#![expect(clippy::disallowed_methods, reason = "reads a file as whoever knows only its wire")]

use std::{fs, io::Write as _};

use serde_json::{Value, json};

use super::*;

/// Job files in a directory of their own.
pub(super) struct Place {
    pub(super) dir: tempfile::TempDir,
    pub(super) files: JobFiles,
}

pub(super) fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let files = JobFiles::new(dir.path(), dir.path(), &"0a1b2c3d".parse().unwrap());
    Place { dir, files }
}

fn record(files: &JobFiles) -> JobRecord {
    JobRecord {
        id: files.id().clone(),
        name: "build".into(),
        cwd: "/tmp".into(),
        command: vec!["sh".into(), "-c".into(), "true".into()],
        env: BTreeMap::from([("LANG".into(), "C.UTF-8".into()), ("KEY".into(), "secret".into())]),
        env_names: vec!["KEY".into()],
        token: "token-of-the-job".into(),
        session_file: None,
        worktree: None,
        origin: "bg".into(),
        agent: false,
        asked: crate::job::Asked::default(),
        created_at: 1_700_000_000_000,
        daemon_socket: None,
        stead_version: "0.1.0".into(),
        record: true,
    }
}

#[test]
fn a_record_is_read_as_it_was_written_and_prints_no_value() {
    let Place { dir, files } = place();
    assert_eq!(files.read().unwrap_err().code(), "job_not_found");
    let written = record(&files);
    files.create(&written).unwrap();
    assert_eq!(files.read().unwrap(), written);
    let printed = format!("{written:?}");
    assert!(!printed.contains("secret") && !printed.contains("token-of"), "{printed}");
    let path = dir.path().join("jobs/0a1b2c3d/job.json");
    let json: Value =
        serde_json::from_slice(&state_file::read(&path, 1 << 20).unwrap().unwrap()).unwrap();
    assert_eq!(
        (&json["createdAt"], &json["envNames"]),
        (&json!(1_700_000_000_000_i64), &json!(["KEY"]))
    );
    files.remove().unwrap();
    assert_eq!(files.read().unwrap_err().code(), "job_not_found");
}

#[test]
fn an_end_has_the_shape_of_the_wire() {
    let Place { dir: _dir, files } = place();
    files.create(&record(&files)).unwrap();
    assert_eq!(files.read_exit().unwrap(), None);
    let exit = ExitRecord { code: Some(0), signal: None, at: 5, stopped: false, failure: None };
    files.write_exit(&exit).unwrap();
    let written = |files: &JobFiles| -> Value {
        serde_json::from_slice(&fs::read(files.exit()).unwrap()).unwrap()
    };
    let told = json!({"code": 0, "signal": null, "at": 5, "stopped": false});
    assert_eq!((written(&files), files.read_exit().unwrap()), (told, Some(exit)));
    let failure = Some(Failure::not_started("cwd_missing", "m"));
    let exit = ExitRecord { code: None, signal: None, at: 6, stopped: true, failure };
    files.write_exit(&exit).unwrap();
    let failure = json!({"code": "cwd_missing", "effect": "not_started", "message": "m"});
    let told = json!({
        "code": null, "signal": null, "at": 6, "stopped": true, "failure": failure,
    });
    assert_eq!((written(&files), files.read_exit().unwrap()), (told, Some(exit)));
    // As the first of its kind wrote it.
    let old = br#"{"code":null,"signal":"SIGKILL","at":7}"#;
    state_file::publish(&files.exit(), old).unwrap();
    let read = files.read_exit().unwrap().unwrap();
    assert_eq!((read.code, read.signal.as_deref(), read.at), (None, Some("SIGKILL"), 7));
}

#[test]
fn a_record_beyond_the_limit_is_refused() {
    let Place { dir: _dir, files } = place();
    let mut written = record(&files);
    files.create(&written).unwrap();
    let n_bytes = |files: &JobFiles| fs::metadata(files.record()).unwrap().len();
    let room = JOB_FILE_BYTES_MAX - n_bytes(&files);
    written.name.push_str(&"x".repeat(usize::try_from(room).unwrap()));
    files.create(&written).unwrap();
    assert_eq!((n_bytes(&files), files.read().is_ok()), (JOB_FILE_BYTES_MAX, true));
    written.name.push('x');
    assert_eq!(files.create(&written).unwrap_err().code(), "command_too_long");
    assert_eq!(files.read().unwrap().name.len(), written.name.len() - 1);
    // What somebody else made longer is not read either.
    let mut longer = state_file::open_to_append(&files.record()).unwrap();
    longer.write_all(b" ").unwrap();
    assert_eq!(files.read().unwrap_err().code(), "job_files_unusable");
}

#[test]
fn what_is_none_of_ours_is_said_to_be_so() {
    let Place { dir: _dir, files } = place();
    files.create(&record(&files)).unwrap();
    for bad in ["", "{}", "null", "{\"id\":\"../../x\"}", "\u{1}"] {
        state_file::publish(&files.record(), bad.as_bytes()).unwrap();
        assert_eq!(files.read().unwrap_err().code(), "job_malformed", "{bad}");
    }
    let mut other = record(&files);
    other.id = "ffffffff".parse().unwrap();
    files.create(&other).unwrap();
    assert_eq!(files.read().unwrap_err().code(), "job_malformed");
    let deep = PathBuf::from(format!("/{}", "d".repeat(90)));
    let files = JobFiles::new(&deep, &deep, files.id());
    assert_eq!(files.check_socket().unwrap_err().code(), "socket_path_too_long");
}

#[test]
fn a_host_is_found_where_it_has_said_that_it_listens() {
    let Place { dir, files } = place();
    files.create(&record(&files)).unwrap();
    let elsewhere = JobFiles::new(dir.path(), &dir.path().join("elsewhere"), files.id());
    assert_eq!(elsewhere.clone().located(), elsewhere);
    files.note_socket().unwrap();
    // What is noted and is not there is no help, nor is another kind of file.
    assert_eq!(elsewhere.clone().located(), elsewhere);
    state_file::replace(files.socket(), b"").unwrap();
    assert_eq!(elsewhere.clone().located(), elsewhere);
    state_file::remove(files.socket()).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(files.socket()).unwrap();
    assert_eq!(elsewhere.clone().located(), files);
    state_file::replace(&files.socket_note(), "x".repeat(1_000).as_bytes()).unwrap();
    assert_eq!(elsewhere.clone().located(), elsewhere);
}
