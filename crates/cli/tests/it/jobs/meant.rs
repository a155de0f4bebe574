//! What a word means: a part of a name is enough to look, and whoever changes something is asked first.

use super::*;
use crate::pty::Terminal;

/// Starts a program under a name.
fn named(home: &Home, name: &str, command: &[&str]) -> String {
    let told = home.stead(&[&["bg", "--json", "--name", name, "--"], command].concat()).with(0).out;
    serde_json::from_str::<Value>(&told).unwrap()["id"].as_str().unwrap().to_owned()
}

fn state(home: &Home, id: &str) -> String {
    row(home, id)["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_part_of_a_name_changes_nothing_where_nobody_can_be_asked() {
    let home = Home::new();
    let id = named(&home, "web-build", &["sleep", "1000"]);
    let derived = bg(&home, "sleep 1001");
    let check = |args: &[&str], what: &str, (id, name): (&str, &str)| {
        let told = home.stead(args).with(2).err;
        for words in [
            format!("{:?} is {what} {name} ({id}), and there is no terminal to ask at", args[1]),
            format!("stead {} {id} names it by its id; its whole name, or -y,", args[0]),
        ] {
            assert!(told.contains(&words), "{args:?}: {told}");
        }
    };
    let (part, little) =
        ("only a part of the name of", "too little of an id (it takes 4 digits) to mean");
    for verb in ["stop", "rm", "respawn", "upgrade", "detach"] {
        check(&[verb, "web"], part, (&id, "web-build"));
        check(&[verb, &id[..3]], little, (&id, "web-build"));
        // A name that nobody chose is a name all the same.
        check(&[verb, "1001"], part, (&derived, "sh -c sleep 1001"));
    }
    check(&["send", "web", "exit"], part, (&id, "web-build"));
    check(&["rename", "web", "other"], part, (&id, "web-build"));
    assert_eq!((state(&home, &id), state(&home, &derived)), ("working".into(), "working".into()));
    // Looking takes a part of it.
    for args in [&["logs", "web"][..], &["explain", "web"], &["pin", "web"]] {
        home.stead(args).with(0);
    }
    // Who knows what is meant says so.
    home.stead(&["rename", "-y", "web", "site"]).with(0);
    let stopped = home.stead(&["stop", &id[..4]]).with(0).err;
    assert_eq!(stopped, format!("stopped · {id} · site\n"));
    home.stead(&["rm", "--yes", "sit"]).with(0);
    home.stead(&["stop", "sh -c sleep 1001"]).with(0);
    home.stead(&["rm", &derived[4..]]).with(0);
}

#[test]
fn at_a_terminal_a_part_of_a_name_is_asked_about() {
    let home = Home::new();
    let id = named(&home, "web-build", &["sleep", "1000"]);
    for (answer, code, after) in
        [("n\n", 4, "working"), ("\n", 4, "working"), ("y\n", 0, "stopped")]
    {
        let mut terminal = Terminal::run(home.command(&["stop", "web"]));
        terminal.wait_for(&format!("stop web-build ({id})? [y/N] "));
        terminal.type_in(answer);
        assert_eq!(terminal.end(), code, "{}", terminal.seen);
        assert_eq!(state(&home, &id), after);
    }
    // What is named whole is not asked about, and what is given up is asked about once.
    let mut terminal = Terminal::run(home.command(&["respawn", "web-build"]));
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
    let mut terminal = Terminal::run(home.command(&["rm", "--discard", "web"]));
    terminal.wait_for("for good? [y]es or [n]o: ");
    terminal.type_in("y\n");
    terminal.wait_for(&format!("removed · {id} · web-build"));
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
}

#[test]
fn what_was_asked_about_is_what_is_removed() {
    let home = Home::new();
    let id = named(&home, "web-build", &["sleep", "1000"]);
    let mut terminal = Terminal::run(home.command(&["rm", "--discard", "web-build"]));
    terminal.wait_for("for good? [y]es or [n]o: ");
    // The word means another one by the time of the answer.
    home.stead(&["rename", &id, "other"]).with(0);
    let second = named(&home, "web-build", &["sleep", "1001"]);
    terminal.type_in("y\n");
    terminal.wait_for(&format!("removed · {id} · "));
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
    let rows = home.stead(&["ls", "--json"]).with(0).out;
    assert!(!rows.contains(&id) && rows.contains(&second), "{rows}");
}

#[test]
fn who_waits_at_a_terminal_is_told_for_what() {
    let home = Home::new();
    let program = home.command(&[]).get_program().to_str().unwrap().to_owned();
    let script = format!("{program} report blocked -m 'a review'; read x; read x");
    let id = named(&home, "asker", &["sh", "-c", &script]);
    home.stead(&["wait", &id, "--until", "blocked", "--timeout", "60"]).with(0);
    let mut terminal = Terminal::run(home.command(&["wait", "asker"]));
    terminal.wait_for(&format!("stead: waiting until done · {id} · asker is blocked"));
    terminal.wait_for("(waits for a review)");
    terminal.wait_for(&format!("stead attach {id} shows what it asks"));
    home.stead(&["stop", "asker"]).with(0);
    terminal.wait_for(&format!("stopped · {id} · asker"));
    assert_eq!(terminal.end(), 1, "{}", terminal.seen);
    // Nobody watches here, so that there is only the end.
    let told = home.stead(&["wait", "asker"]).with(1);
    assert_eq!(told.err.lines().count(), 1, "{}", told.err);
    let help = home.stead(&["wait", "--help"]).with(0).out;
    assert!(help.contains("124  the time of --timeout is over"), "{help}");
}

#[test]
fn a_program_that_is_gone_is_not_found_whoever_starts_it() {
    let home = Home::new();
    let program = home.path("tool");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let id = named(&home, "tool", &[program.to_str().unwrap()]);
    home.stead(&["wait", &id, "--timeout", "60"]).with(0);
    fs::remove_file(&program).unwrap();
    for args in [&["respawn", &id][..], &["bg", "--", program.to_str().unwrap()]] {
        let told = home.stead(args).with(3).err;
        assert!(told.contains("program_missing"), "{args:?}: {told}");
    }
}
