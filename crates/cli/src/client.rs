//! Finding the daemon, and starting it where there is none.
//!
//! Starters take turns on a lock: the first one starts a daemon and waits on its readiness pipe, the
//! others find it alive when their turn comes. Nobody polls.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use api::{
    client::{Address, Client, ClientError, Target},
    daemon::{Hello, Registration, Status, Welcome},
    routes::{Endpoint, PROTOCOL},
};
use daemon::paths::Paths;
use stdx::state_file;
use tokio::sync::oneshot;
use vocab::{
    limits::{DAEMON_READY_MS_MAX, HANDSHAKE_MS_MAX},
    outcome::{Effect, Failure},
};

use crate::{env, print};

/// What was found where a daemon should be.
#[derive(Debug)]
pub(crate) enum Found {
    /// A daemon that answers and speaks our protocol.
    Alive(Box<Client>, Box<Registration>),
    /// None.
    Nobody,
}

/// Looks for a living daemon.
///
/// # Errors
/// When something else answers, or a daemon that speaks another protocol.
pub(crate) async fn find(paths: &Paths) -> Result<Found, Failure> {
    let read = state_file::read(&paths.registration()).map_err(|error| refused(&error))?;
    let Some(bytes) = read else { return Ok(Found::Nobody) };
    // A registration that cannot be read is a dead one's: only the holder of the lock writes it.
    let Ok(registration) = serde_json::from_slice::<Registration>(&bytes) else {
        return Ok(Found::Nobody);
    };
    let client = Client::new(Address::Socket(registration.socket.clone().into()));
    let hello = Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() };
    let asked = client.json::<_, Welcome>(Endpoint::Handshake, Target::default(), Some(&hello));
    // A daemon answers in a moment; what listens and stays silent must not hold up every client.
    let limit = Duration::from_millis(HANDSHAKE_MS_MAX);
    let Ok(answer) = tokio::time::timeout(limit, asked).await else {
        return Err(silent(paths, &registration));
    };
    match answer {
        Ok(welcome) if welcome.protocol != PROTOCOL => Err(other_protocol(&welcome)),
        Ok(welcome) if welcome.id != registration.id => Err(Failure::not_started(
            "foreign_process",
            format!("another process answers at {}", registration.socket),
        )
        .with_hint(format!("stop it, or remove {}", paths.registration().display()))),
        Ok(welcome) => {
            for notice in &welcome.notices {
                print::err(&format!("stead: attention: {}\n", print::clean::clean(notice)));
            }
            Ok(Found::Alive(Box::new(client), Box::new(registration)))
        }
        Err(ClientError::Unreachable(_) | ClientError::Broken(_) | ClientError::Cut { .. }) => {
            Ok(Found::Nobody)
        }
        Err(ClientError::Problem(problem)) => Err((*problem).into()),
        Err(ClientError::Malformed(text)) => Err(Failure::not_started(
            "foreign_process",
            format!("what answers at {} is no stead daemon: {text}", registration.socket),
        )
        .with_hint(format!("stop it, or remove {}", paths.registration().display()))),
    }
}

/// Returns the pid of a daemon that answers at our socket without being registered in our state.
pub(crate) async fn unregistered(paths: &Paths) -> Option<u32> {
    let client = Client::new(Address::Socket(paths.socket()));
    let asked = client.json::<(), Status>(Endpoint::DaemonStatus, Target::default(), None).await;
    asked.ok().map(|status| status.pid)
}

/// Returns a client of the daemon, which is started first where there is none.
///
/// # Errors
/// When none can be started, or what answers is none of ours.
pub(crate) async fn connect(paths: &Paths) -> Result<Client, Failure> {
    match find(paths).await? {
        Found::Alive(client, _) => Ok(*client),
        Found::Nobody => start(paths).await.map(|(client, _)| client),
    }
}

/// Returns a client of the daemon that lives.
///
/// # Errors
/// When there is none.
pub(crate) async fn connect_if_running(paths: &Paths) -> Result<(Client, Registration), Failure> {
    match find(paths).await? {
        Found::Alive(client, registration) => Ok((*client, *registration)),
        Found::Nobody => Err(Failure::not_started("daemon_unreachable", "no daemon is running")
            .with_hint("stead daemon start")),
    }
}

/// Starts a daemon unless somebody else did meanwhile.
///
/// # Errors
/// When it does not get ready.
pub(crate) async fn start(paths: &Paths) -> Result<(Client, Registration), Failure> {
    paths.prepare().map_err(|error| refused(&error))?;
    let turn = take_turn(paths).await?;
    if let Found::Alive(client, registration) = find(paths).await? {
        return Ok((*client, *registration));
    }
    let child = spawn(paths, &turn)?;
    let limit = Duration::from_millis(DAEMON_READY_MS_MAX);
    let ready = tokio::task::spawn_blocking(move || wait_ready(child, limit)).await;
    match ready {
        Ok(result) => result.map_err(|failure| with_log(paths, failure))?,
        Err(_) => return Err(Failure::not_started("daemon_start_failed", "waiting for it failed")),
    }
    match find(paths).await? {
        Found::Alive(client, registration) => Ok((*client, *registration)),
        Found::Nobody => {
            Err(with_log(paths, not_ready("it said that it is ready and does not answer")))
        }
    }
}

