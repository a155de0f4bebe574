//! Where hosts live.

use super::*;

/// Stands in for the user's service manager: it notes how it was asked and becomes the command.
const MANAGER: &str = "#!/bin/sh
printf '%s\\n' \"$@\" >>\"$XDG_RUNTIME_DIR/asked\"
test -e \"$XDG_RUNTIME_DIR/refuses\" && exit 1
while test \"$1\" != --; do shift; done
shift
exec \"$@\"
";

struct Managed(Home);

impl Managed {
    fn new() -> Self {
        let home = Home::new();
        fs::create_dir_all(home.path("bin")).unwrap();
        fs::create_dir_all(home.path("xdg/systemd")).unwrap();
        fs::write(home.path("xdg/systemd/private"), "").unwrap();
        fs::write(home.path("bin/systemd-run"), MANAGER).unwrap();
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(home.path("bin/systemd-run"), mode).unwrap();
        Self(home)
    }

    fn bg(&self, script: &str) -> Value {
        let mut command = self.0.command(&["bg", "--json", "--", "sh", "-c", script]);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.0.path("bin").display()));
        command.env("XDG_RUNTIME_DIR", self.0.path("xdg"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        let text = fs::read_to_string(self.0.path("xdg/asked")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn where_a_user_manager_runs_a_host_has_a_scope_of_its_own() {
    let managed = Managed::new();
    let job = managed.bg("sleep 1000");
    let id = job["id"].as_str().unwrap();
    let asked = managed.asked();
    assert_eq!(asked[..4], ["--user", "--scope", "--collect", "--quiet"]);
    assert_eq!(asked[4], format!("--unit=stead-job-{id}"));
    assert_eq!(asked[asked.len() - 3..], ["host", id, "--detach"]);
    // The manager's program has become the host itself.
    let host = process(&note(&managed.0, id)["hostPid"]);
    let line = fs::read(format!("/proc/{}/cmdline", host.pid)).unwrap();
    assert!(String::from_utf8(line).unwrap().contains(&format!("host\0{id}")));
    assert_eq!(row(&managed.0, id)["state"], "working");
}

#[test]
fn a_manager_that_refuses_keeps_nobody_from_starting_a_job() {
    let managed = Managed::new();
    fs::write(managed.0.path("xdg/refuses"), "").unwrap();
    let job = managed.bg("sleep 1000");
    assert_eq!(managed.asked().iter().filter(|word| *word == "--scope").count(), 1);
    assert_eq!(row(&managed.0, job["id"].as_str().unwrap())["state"], "working");
    let log = fs::read_to_string(managed.0.path("state/logs/daemon.log")).unwrap();
    assert!(log.contains("a host has no place of its own"), "{log}");
}
