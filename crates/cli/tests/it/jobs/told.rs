//! Who is told that something needs them.

use super::*;
use crate::home::write;

/// Writes what it was told as one line of a file.
const TELLER: &str = "#!/bin/sh
printf '%s\\n' \"$STEAD_NOTIFY_KIND $STEAD_NOTIFY_STATE $STEAD_NOTIFY_NAME: $STEAD_NOTIFY_WAITING_FOR $*\" >>\"$0.told\"
";

/// A program that tells into a pipe, and the pipe's other end.
struct Teller {
    path: String,
    lines: std::io::Lines<std::io::BufReader<fs::File>>,
}

impl Teller {
    fn new(home: &Home, name: &str, script: &str) -> Self {
        fs::create_dir_all(home.path("bin")).unwrap();
        let path = home.path("bin").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let pipe = home.path("bin").join(format!("{name}.told"));
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        // Open both ways, so that it does not end between two who write.
        let pipe = fs::OpenOptions::new().read(true).write(true).open(pipe).unwrap();
        let lines = std::io::BufRead::lines(std::io::BufReader::new(pipe));
        Self { path: path.display().to_string(), lines }
    }

    /// Waits for so many lines, and returns them in order.
    fn told(&mut self, n_lines: usize) -> Vec<String> {
        let mut told: Vec<String> = self.lines.by_ref().take(n_lines).map(Result::unwrap).collect();
        told.sort();
        told
    }
}

/// Starts a job where the desktop's teller is found first.
fn bg(home: &Home, name: &str, script: &str) {
    let mut command = home.command(&["bg", "--name", name, "--", "sh", "-c", script]);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", home.path("bin").display()));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_program_and_the_desktop_are_told_once_per_edge() {
    let home = Home::new();
    let mut program = Teller::new(&home, "teller", TELLER);
    let mut desktop = Teller::new(&home, "notify-send", TELLER);
    let command = program.path.clone();
    write(
        &home.path("config.toml"),
        &format!("[notify]\ncommand = [{command:?}, \"word\"]\ndesktop = true\n"),
    );
    bg(&home, "good", "true");
    bg(&home, "bad", "exit 3");
    bg(&home, "stopped", "sleep 1000");
    home.stead(&["stop", "stopped"]).with(0);
    assert_eq!(program.told(2), ["job done good:  word", "job failed bad:  word"]);
    let lines = desktop.told(2);
    assert!(lines[0].ends_with("--urgency normal -- good done"), "{lines:?}");
    assert!(lines[1].ends_with("--urgency critical -- bad failed"), "{lines:?}");
    // Nobody wants to hear of what they have ended themselves, and only of what they have named.
    write(
        &home.path("config.toml"),
        &format!("[notify]\ncommand = [{command:?}]\non = [\"failed\"]\n"),
    );
    bg(&home, "good again", "true");
    home.stead(&["wait", "good again"]).with(0);
    bg(&home, "bad again", "exit 4");
    assert_eq!(program.told(1), ["job failed bad again:  "]);
}

#[test]
fn a_notification_that_hangs_holds_nobody_up() {
    let home = Home::new();
    let mut teller =
        Teller::new(&home, "teller", &format!("{TELLER}trap '' TERM HUP; sleep 1000\n"));
    let command = teller.path.clone();
    write(&home.path("config.toml"), &format!("[notify]\ncommand = [{command:?}]\n"));
    let before = Instant::now();
    bg(&home, "first", "true");
    bg(&home, "second", "true");
    home.stead(&["wait", "second"]).with(0);
    // The second one has its turn once the first one's time is over.
    assert_eq!(teller.told(2).len(), 2);
    assert!(std::time::Duration::from_millis(vocab::limits::NOTIFY_MS_MAX) <= before.elapsed());
    assert_eq!(vocab::limits::NOTIFY_WAITING_MAX, 64);
}

/// A mistake is told before anybody waits for a notification that does not come.
#[test]
fn what_is_wrong_with_the_configuration_is_told_at_once() {
    let home = Home::new();
    let config = home.path("config.toml");
    write(&config, "[notify]\non = [\"done\"]\ncommand = [\"no-such-program\"]\n");
    let said = "config.toml:3: [notify] command: there is no program \"no-such-program\"";
    let told = home.stead(&["ls"]).with(0).err;
    assert!(told.contains(said), "who starts the daemon: {told}");
    assert!(!home.stead(&["ls"]).with(0).err.contains(said), "it is said once");
    let told = home.stead(&["providers"]).with(0).err;
    assert_eq!(told.matches(said).count(), 1, "who reads the file: {told}");
    home.stead(&["daemon", "stop"]).with(0);
    write(&config, "\n[notify]\ncommand = [\"\"]\n");
    for args in [&["ls"][..], &["providers"], &["daemon", "start"]] {
        let told = home.stead(args).with(2).err;
        assert!(
            told.contains("config.toml:3: command: its program is empty (config_invalid)"),
            "{told}"
        );
    }
}
