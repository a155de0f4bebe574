//! Where a newcomer stumbles: what is typed without having read anything, and what is said then.

use super::*;
use crate::{home::read, home::write, pty::Terminal};

#[test]
fn the_flags_of_a_program_lead_to_the_way_it_is_started() {
    let home = Home::new();
    let check = |args: &[&str], meant: &str| {
        let told = home.stead(args).with(2).err;
        assert!(told.contains(&format!("tip: a program stands behind --: '{meant}'\n")), "{told}");
        assert_eq!(told.matches("tip:").count(), 1, "{told}");
    };
    check(&["bg", "sh", "-x", "a b"], "stead bg -- sh -x 'a b'");
    check(&["bg", "--name", "n", "sleep", "--nope"], "stead bg --name n -- sleep --nope");
    check(&["bg", "no-such-program", "-d", "5"], "stead bg -- no-such-program -d 5");
    let told = home.stead(&["bg", "why does it fail?", "-x"]).with(2).err;
    assert!(!told.contains("stands behind"), "{told}");
}

#[test]
fn who_stops_the_daemon_is_told_what_ends_with_it() {
    let home = Home::new();
    let id = bg(&home, "sleep 1000");
    let question = "This ends 1 job. Stop the daemon? [y]es, [n]o, or [k]eep the jobs: ";
    for (answer, code, said) in
        [("n\n", 4, "the daemon goes on"), ("k\n", 0, "has stopped; 1 job kept")]
    {
        let mut terminal = Terminal::run(home.command(&["daemon", "stop"]));
        terminal.wait_for(question);
        terminal.type_in(answer);
        terminal.wait_for(said);
        assert_eq!(terminal.end(), code, "{}", terminal.seen);
        assert_eq!(row(&home, &id)["state"], "working");
    }
    let mut terminal = Terminal::run(home.command(&["daemon", "stop", "--keep-jobs"]));
    terminal.wait_for("has stopped; 1 job kept");
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
    home.stead(&["ls"]).with(0);
    // Scripts are not asked.
    let told = home.stead(&["daemon", "stop"]).with(0).err;
    assert_eq!(told, "stead: the daemon has stopped, with 1 job\n");
    assert_eq!(row(&home, &id)["state"], "stopped");
    let mut terminal = Terminal::run(home.command(&["daemon", "stop"]));
    terminal.wait_for("stead: the daemon has stopped\r\n");
    assert_eq!(terminal.end(), 0, "{}", terminal.seen);
}

