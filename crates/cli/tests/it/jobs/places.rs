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

    fn command(&self, script: &str) -> std::process::Command {
        let mut command = self.0.command(&["bg", "--json", "--", "sh", "-c", script]);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.0.path("bin").display()));
        command.env("XDG_RUNTIME_DIR", self.0.path("xdg"));
        command
    }

    fn bg(&self, script: &str) -> Value {
        let output = self.command(script).output().unwrap();
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

#[test]
fn a_host_that_is_not_up_yet_outlives_the_search_for_its_socket() {
    let managed = Managed::new();
    let home = &managed.0;
    // The manager takes its time, and the daemon that asked it is dead by then.
    let [told, go] = ["xdg/told", "xdg/go"].map(|name| home.path(name).display().to_string());
    let slow = format!(
        "#!/bin/sh\necho $$ >{told}.new; mv {told}.new {told}\nuntil test -e {go}; do sleep 0.01; done\n\
         while test \"$1\" != --; do shift; done\nshift\nexec \"$@\"\n"
    );
    fs::write(home.path("bin/systemd-run"), slow).unwrap();
    let mut starter = managed.command("echo on; read x").spawn().unwrap();
    while !fs::exists(&told).unwrap() {
        std::thread::yield_now();
    }
    let host = process(&serde_json::from_slice(&fs::read(&told).unwrap()).unwrap());
    kill(&daemon(home));
    starter.wait().unwrap();
    let rows: Value = serde_json::from_str(&home.stead(&["ls", "--json"]).with(0).out).unwrap();
    let id = rows[0]["id"].as_str().unwrap().to_owned();
    assert_eq!((&rows[0]["state"], &rows[0]["ended_at"]), (&"working".into(), &Value::Null));
    // Whoever wants something of it looks for its socket, in vain.
    let err = home.stead(&["send", &id, "x"]).with(1).err;
    assert!(err.contains("host_unreachable"), "{err}");
    assert!(host.is_alive());
    fs::write(&go, "").unwrap();
    while home.stead(&["send", &id, "x"]).code != 0 {}
    home.stead(&["wait", &id, "--timeout", "60"]).with(0);
    assert_eq!(note(home, &id)["hostPid"], host.pid);
}

/// A job is told of its daemon, and not of the variables that led whoever started it there.
#[test]
fn a_command_inside_a_job_finds_the_jobs_own_daemon() {
    for runtime in ["STEAD_RUNTIME_DIR", "XDG_RUNTIME_DIR"] {
        let home = Home::new();
        fs::create_dir(home.path("run")).unwrap();
        fs::set_permissions(home.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
        let [go, told] = ["go", "told"].map(|name| home.path(name).display().to_string());
        let program = home.command(&[]).get_program().to_str().unwrap().to_owned();
        let ask = |n: u8| {
            format!("'{program}' ls --json >{told}.new 2>/dev/null; mv {told}.new {told}.{n}")
        };
        let script =
            format!("{}; while ! test -e {go}; do sleep 0.01; done; {}; read x", ask(1), ask(2));
        let mut command = home.command(&["bg", "--json", "--", "sh", "-c", &script]);
        command.env_remove("STEAD_RUNTIME_DIR").env(runtime, home.path("run"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let job: Value = serde_json::from_slice(&output.stdout).unwrap();
        let sees_itself = |n: u8| {
            let path = format!("{told}.{n}");
            while !fs::exists(&path).unwrap() {
                std::thread::yield_now();
            }
            let text = fs::read_to_string(&path).unwrap();
            let rows: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
            assert_eq!((&rows[0]["id"], &rows[0]["state"]), (&job["id"], &"working".into()));
        };
        sees_itself(1);
        // The next daemon is started from inside the job, and is none of its processes.
        let old = daemon(&home);
        let socket = |home: &Home| {
            let told = fs::read(home.path("state/daemon.json")).unwrap();
            serde_json::from_slice::<Value>(&told).unwrap()["socket"].clone()
        };
        let place = socket(&home);
        kill(&old);
        fs::write(&go, "").unwrap();
        sees_itself(2);
        let new = daemon(&home);
        assert_ne!(new, old);
        assert_eq!(socket(&home), place);
        home.stead(&["stop", job["id"].as_str().unwrap()]).with(0);
        assert!(new.is_alive());
        assert!(!home.path("user").exists(), "nothing was made where nobody had named anything");
    }
}

/// Whoever names another state root inside a job means it, and not the daemon of the job.
#[test]
fn another_state_root_that_is_named_inside_a_job_is_used() {
    let home = Home::new();
    let program = home.command(&[]).get_program().to_str().unwrap().to_owned();
    let told = home.path("told").display().to_string();
    let [other, run] = ["other", "other-run"].map(|name| home.path(name).display().to_string());
    let check = |way: &str, given: &[&str], sees_itself: bool| {
        let ends = if sees_itself { "true" } else { "daemon stop" };
        let stead = format!("env {way} '{program}'");
        let script = format!(
            "{stead} ls --json >{told}.new; test '{ends}' = true || {stead} {ends}; \
             mv {told}.new {told}; read x"
        );
        let args = [&["bg", "--json"], given, &["--", "sh", "-c", &script]].concat();
        let job: Value = serde_json::from_str(&home.stead(&args).with(0).out).unwrap();
        until("what it saw", || fs::exists(&told).unwrap());
        let rows = fs::read_to_string(&told).unwrap();
        let id = job["id"].as_str().unwrap();
        assert_eq!(rows.contains(id), sees_itself, "{way} {given:?}: {rows}");
        fs::remove_file(&told).unwrap();
        home.stead(&["stop", id]).with(0);
    };
    let (xdg, of_user) = (format!("XDG_STATE_HOME={other}"), format!("HOME={other}"));
    let elsewhere = format!("STEAD_RUNTIME_DIR={run}");
    check(&format!("{elsewhere} {xdg}"), &[], false);
    check(&format!("{elsewhere} {of_user}"), &[], false);
    check(&format!("{elsewhere} STEAD_HOME={other}/state"), &[], false);
    check("", &["--env", &xdg], true);
    check("", &["--env", &of_user], true);
    check("XDG_STATE_HOME=relative", &[], true);
}

/// A control group of the second version that a test has made, with what is below it.
struct Group(std::path::PathBuf);

impl Group {
    /// Makes one; none where that is not for us to do.
    fn make() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let Some(mount) =
            mounts.find(|fields| fields[2] == "cgroup2").map(|fields| fields[1].to_owned())
        else {
            eprintln!("not run: no control groups of the second version are mounted");
            return None;
        };
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let top = std::path::Path::new(&mount).join(own);
        let group = Self(top.join(format!("stead-it-{}", std::process::id())));
        if let Err(error) = fs::create_dir_all(group.0.join("daemon")) {
            eprintln!("not run: no control group can be made: {error}");
            return None;
        }
        let probe = std::process::Command::new("sh")
            .args(["-c", "echo $$ >\"$0/cgroup.procs\""])
            .arg(group.0.join("daemon"))
            .output()
            .unwrap();
        if probe.status.success() {
            return Some(group);
        }
        eprintln!("not run: nobody can be moved into a control group: {probe:?}");
        None
    }

    fn processes(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name).join("cgroup.procs")).unwrap_or_default()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // One that could not be made is not there.
        let Ok(names) = fs::read_dir(&self.0) else { return };
        for name in names.flatten().map(|entry| entry.path()) {
            if name.is_dir() {
                fs::write(name.join("cgroup.kill"), "1").ok();
                while fs::read_to_string(name.join("cgroup.procs"))
                    .is_ok_and(|left| !left.is_empty())
                {}
                fs::remove_dir(name).ok();
            }
        }
        fs::remove_dir(&self.0).ok();
    }
}

#[test]
fn a_host_moves_into_a_control_group_beside_the_daemons_and_outlives_that() {
    let Some(group) = Group::make() else { return };
    let home = Home::new();
    let dir = group.0.join("daemon");
    let line = format!("echo $$ >'{}/cgroup.procs' && exec \"$0\" daemon start", dir.display());
    home.shell(&line).with(0);
    let first = daemon(&home);
    assert!(group.processes("daemon").lines().any(|pid| pid.parse() == Ok(first.pid)));
    let id = bg(&home, "read x");
    let beside = format!("stead-job-{id}");
    let (host, program) = (note(&home, &id)["hostPid"].clone(), row(&home, &id)["pid"].clone());
    for pid in [host.to_string(), program.to_string()] {
        assert!(group.processes(&beside).lines().any(|one| one == pid), "{pid}");
    }
    // As a service manager ends a service: all that is in its group, at once.
    if fs::write(dir.join("cgroup.kill"), "1").is_err() {
        kill(&first);
    }
    gone(&first);
    let found = row(&home, &id);
    assert_eq!((&found["state"], &found["pid"]), (&"working".into(), &program));
    home.stead(&["stop", &id]).with(0);
    gone_with_group(&group, &beside);
}

/// Waits until nobody is in a group. Whoever started the host removes it; a later daemon does when it starts
/// beside it.
fn gone_with_group(group: &Group, name: &str) {
    while !group.processes(name).is_empty() {
        std::thread::yield_now();
    }
}
