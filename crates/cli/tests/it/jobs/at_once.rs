//! Programs that kill their host before it can say that they run: what they did is somebody's work, and what
//! they leave running is nobody's.

use super::*;

/// Kills its host at once, and does not listen to the end of its terminal.
const KILLS: &str = "trap '' HUP; kill -9 $PPID; exec sleep 1000";

/// How often it is tried: whether the host has said by then that its program runs is a matter of luck.
const N_TRIES: usize = 6;

/// Returns the only job of this name, once it is known how it ended.
#[track_caller]
fn ended(home: &Home, name: &str) -> Value {
    home.stead(&["wait", name, "--timeout", "60"]).with(1);
    let rows: Value =
        serde_json::from_str(&home.stead(&["ls", "--all", "--json"]).with(0).out).unwrap();
    let rows: Vec<&Value> =
        rows.as_array().unwrap().iter().filter(|row| row["name"] == name).collect();
    let [row] = rows[..] else { panic!("{name} in {rows:?}") };
    assert_eq!((&row["state"], &row["exit"]), (&"failed".into(), &Value::Null), "{row}");
    assert!(row["status"].as_str().unwrap().contains("its host died"), "{row}");
    assert_eq!(carriers(row["id"].as_str().unwrap()), Vec::<String>::new(), "{row}");
    row.clone()
}

/// Returns the processes that carry a job's marker.
fn carriers(id: &str) -> Vec<String> {
    let mark = format!("STEAD_JOB_ID={id}");
    let carries = |pid: &String| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
    };
    let names = fs::read_dir("/proc").unwrap().flatten();
    names.filter_map(|entry| entry.file_name().into_string().ok()).filter(carries).collect()
}

/// A command that started such a program says that it runs, or that it may have run and is kept.
#[track_caller]
fn said(told: &Ended) {
    let is_told = told.code == 0 || told.err.contains("may have run");
    assert!(is_told, "{}: {}{}", told.code, told.out, told.err);
}

#[test]
fn a_job_that_kills_its_host_at_once_is_kept_and_nothing_of_it_runs_on() {
    let home = Home::new();
    for n in 0..N_TRIES {
        let (name, ran) = (format!("job-{n}"), home.work().join(format!("ran-{n}")));
        let script = format!("touch {}; {KILLS}", ran.display());
        said(&home.stead(&["bg", "--name", &name, "--", "sh", "-c", &script]));
        ended(&home, &name);
        assert!(ran.exists());
    }
}

#[test]
fn a_respawned_job_that_kills_its_host_at_once_is_not_told_to_have_ended_as_before() {
    let home = Home::new();
    for n in 0..N_TRIES {
        let (name, flag) = (format!("job-{n}"), home.work().join(format!("flag-{n}")));
        let flag = flag.display();
        let script = format!("test -e {flag} || {{ touch {flag}; exit 4; }}; {KILLS}");
        home.stead(&["bg", "--name", &name, "--", "sh", "-c", &script]).with(0);
        home.stead(&["wait", &name, "--timeout", "60"]).with(1);
        said(&home.stead(&["respawn", &name]));
        let row = ended(&home, &name);
        kill(&daemon(&home));
        // The next daemon tells the same.
        assert_eq!(ended(&home, &name), row);
    }
}

#[test]
fn what_a_job_wrote_into_its_worktree_before_it_killed_its_host_is_saved() {
    let home = Home::new();
    let script = "git init -q -b main . && echo a >a && git add -A && \
                  git -c user.name=P -c user.email=p@localhost commit -qm begin";
    home.shell(script).with(0);
    for n in 0..N_TRIES {
        let (name, script) = (format!("job-{n}"), format!("echo work-{n} >new; {KILLS}"));
        said(&home.stead(&["bg", "--worktree", "--name", &name, "--", "sh", "-c", &script]));
        let row = ended(&home, &name);
        home.stead(&["rm", &name]).with(0);
        let saved = format!("git show refs/stead/saved/{}:new", row["id"].as_str().unwrap());
        assert_eq!(home.shell(&saved).with(0).out, format!("work-{n}\n"));
    }
}
