//! Programs that do what no program should: how they end, and what is left of them, is known all the same.

use super::*;
use crate::attached::Shell;

/// Every mode, style and state that a program can leave behind, before it dies in the middle of a sequence.
const EVERYTHING: &str = concat!(
    r"\033[?1h\033[?3h\033[?5h\033[?6h\033[?7l\033[?9h\033[?12h\033[?25l\033[?66h\033[?69h",
    r"\033[?1000h\033[?1002h\033[?1003h\033[?1004h\033[?1005h\033[?1006h\033[?1007h\033[?1015h\033[?1016h\033[?1049h",
    r"\033[?2004h\033[?2026h\033[?2027h\033[?2031h\033[?2048h\033[>31u\033[>4;2m\033=\033[4h\033[20h\033[2;5r\033[1;31;44m",
    r"\033(0\016\033]0;left over\007\033]10;#123456\007\033]12;#123456\007\033]8;;http://left.example\033\\\033[5 q",
    r"\033[?2004;1004;38;5",
);

#[test]
fn how_a_program_ends_is_told_and_what_it_printed_is_kept() {
    let home = Home::new();
    let check = |script: &str, state: &str, how: Value, shown: &str| {
        let id = bg(&home, script);
        let code = i32::from(state != "done");
        home.stead(&["wait", &id, "--timeout", "60"]).with(code);
        let row = row(&home, &id);
        assert_eq!((&row["state"], &row["pid"]), (&state.into(), &Value::Null), "{script}: {row}");
        let told =
            row["exit"]["signal"].as_str().map_or(&row["exit"]["code"], |_| &row["exit"]["signal"]);
        assert_eq!((told, row["ended_at"].is_string()), (&how, true), "{script}: {row}");
        let Ended { out, .. } = home.stead(&["logs", &id]).with(0);
        assert!(out.contains(shown), "{script}: {out:?}");
        home.stead(&["rm", &id]).with(0);
    };
    check("exit 0", "done", 0.into(), "");
    check("exit 7", "failed", 7.into(), "");
    check("echo last words; kill -9 $$", "failed", "SIGKILL".into(), "last words");
    check("echo x; kill -SEGV $$", "failed", "SIGSEGV".into(), "x");
    // What no text may hold is shown as what it is not.
    check(r"printf 'a\377\376b\300\257c\355\240\200d\n'", "done", 0.into(), "a\u{fffd}\u{fffd}b");
    check(
        r"printf '\033]0;\377\377\007\033[999999999999999999;1H\033[38;2;9999mx'",
        "done",
        0.into(),
        "x",
    );
    // It lets go of its terminal in every way that there is.
    check("exec <&- >&- 2>&-; exit 3", "failed", 3.into(), "");
    check("echo on; exec setsid -w sh -c 'exit 4' <&- >&- 2>&-", "failed", 4.into(), "on");
    check(&format!("printf '{EVERYTHING}'"), "done", 0.into(), "");
}

#[test]
fn a_program_that_becomes_a_daemon_has_ended_and_its_daemon_goes_on() {
    let home = Home::new();
    let script = "setsid sh -c 'echo $$ >pid.new; mv pid.new pid; exec sleep 1000' <&- >&- 2>&- & \
                  until test -e pid; do :; done";
    let id = bg(&home, script);
    home.stead(&["wait", &id, "--timeout", "60"]).with(0);
    assert_eq!(row(&home, &id)["state"], "done");
    let pid = fs::read_to_string(home.path("work/pid")).unwrap();
    let left = ProcId::of(pid.trim().parse().unwrap()).unwrap();
    assert!(left.is_alive());
    kill(&left);
}

#[test]
fn a_program_that_sets_every_mode_and_dies_leaves_the_terminal_as_it_was() {
    let home = Home::new();
    let shell = Shell::new(&home);
    let id = bg(&home, &format!("echo on; read x; printf '{EVERYTHING}'; kill -9 $$"));
    shell.attach(&id);
    shell.tmux.wait_for("on");
    shell.tmux.keys(&["Enter"]);
    shell.tmux.wait_for("code=");
    shell.is_restored();
    assert_eq!(row(&home, &id)["state"], "failed");
}

/// What a job's program put in the background on purpose goes on, until somebody means the job with all of it.
#[test]
fn what_an_ended_job_has_left_goes_on_until_the_job_is_stopped_or_removed() {
    let home = Home::new();
    for verb in ["stop", "rm"] {
        let told = home.path(verb);
        let script = format!(
            "setsid sh -c 'echo $$ >{0}.new; mv {0}.new {0}; exec sleep 1000' </dev/null >/dev/null 2>&1 &
             until test -e {0}; do sleep 0.01; done",
            told.display()
        );
        let id = bg(&home, &script);
        home.stead(&["wait", &id, "--timeout", "60"]).with(0);
        let left = process(&serde_json::from_slice(&fs::read(&told).unwrap()).unwrap());
        assert!(left.is_alive(), "{verb}");
        home.stead(&[verb, &id]).with(0);
        gone(&left);
        if verb == "stop" {
            assert_eq!(row(&home, &id)["state"], "done", "how it ended is as true as before");
        }
    }
}

/// Two jobs that begin to show each other at once: at least one of them is refused, and nothing spins.
#[test]
fn jobs_that_show_each_other_are_refused() {
    let home = Home::new();
    let program = home.command(&[]).get_program().to_str().unwrap().to_owned();
    let go = home.path("go");
    let shows = |name: &str, other: &str| {
        let script = format!(
            "until test -e {}; do sleep 0.01; done; '{program}' attach {other}; echo e''nd=$?; read x",
            go.display()
        );
        home.stead(&["bg", "--name", name, "--", "sh", "-c", &script]).with(0);
    };
    shows("one", "two");
    shows("two", "one");
    fs::write(&go, "").unwrap();
    let screens = || ["one", "two"].map(|name| home.stead(&["logs", name]).with(0).out);
    until("a refusal", || screens().iter().any(|screen| screen.contains("attached_to_itself")));
    for screen in screens() {
        assert!(screen.lines().count() < 60, "{screen}");
    }
    // A follower on a terminal shows it as well.
    let itself = home
        .stead(&[
            "bg",
            "--json",
            "--name",
            "three",
            "--",
            "sh",
            "-c",
            &format!("'{program}' logs -f three; echo e''nd=$?; read x"),
        ])
        .with(0)
        .out;
    let itself: Value = serde_json::from_str(&itself).unwrap();
    until("a refusal", || {
        let screen = home.stead(&["logs", itself["id"].as_str().unwrap()]).with(0).out;
        screen.contains("attached_to_itself") && screen.contains("end=1")
    });
}
