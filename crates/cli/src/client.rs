//! Finding the daemon, and starting it where there is none.
//!
//! Starters take turns on a lock: the first one starts a daemon and waits on its readiness pipe, the
//! others find it alive when their turn comes. Nobody polls. A daemon that checks its database says so,
//! and is waited for.

mod unregistered;

use std::{
    fs::{File, TryLockError},
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use api::{
    client::{Address, Client, ClientError, Target},
    daemon::{Hello, Registration, Welcome},
    routes::{Endpoint, PROTOCOL},
};
use daemon::{paths::Paths, single};
use stdx::state_file;
use tokio::sync::oneshot;
use vocab::{
    limits::{
        CLIENT_RECONNECT_MS, CLIENT_RECONNECTS_MAX, DAEMON_CHECK_MS_MAX, DAEMON_READY_MS_MAX,
        HANDSHAKE_MS_MAX, STATE_FILE_BYTES_MAX,
    },
    outcome::{Effect, Failure},
};

pub(crate) use unregistered::answering;

use crate::{config, env, log, print};

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
    let read = single::registration(paths).map_err(|error| refused(&error))?;
    // One that cannot be read says as little as none. A daemon whose registration was removed lives all the
    // same, and no other one can be started beside it.
    let read = read.and_then(|bytes| serde_json::from_slice::<Registration>(&bytes).ok());
    let registration = match read {
        Some(registration) => registration,
        None => match unregistered::ours(paths).await {
            Some(registration) => registration,
            None => return Ok(Found::Nobody),
        },
    };
    let client = Client::new(address(paths, &registration)?);
    let hello = Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() };
    let asked = client.json::<_, Welcome>(Endpoint::Handshake, Target::default(), Some(&hello));
    // A daemon answers in a moment; what listens and stays silent must not hold up every client.
    let limit = Duration::from_millis(HANDSHAKE_MS_MAX);
    let Ok(answer) = tokio::time::timeout(limit, asked).await else {
        return Err(silent(&registration));
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

/// Returns where a registered daemon is reached: at its socket, and where that was removed while it
/// lives, at its port. The credential is shown only to the process that holds the lock of our state.
fn address(paths: &Paths, registration: &Registration) -> Result<Address, Failure> {
    let socket = PathBuf::from(&registration.socket);
    let gone = !socket.try_exists().unwrap_or(true);
    match registration.url.strip_prefix("http://") {
        Some(host) if gone && single::is_daemon(paths, registration.pid) => {
            let credential = single::credential(paths).map_err(|error| refused(&error))?;
            Ok(Address::Tcp { host: host.to_owned(), credential })
        }
        _ => Ok(Address::Socket(socket)),
    }
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
        Found::Nobody => Err(nobody(paths)),
    }
}

/// Says that no daemon answers: there is none, or it is busy with its database.
fn nobody(paths: &Paths) -> Failure {
    checking(paths).unwrap_or_else(|| {
        Failure::not_started("daemon_unreachable", "no daemon is running")
            .with_hint("stead daemon start")
    })
}

/// Returns what to say of a daemon that was started and is busy with its database, if there is one.
pub(crate) fn checking(paths: &Paths) -> Option<Failure> {
    let pid = checking_pid(&turns(paths))?;
    let message = format!("the daemon, pid {pid}, is checking its database and answers nobody yet");
    let hint = format!("wait for it, or end it (kill {pid}); the next start checks anew");
    Some(Failure::not_started("daemon_checking", message).with_hint(hint))
}

/// The file on which starters take turns.
fn turns(paths: &Paths) -> PathBuf {
    paths.home.join("start.lock")
}

/// Reads the note of a daemon that is busy with its database. One that nobody holds is an old one.
fn checking_pid(turns: &Path) -> Option<u32> {
    let note = state_file::read(turns, STATE_FILE_BYTES_MAX).ok()??;
    let pid =
        std::str::from_utf8(&note).ok()?.strip_prefix(print::CHECKING)?.trim().parse().ok()?;
    let look = state_file::open_or_create(turns).ok()?;
    matches!(look.try_lock_shared(), Err(TryLockError::WouldBlock)).then_some(pid)
}

/// Starts a daemon unless somebody else did meanwhile.
///
/// # Errors
/// When it does not get ready.
pub(crate) async fn start(paths: &Paths) -> Result<(Client, Registration), Failure> {
    paths.prepare().map_err(|error| refused(&error))?;
    let turn = take_turn(paths).await?;
    // What the last start noted of itself is over, and nobody shall take it for ours.
    turn.set_len(0).map_err(|error| refused(&error))?;
    if let Found::Alive(client, registration) = find(paths).await? {
        return Ok((*client, *registration));
    }
    // Whoever starts a daemon hears what it would tell nobody; what is invalid, it says itself.
    config::load_and_tell(paths).ok();
    let child = spawn(paths, &turn)?;
    let ready = tokio::task::spawn_blocking(move || wait_ready(child, Patience::usual())).await;
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
    let path = turns(paths);
    let turn = state_file::open_or_create(&path).map_err(|error| refused(&error))?;
    let mut checks = checking_pid(&path).is_some();
    let (sender, mut taken) = oneshot::channel();
    // A thread of its own: one that waits for ever ends with the process and is waited for by nobody.
    std::thread::spawn(move || sender.send(turn.lock().map(|()| turn)).ok());
    // Whoever holds it is bounded itself, unless it was killed and what it started hangs.
    let Patience { ready, checked } = Patience::usual();
    let at_first = if checks { Duration::ZERO } else { ready * 2 };
    let mut waited = tokio::time::timeout(at_first, &mut taken).await;
    if waited.is_err() && (checks || checking_pid(&path).is_some()) {
        checks = true;
        print::checking();
        waited = tokio::time::timeout(checked, &mut taken).await;
    }
    match waited {
        Ok(Ok(turn)) => turn.map_err(|error| refused(&error)),
        Ok(Err(_)) | Err(_) if checks => Err(with_log(paths, still_checking(checked))),
        Ok(Err(_)) | Err(_) => {
            let why = "another start of it has not ended";
            Err(with_log(paths, not_ready(why)))
        }
    }
}

