//! The promise of jobs from a person's chair: a program that was started in one terminal is there, alive and
//! listening, in the next one.

#![expect(clippy::disallowed_methods, reason = "reads what the program under test has written")]

use serde_json::Value;
use stdx::proc_id::ProcId;

use crate::{
    agents::{self, Installed},
    attached::{Shell, gone},
    home::Home,
    tmux::PROMPT,
};

fn row(home: &Home, name: &str) -> Value {
    let rows: Value = serde_json::from_str(&home.stead(&["ls", "--json"]).with(0).out).unwrap();
    let rows = rows.as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{rows:?}")).clone()
}

/// What a person starts, sees and types.
struct Talk<'a> {
    /// The command after `stead bg --name talker`.
    command: &'a str,
    /// What it shows when it is ready.
    ready: &'a str,
    /// The keys before the first words, and before the second ones.
    keys: [&'a str; 2],
    /// The tmux command that takes the first terminal away.
    close: &'a [&'a str],
}

/// Talks to a program in one terminal, takes that away, and goes on in another one.
#[track_caller]
fn check(home: &Home, talk: &Talk<'_>) -> Shell {
    let shell = Shell::new(home);
    shell.tmux.line(&format!("\"$STEAD\" bg --name talker {} && clear", talk.command), PROMPT);
    shell.attach("talker");
    shell.tmux.wait_for(talk.ready);
    shell.tmux.type_in(&format!("{}first words", talk.keys[0]));
    shell.tmux.wait_for("first words");
    let client = ProcId::of(shell.tmux.shell_child()).unwrap();
    let before = row(home, "talker");
    shell.tmux.tmux(talk.close);
    gone(&client);

    let shell = Shell::new(home);
    let now = row(home, "talker");
    assert_eq!((&now["id"], &now["pid"]), (&before["id"], &before["pid"]));
    assert!(now["kind"] == "job" && now["ended_at"].is_null() && now["pid"].is_u64(), "{now}");
    shell.attach(now["id"].as_str().unwrap());
    shell.tmux.wait_for("first words");
    shell.tmux.type_in(&format!("{}second words", talk.keys[1]));
    shell.tmux.wait_for("second words");
    shell
}

#[test]
fn an_editor_outlives_the_terminal_it_was_started_from() {
    for close in [&["kill-server"][..], &["kill-window"], &["respawn-pane", "-k", "true"]] {
        let home = Home::new();
        let command = "-- vim -u NONE -i NONE -nN notes";
        let talk = Talk { command, ready: "~", keys: ["i", " and "], close };
        let shell = check(&home, &talk);
        shell.tmux.keys(&["Escape"]);
        shell.tmux.type_in(":wq");
        shell.tmux.keys(&["Enter"]);
        shell.tmux.wait_for("job ended");
        shell.is_restored();
        let notes = std::fs::read_to_string(home.work().join("notes")).unwrap();
        assert_eq!(notes, "first words and second words\n");
        assert_eq!(row(&home, "talker")["state"], "done");
    }
}

#[test]
fn stranger_agent_outlives_the_terminal_it_was_started_from() {
    let Some(installed) = Installed::find() else { return };
    for (agent, ready) in [("claude", "? for shortcuts"), ("pi", "pi v")] {
        let home = Home::new();
        agents::settle(&home);
        let command = format!("-- {}", installed.command(agent).join(" "));
        let close = &["kill-server"][..];
        let shell = check(&home, &Talk { command: &command, ready, keys: ["", " "], close });
        shell.tmux.wait_for("first words second words");
        let stopped = home.stead(&["stop", "talker"]).with(0).err;
        assert!(stopped.starts_with("stopped"), "{stopped}");
        shell.tmux.wait_for("job ended");
        shell.is_restored();
    }
}
