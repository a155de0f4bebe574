//! What a shell completes: in a real bash, on a terminal, with the keys that a person presses.

#![expect(clippy::disallowed_methods, reason = "starts a shell, as a person does")]

use std::process::Command;

use crate::{home::Home, pty::Terminal};

/// Starts a bash that knows the completions, where `stead` is the program.
fn bash(home: &Home) -> Terminal {
    let of_program = home.command(&[]);
    let program = std::path::Path::new(of_program.get_program()).to_owned();
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "-i"]).current_dir(home.work()).env_clear();
    for (name, value) in of_program.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
    shell.env("TERM", "dumb").env("PS1", "ready> ");
    let mut terminal = Terminal::run(shell);
    terminal.wait_for("ready> ");
    terminal.type_in("bind 'set bell-style none'; source <(stead completions bash)\r");
    terminal.wait_for("ready> ");
    terminal
}

#[test]
fn bash_completes_the_names_and_ids_of_jobs() {
    let home = Home::new();
    let start = |name: &str| {
        let told = home.stead(&["bg", "--name", name, "--", "sleep", "1000"]).with(0).out;
        told.split(" · ").nth(1).unwrap().to_owned()
    };
    let web = start("web-build");
    start("two words");
    let mut shell = bash(&home);
    let mut check = |typed: &str, completed: &str| {
        shell.type_in(&format!("{typed}\t"));
        shell.wait_for(completed);
        // Forgets the line, and begins the next one.
        shell.type_in("\u{15}\r");
        shell.wait_for("ready> ");
    };
    check("stead stop we", "stead stop web-build ");
    check("stead logs -f tw", "stead logs -f two\\ words ");
    check(&format!("stead attach {}", &web[..6]), &format!("{web} "));
    check("stead rm web-build tw", "two\\ words ");
    check("stead wait web-build --unt", "--until ");
    check("stead wait --until blo", "blocked ");
    check("stead attach --read", "--read-only ");
}

#[test]
fn names_are_told_without_a_daemon_being_started() {
    let home = Home::new();
    assert_eq!(home.stead(&["__names", "all"]).with(0).out, "");
    home.stead(&["daemon", "status"]).with(5);
    home.stead(&["__names", "nonsense"]).with(2);
    let told = home.stead(&["bg", "--name", "web", "--", "sleep", "1000"]).with(0).out;
    let id = told.split(" · ").nth(1).unwrap();
    let lines = format!("web\t{id} working\n{id}\tweb working\n");
    for (kind, expected) in [("all", lines.as_str()), ("jobs", &lines), ("sessions", "")] {
        assert_eq!(home.stead(&["__names", kind]).with(0).out, expected, "{kind}");
    }
}