/// How long a starter waits.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// For a daemon to get ready, or to say that it is busy with its database.
    ready: Duration,
    /// For that to end.
    checked: Duration,
}

impl Patience {
    fn usual() -> Self {
        Self {
            ready: Duration::from_millis(DAEMON_READY_MS_MAX),
            checked: Duration::from_millis(DAEMON_CHECK_MS_MAX),
        }
    }
}

/// How what broke is tried again: at once, then after a wait that doubles, and so many times in a row.
#[derive(Debug, Default)]
pub(crate) struct Retry {
    attempts: u32,
}

impl Retry {
    /// Waits for the turn of the next attempt; false when there were enough of them. Giving up the wait loses
    /// nothing.
    pub(crate) async fn next(&mut self) -> bool {
        if CLIENT_RECONNECTS_MAX <= self.attempts {
            return false;
        }
        if 0 < self.attempts {
            let wait = CLIENT_RECONNECT_MS << (self.attempts - 1);
            tokio::time::sleep(Duration::from_millis(wait)).await;
        }
        self.attempts += 1;
        true
    }

    /// Returns how many attempts there were since one was of use.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Begins anew, since the last attempt was of use.
    pub(crate) fn succeeded(&mut self) {
        self.attempts = 0;
    }
}

/// Starts our own executable as a daemon. It detaches itself; its first line says that it is ready.
#[expect(
    clippy::disallowed_methods,
    reason = "our own executable in another role, not a workspace's child"
)]
fn spawn(paths: &Paths, turn: &File) -> Result<Child, Failure> {
    let errors = log::errors(&paths.errors()).map_err(|error| refused(&error))?;
    // The daemon holds our turn as its standard input until it is ready. When we are killed meanwhile,
    // the next starter waits for the daemon that we started, and starts no second one.
    let turn = turn.try_clone().map_err(|error| refused(&error))?;
    // Through /proc it is this very build, also while the file is being replaced.
    let mut daemon = Command::new("/proc/self/exe");
    daemon
        .arg0("stead")
        .args(["daemon", "run", "--detach"])
        .current_dir("/")
        // The daemon is whoever started it first; it must not carry that person's keys for its life.
        .env_clear()
        .envs(env::without_keys(paths))
        .stdin(Stdio::from(turn))
        .stdout(Stdio::piped())
        .stderr(Stdio::from(errors));
    env::leave_job(&mut daemon, paths);
    daemon.spawn().map_err(|error| not_ready(&format!("{error}")))
}

/// Waits until a daemon that was started is ready. One that is busy with its database is waited for
/// longer, and left alive: ending it would make the next end unclean as well, and so on for ever.
fn wait_ready(mut child: Child, patience: Patience) -> Result<(), Failure> {
    let Some(stdout) = child.stdout.take() else { return Err(not_ready("it has no output")) };
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut said = receiver.recv_timeout(patience.ready);
    let is_checking = |said: &Result<std::io::Result<String>, RecvTimeoutError>| matches!(said, Ok(Ok(line)) if line.trim() == print::CHECKING);
    let checks = is_checking(&said);
    if checks {
        print::checking();
    }
    // One that cannot be opened to write after that is checked again to be read.
    while is_checking(&said) {
        said = receiver.recv_timeout(patience.checked);
    }
    match said {
        Ok(Ok(line)) if line.trim() == "ready" => Ok(()),
        Ok(Ok(line)) => match serde_json::from_str::<Failure>(&line) {
            Ok(failure) if failure.hint.is_some() => Err(failure),
            Ok(failure) => Err(not_ready(&failure.message)),
            Err(_) => Err(not_ready(line.trim())),
        },
        Ok(Err(error)) => Err(not_ready(&error.to_string())),
        Err(RecvTimeoutError::Disconnected) => Err(not_ready("it ended before it was ready")),
        Err(RecvTimeoutError::Timeout) if checks => Err(still_checking(patience.checked)),
        Err(RecvTimeoutError::Timeout) => {
            child.kill().ok();
            child.wait().ok();
            Err(not_ready(&format!(
                "it was not ready within {} s; another one may still be ending",
                patience.ready.as_secs()
            )))
        }
    }
}

fn still_checking(waited: Duration) -> Failure {
    let minutes = waited.as_secs() / 60;
    let message =
        format!("after {minutes} minutes the daemon is still checking its database, and goes on");
    Failure::not_started("daemon_checking", message)
}

fn not_ready(why: &str) -> Failure {
    Failure::new(
        "daemon_start_failed",
        Effect::NotStarted,
        format!("the daemon did not start: {why}"),
    )
}

fn with_log(paths: &Paths, failure: Failure) -> Failure {
    if failure.hint.is_some() {
        return failure;
    }
    failure.with_hint(format!("see {} and {}", paths.log().display(), paths.errors().display()))
}

fn silent(registration: &Registration) -> Failure {
    let (socket, seconds) = (&registration.socket, HANDSHAKE_MS_MAX / 1_000);
    let message = format!("what listens at {socket} does not answer within {seconds} s");
    Failure::not_started("daemon_unreachable", message).with_hint(format!(
        "try again; where it stays so, end the process that listens there (the last daemon had pid {})",
        registration.pid
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
mod tests;