/// Waits for our turn to start a daemon.
async fn take_turn(paths: &Paths) -> Result<File, Failure> {
    let turn = state_file::open_or_create(&paths.home.join("start.lock"))
        .map_err(|error| refused(&error))?;
    let (sender, taken) = oneshot::channel();
    // A thread of its own: one that waits for ever ends with the process and is waited for by nobody.
    std::thread::spawn(move || sender.send(turn.lock().map(|()| turn)).ok());
    // Whoever holds it is bounded itself, unless it was killed and what it started hangs.
    let limit = Duration::from_millis(DAEMON_READY_MS_MAX * 2);
    match tokio::time::timeout(limit, taken).await {
        Ok(Ok(turn)) => turn.map_err(|error| refused(&error)),
        Ok(Err(_)) | Err(_) => {
            let why = "another start of it has not ended";
            Err(with_log(paths, not_ready(why)))
        }
    }
}

/// Starts our own executable as a daemon. It detaches itself; its first line says that it is ready.
#[expect(
    clippy::disallowed_methods,
    reason = "our own executable in another role, not a workspace's child"
)]
fn spawn(paths: &Paths, turn: &File) -> Result<Child, Failure> {
    let log = state_file::open_or_create(&paths.logs().join("daemon.err"))
        .map_err(|error| refused(&error))?;
    // The daemon holds our turn as its standard input until it is ready. When we are killed meanwhile,
    // the next starter waits for the daemon that we started, and starts no second one.
    let turn = turn.try_clone().map_err(|error| refused(&error))?;
    // Through /proc it is this very build, also while the file is being replaced.
    Command::new("/proc/self/exe")
        .arg0("stead")
        .args(["daemon", "run", "--detach"])
        .current_dir("/")
        // The daemon is whoever started it first; it must not carry that person's keys for its life.
        .env_clear()
        .envs(env::without_keys(paths))
        .stdin(Stdio::from(turn))
        .stdout(Stdio::piped())
        .stderr(Stdio::from(log))
        .spawn()
        .map_err(|error| not_ready(&format!("{error}")))
}

/// Waits for the first line of a daemon that was started.
fn wait_ready(mut child: Child, limit: Duration) -> Result<(), Failure> {
    let Some(stdout) = child.stdout.take() else { return Err(not_ready("it has no output")) };
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line);
        sender.send(read.map(|_| line)).ok();
    });
    match receiver.recv_timeout(limit) {
        Ok(Ok(line)) if line.trim() == "ready" => Ok(()),
        Ok(Ok(line)) if line.trim().is_empty() => Err(not_ready("it ended before it was ready")),
        Ok(Ok(line)) => Err(not_ready(line.trim())),
        Ok(Err(error)) => Err(not_ready(&error.to_string())),
        Err(_) => {
            child.kill().ok();
            child.wait().ok();
            Err(not_ready(&format!(
                "it was not ready within {} s; another one may still be ending",
                limit.as_secs()
            )))
        }
    }
}

fn not_ready(why: &str) -> Failure {
    Failure::new(
        "daemon_start_failed",
        Effect::NotStarted,
        format!("the daemon did not start: {why}"),
    )
}

fn with_log(paths: &Paths, failure: Failure) -> Failure {
    failure.with_hint(format!(
        "see {} and {}",
        paths.log().display(),
        paths.logs().join("daemon.err").display()
    ))
}

fn silent(paths: &Paths, registration: &Registration) -> Failure {
    let (socket, seconds) = (&registration.socket, HANDSHAKE_MS_MAX / 1_000);
    let message = format!("what listens at {socket} does not answer within {seconds} s");
    Failure::not_started("daemon_unreachable", message).with_hint(format!(
        "end the process (the last daemon had pid {}), or remove {}",
        registration.pid,
        paths.registration().display()
    ))
}

fn other_protocol(welcome: &Welcome) -> Failure {
    let (theirs, version) = (welcome.protocol, &welcome.version);
    let message = format!(
        "the running daemon is version {version} and speaks protocol {theirs}; this program speaks {PROTOCOL}"
    );
    let hint = if theirs > PROTOCOL {
        "use the newer program"
    } else {
        "stop the older daemon with its own program: stead daemon stop"
    };
    Failure::not_started("protocol_mismatch", message).with_hint(hint)
}

fn refused(error: &std::io::Error) -> Failure {
    Failure::not_started("state_refused", error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a real process that never gets ready")]
    fn a_daemon_that_never_gets_ready_is_reported() {
        let spawn = |script: &str| {
            Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap()
        };
        let limit = Duration::from_millis(50);
        let failure = wait_ready(spawn("exec tail -f /dev/null"), limit).unwrap_err();
        assert!(failure.message.contains("not ready within"), "{}", failure.message);
        let limit = Duration::from_secs(20);
        let failure = wait_ready(spawn("echo no room"), limit).unwrap_err();
        assert!(failure.message.ends_with("no room"), "{}", failure.message);
        wait_ready(spawn("echo ready"), limit).unwrap();
    }
}
