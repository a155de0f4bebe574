//! Who is at the other end of the socket: real processes that ask what they are taken for.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    process::{Child, Command, Stdio},
};

use vocab::ids::RUN_MARKER;

use super::*;

/// Not a test by itself: the other process. It waits until its input ends, asks, and says what the
/// house took it for.
#[test]
#[ignore = "runs as a process of other tests"]
fn other_process() {
    let socket = std::env::var("GATEWAY_TEST_SOCKET").unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let told = UnixStream::connect(socket).ok().and_then(|mut stream| {
        stream
            .write_all(b"GET /daemon/status HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let body = text.split_once("\r\n\r\n")?.1.to_owned();
        serde_json::from_str::<serde_json::Value>(&body).ok()
    });
    let caller = told.map(|told| told["caller"].as_str().unwrap_or("none").to_owned());
    println!("caller={};", caller.unwrap_or_else(|| "nobody".into()));
}

/// Prepares a command that ends up running [`other_process`].
fn other(house: &House, program: &Path, lead: &[&str]) -> Command {
    let name = "listen::tests::people::other_process";
    let all = [lead, &[program.to_str().unwrap(), "--ignored", "--exact", "--nocapture", name]];
    let all = all.concat();
    let mut command = Command::new(all[0]);
    command
        .args(&all[1..])
        .env("GATEWAY_TEST_SOCKET", house.socket())
        .env_remove(RUN_MARKER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Lets the process ask, and returns what it was taken for.
async fn ask(mut child: Child) -> String {
    drop(child.stdin.take());
    let mut pipe = child.stdout.take().unwrap();
    let said = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        child.wait().unwrap();
        text
    });
    let said = said.await.unwrap();
    let caller = said.split_once("caller=").and_then(|(_, rest)| rest.split_once(';'));
    caller.unwrap_or_else(|| panic!("{said}")).0.to_owned()
}

/// Starts the process through a shell that leaves at once, so that it is no descendant of ours.
fn orphan(house: &House, environment: &[(&str, &str)]) -> Child {
    let program = std::env::current_exe().unwrap();
    let script = r#"exec 3<&0; "$0" "$@" <&3 3<&- & exit 0"#;
    let mut command = other(house, &program, &["sh", "-c", script]);
    let mut child = command.envs(environment.iter().copied()).spawn().unwrap();
    let stdin = child.stdin.take();
    assert!(child.wait().unwrap().success());
    child.stdin = stdin;
    child
}

#[tokio::test]
async fn a_child_of_the_daemon_is_an_agent() {
    let house = House::open(Plan::default()).await;
    let program = std::env::current_exe().unwrap();
    let child = other(&house, &program, &["sh", "-c", r#""$0" "$@""#]).spawn().unwrap();
    assert_eq!(ask(child).await, "Agent(None)");
    let run = vocab::ids::RunId::generate();
    let named = format!("Agent(Some(RunId(\"{run}\")))");
    let mut child = other(&house, &program, &["sh", "-c", r#""$0" "$@""#]);
    let child = child.env(RUN_MARKER, run.as_str()).spawn().unwrap();
    assert_eq!(ask(child).await, named);
    let marked = sandbox::environ::Environment::empty().with_run(run.as_str());
    let marked: Vec<(&str, &str)> = marked
        .iter()
        .map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()))
        .collect();
    assert_eq!(ask(orphan(&house, &marked)).await, named);
}

#[tokio::test]
async fn a_process_that_left_its_parents_is_known_by_its_marker() {
    let house = House::open(Plan::default()).await;
    assert_eq!(ask(orphan(&house, &[])).await, "Person");
    assert_eq!(ask(orphan(&house, &[("STEAD_RUN", "run_1")])).await, "Agent(None)");
    assert_eq!(ask(orphan(&house, &[("STEAD_RUN", "")])).await, "Agent(None)");
    assert_eq!(ask(orphan(&house, &[("NOT_STEAD_RUN", "1")])).await, "Person");
}

#[tokio::test]
async fn another_user_is_shown_the_door() {
    if !rustix::process::geteuid().is_root() {
        // Only root can become somebody else.
        return;
    }
    let house = House::open(Plan::default()).await;
    let program = house.dir.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let own = ask(orphan(&house, &[])).await;
    let open =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(&program, 0o755);
    open(house.dir.path(), 0o755);
    open(house.socket().parent().unwrap(), 0o755);
    open(house.socket(), 0o666);
    let foreign = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let Ok(child) = other(&house, &program, &foreign).spawn() else {
        return;
    };
    assert_eq!(own, "Person");
    assert_eq!(ask(child).await, "nobody");
}