#[test]
fn a_list_begins_with_what_needs_somebody_and_shows_where_it_works() {
    let home = Home::new();
    let program = home.command(&[]).get_program().to_str().unwrap().to_owned();
    let place = home.path("a-place-with-a-long-name/and-a-longer-one-below-it/src/web");
    fs::create_dir_all(&place).unwrap();
    let start = |name: &str, script: &str| {
        let dir = place.to_str().unwrap();
        let args = ["bg", "--json", "--name", name, "-C", dir, "--", "sh", "-c", script];
        let told = home.stead(&args).with(0).out;
        serde_json::from_str::<Value>(&told).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let ended = start("ended", "true");
    home.stead(&["wait", &ended, "--timeout", "60"]).with(0);
    start("works", "sleep 1000");
    let asks = start("asks", &format!("{program} report blocked -m 'a review'; sleep 1000"));
    home.stead(&["wait", &asks, "--until", "blocked", "--timeout", "60"]).with(0);
    let names = |text: &str| -> Vec<String> {
        let lines = text.lines().skip(1);
        lines.map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect()
    };
    let told = home.stead(&["ls"]).with(0).out;
    assert_eq!(names(&told), ["asks", "works", "ended"], "{told}");
    // Programs get them in the order in which they began.
    let told: Value = serde_json::from_str(&home.stead(&["ls", "--json"]).with(0).out).unwrap();
    assert_eq!((&told[0]["name"], &told[2]["name"]), (&"ended".into(), &"asks".into()));
    let mut terminal = Terminal::run(home.command(&["ls"]));
    assert_eq!(terminal.end(), 0);
    let lines: Vec<&str> = terminal.seen.lines().skip(1).collect();
    assert_eq!(lines.len(), 3, "{}", terminal.seen);
    assert!(lines.iter().all(|line| line.contains("…/src/web")), "{}", terminal.seen);
}

#[test]
fn a_file_that_is_there_is_replaced_when_that_is_said() {
    let home = Home::new();
    let id = bg(&home, "echo hello");
    home.stead(&["wait", &id, "--timeout", "60"]).with(0);
    home.write("out.txt", "mine");
    let export = ["logs", &id, "--export", "txt", "-o", "out.txt"];
    let told = home.stead(&export).with(1).err;
    assert!(told.contains("hint: --force replaces it"), "{told}");
    assert_eq!(read(&home.work().join("out.txt")), "mine");
    let (file, link) = (home.work().join("out.txt"), home.work().join("link.txt"));
    let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let forced = |output: &str| {
        home.stead(&["logs", &id, "--export", "txt", "-o", output, "--force"]).with(0).out
    };
    // What a program shows may be secret, and the file before was for everyone to read.
    assert_eq!(forced("link.txt"), "");
    assert!(read(&file).starts_with("hello\n"));
    assert!(mode() == 0o600 && link.is_symlink(), "{:o}", mode());
    // What is no file is written to and stays what it is.
    assert!(forced("/dev/stdout").starts_with("hello\n"));
}

#[test]
fn an_export_that_fails_leaves_the_file_that_was_there() {
    let home = Home::new();
    let id = bg(&home, "seq 1 5000");
    home.stead(&["wait", &id, "--timeout", "60"]).with(0);
    home.write("out.txt", "mine");
    let names = || {
        let entries = fs::read_dir(home.work()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    for args in [&["out.txt", "--force"][..], &["new.txt"]] {
        let mut stead = home.command(&["logs", &id, "--export", "cast3", "-o"]);
        stead.args(args);
        let mut command = std::process::Command::new("sh");
        // The disk is full after so little, as far as this process can tell.
        command.args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\""]);
        command.arg(stead.get_program()).args(stead.get_args());
        command.env_clear().current_dir(home.work());
        for (name, value) in stead.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let ended = command.output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{args:?}: {ended:?}");
        assert_eq!(
            (read(&home.work().join("out.txt")).as_str(), names()),
            ("mine", before.clone())
        );
    }
}

#[test]
fn an_empty_prompt_is_refused_in_the_words_of_its_command() {
    let home = Home::new();
    let check = |args: &[&str], words: &str, hint: &str| {
        for told in [home.stead(args).with(2), home.stead_with(args, " \n").with(2)] {
            assert!(told.err.contains(words) && told.err.contains(hint), "{args:?}: {}", told.err);
        }
    };
    check(&["bg", "-"], "standard input is empty", "hint: stead bg \"PROMPT\"");
    check(&["bg"], "neither a prompt nor a command", "hint: stead bg \"PROMPT\"");
    check(&["run", "-"], "standard input is empty", "hint: stead run \"");
    check(&["run"], "no word is given, and standard input is empty", "hint: stead run \"");
}

#[test]
fn a_default_below_a_table_is_told_where_it_belongs() {
    let home = Home::new();
    let config = "[providers.play]\napi = \"scripted\"\nscript = \"/s\"\ndefault_model = \"a/b\"\n";
    write(&home.path("config.toml"), config);
    let told = home.stead(&["run", "x"]).with(2).err;
    assert!(told.contains("config.toml:4: unknown field `default_model`"), "{told}");
    assert!(told.contains("hint: default_model belongs to the whole file"), "{told}");
}

/// Whatever is asked for help fits a terminal of the usual width, in the lines that were written.
#[test]
fn help_fits_eighty_columns() {
    let home = Home::new();
    let mut left = vec![Vec::<String>::new()];
    while let Some(words) = left.pop() {
        let args: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let told = home.stead(&args).with(0).out;
        for line in told.lines() {
            assert!(line.chars().count() <= 80, "{args:?}: {line}");
        }
        let commands = told.split("\nCommands:\n").nth(1).unwrap_or_default();
        let commands = commands.split("\n\n").next().unwrap_or_default().lines();
        for line in commands {
            let word = line.split_whitespace().next().unwrap();
            if line.starts_with("  ") && !line.starts_with("   ") && word != "help" {
                left.push([&words[..], &[word.to_owned()]].concat());
            }
        }
    }
}
