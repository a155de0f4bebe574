//! What somebody does with many jobs every day: looks at those of one place, clears up, asks once, stops all of it.

use super::*;

/// Starts a script that has ended once this returns, and returns its id.
fn ended(home: &Home, name: &str) -> String {
    let told = home.stead(&["bg", "--json", "--name", name, "--", "true"]).with(0).out;
    let row: Value = serde_json::from_str(&told).unwrap();
    let id = row["id"].as_str().unwrap().to_owned();
    home.stead(&["wait", &id, "--timeout", "60"]).with(0);
    id
}

#[test]
fn a_stop_without_a_daemon_ends_the_jobs_that_were_kept() {
    let home = Home::new();
    let id = bg(&home, "sleep 1000");
    let host: u32 = serde_json::from_value(note(&home, &id)["hostPid"].clone()).unwrap();
    let line = fs::read(format!("/proc/{host}/cmdline")).unwrap();
    assert!(line.starts_with(format!("stead\0host\0{id}").as_bytes()), "{line:?}");
    assert_eq!(fs::read_to_string(format!("/proc/{host}/comm")).unwrap(), "stead\n");
    let stop = |args: &[&str]| home.stead(&[&["daemon", "stop"], args].concat()).with(0).err;
    assert_eq!(stop(&["--keep-jobs"]), "stead: the daemon has stopped; 1 job kept\n");
    assert_eq!(stop(&["--keep-jobs"]), "stead: no daemon was running; 1 job kept\n");
    assert_eq!(stop(&[]), "stead: no daemon was running; 1 job ended\n");
    assert_eq!(stop(&[]), "stead: no daemon is running\n");
    assert_eq!(row(&home, &id)["state"], "stopped");
}

#[test]
fn of_a_job_that_is_not_recorded_nothing_is_left() {
    let home = Home::new();
    let told =
        home.stead(&["bg", "--json", "--no-record", "--", "sh", "-c", "echo secret; read x"]);
    let job: Value = serde_json::from_str(&told.with(0).out).unwrap();
    let id = job["id"].as_str().unwrap();
    let begun = Instant::now();
    while !home.stead(&["logs", id]).with(0).out.contains("secret") {
        assert!(begun.elapsed() < PATIENCE);
    }
    home.stead(&["send", id, ""]).with(0);
    home.stead(&["wait", id, "--timeout", "60"]).with(0);
    let said = home.stead(&["logs", id]).with(3);
    assert_eq!(said.out, "");
    assert!(said.err.contains("as --no-record asked"), "{}", said.err);
    assert!(!home.path(&format!("state/jobs/{id}/screen.txt")).exists());
}

#[test]
fn a_list_of_a_directory_has_what_works_below_it_and_in_worktrees_of_it() {
    let home = Home::new();
    home.shell(
        "git init -q -b main . && mkdir -p sub/deep other && echo a >a && git add -A && \
        git -c user.name=P -c user.email=p@localhost commit -qm begin",
    )
    .with(0);
    let start = |args: &[&str]| {
        let args = [&["bg", "--json"], args, &["--", "sleep", "1000"]].concat();
        let row: Value = serde_json::from_str(&home.stead(&args).with(0).out).unwrap();
        row["id"].as_str().unwrap().to_owned()
    };
    let (below, tree) = (start(&["-C", "sub/deep"]), start(&["--worktree=feat"]));
    let ids = |dir: &str| -> Vec<String> {
        let told = home.stead(&["ls", "--json", "--cwd", dir]).with(0).out;
        let rows: Vec<Value> = serde_json::from_str(&told).unwrap();
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("."), [below.clone(), tree.clone()]);
    assert_eq!(ids("sub"), [below, tree.clone()]);
    assert_eq!(ids("other"), [tree]);
    let shown = home.stead(&["ls"]).with(0).out;
    assert!(shown.contains(" · feat  "), "{shown}");
    let nothing = home.stead(&["ls", "--cwd", "/usr"]).with(0);
    assert_eq!(nothing.err, "stead: nothing below /usr; without --cwd there are 2\n");
    home.stead(&["ls", "--cwd", "nowhere"]).with(3);
}

#[test]
fn a_wait_of_no_time_looks_once() {
    let home = Home::new();
    let (done, id) = (ended(&home, "done"), bg(&home, "sleep 1000"));
    home.stead(&["wait", &done, "--timeout", "0"]).with(0);
    let said = home.stead(&["wait", &id, "--timeout", "0"]).with(124).err;
    assert!(said.contains("it is not done: "), "{said}");
    home.stead(&["wait", &id, "--timeout", "0.05"]).with(124);
    home.stead(&["wait", &id, "--timeout", "soon"]).with(2);
    home.stead(&["stop", &id]).with(0);
    home.stead(&["wait", &id, "--timeout", "0"]).with(1);
}

#[test]
fn all_that_ended_is_removed_and_all_that_runs_is_upgraded_at_once() {
    let home = Home::new();
    let (one, two) = (ended(&home, "one"), ended(&home, "two"));
    let (kept, runs) = (ended(&home, "kept"), bg(&home, "sleep 1000"));
    home.stead(&["pin", &kept]).with(0);
    let said = home.stead(&["rm", "--ended"]).with(2).err;
    assert!(said.contains("2 jobs have ended"), "{said}");
    let said = home.stead(&["rm", "--ended", "-y"]).with(0).err;
    assert_eq!(said, format!("removed · {one} · one\nremoved · {two} · two\n"));
    assert_eq!(
        (&row(&home, &kept)["state"], &row(&home, &runs)["state"]),
        (&"done".into(), &"working".into())
    );
    let said = home.stead(&["rm", "--ended", "-y"]).with(0).err;
    assert!(said.starts_with("no job that has ended is there"), "{said}");
    let said = home.stead(&["upgrade", "--all"]).with(0).err;
    assert!(said.starts_with(&format!("upgraded · {runs} · ")), "{said}");
    home.stead(&["upgrade"]).with(2);
    home.stead(&["rm", "--ended", "one"]).with(2);
}

#[test]
fn a_name_that_would_be_an_id_is_refused() {
    let home = Home::new();
    home.stead(&["bg", "--name", "0123abcd", "--", "sleep", "1000"]).with(2);
    let id = bg(&home, "sleep 1000");
    let said = home.stead(&["rename", &id, "0123abcd"]).with(2).err;
    assert!(said.contains("has the form of a job's id"), "{said}");
}

#[test]
fn words_of_other_programs_and_slips_of_the_hand_get_the_next_step() {
    let home = Home::new();
    for (args, tip) in [
        (&["clean"][..], "'stead rm --ended' removes jobs"),
        (&["prune"], "'stead rm --ended' removes jobs"),
        (&["kill", "x"], "'stead stop JOB' ends a job"),
        (&["start"], "'stead bg -- COMMAND' starts a program"),
        (&["status"], "'stead ls' tells how jobs"),
        (&["bg", "--worktree", "add tests"], "'stead bg --worktree -- COMMAND'"),
        (
            &["bg", "--worktree", "feat", "--", "ls", "a b"],
            "'stead bg --worktree=feat -- ls 'a b''",
        ),
        (&["bg", "--name", "-x", "--", "ls"], "joined by =: --name=-x"),
    ] {
        let said = home.stead(args).with(2).err;
        assert!(said.contains(&format!("tip: {tip}")) || said.contains(tip), "{args:?}: {said}");
    }
}
