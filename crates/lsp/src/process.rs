//! A server that is started here: its birth from a plan, its last words, its memory, its end.
//!
//! What it says on its line is not looked at here.

use std::{
    collections::VecDeque,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use rustix::pipe::{PipeFlags, pipe_with};
use sandbox::{
    Lifetime, Plan, Policy, Scope,
    report::ExitStatus,
    scope::{Child, Stdio},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::unix::pipe::{Receiver, Sender},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::RunId,
    limits::{CHILD_GRACE_MS, LSP_LAST_WORDS_BYTES_MAX, LSP_LAST_WORDS_LINES_MAX},
    outcome::Failure,
    path::WorkspacePath,
};

use crate::{
    config::Server,
    site::{self, Site},
};

/// A running server with all it has started.
pub(crate) struct Process {
    pub(crate) scope: Arc<Scope>,
    child: Arc<Child>,
    gone: CancellationToken,
    status: Arc<OnceLock<ExitStatus>>,
    words: Arc<Mutex<VecDeque<String>>>,
}

/// The ends of its line.
pub(crate) struct Line {
    pub(crate) reading: Receiver,
    pub(crate) writing: Sender,
}

struct Ends {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Process {
    /// Starts a server in its directory.
    pub(crate) async fn start(
        server: &Arc<Server>,
        program: Vec<String>,
        dir: &WorkspacePath,
        site: &Arc<Site>,
    ) -> Result<(Self, Line), Failure> {
        let (server, dir, site) = (Arc::clone(server), dir.clone(), Arc::clone(site));
        let born = tokio::task::spawn_blocking(move || bear(&server, &program, &dir, &site)).await;
        let (scope, child, ends) = born.ok().ok_or_else(|| {
            Failure::not_started("internal", "the start of a server ended unexpectedly")
        })??;
        let words: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let line = Receiver::from_owned_fd(ends.stdout).and_then(|reading| {
            let complaints = Receiver::from_owned_fd(ends.stderr)?;
            tokio::spawn(listen(complaints, Arc::clone(&words)));
            Ok(Line { reading, writing: Sender::from_owned_fd(ends.stdin)? })
        });
        let line =
            line.map_err(|error| Failure::not_started("too_many_files", error.to_string()))?;
        let (child, gone) = (Arc::new(child), CancellationToken::new());
        let (waited, told) = (Arc::clone(&child), gone.clone());
        let status: Arc<OnceLock<ExitStatus>> = Arc::default();
        let ended = Arc::clone(&status);
        let wait = move || {
            let status = waited.wait();
            ended.set(status).ok();
            told.cancel();
        };
        // Without a thread its line tells, or a deadline.
        std::thread::Builder::new().name("lsp-exit".into()).spawn(wait).ok();
        Ok((Self { scope: Arc::new(scope), child, gone, status, words }, line))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().pid
    }

    /// Returns what waits for its end; its descendants may live on.
    pub(crate) fn exit(&self) -> impl Future<Output = ()> + Send + 'static {
        self.gone.clone().cancelled_owned()
    }

    /// Ends it and all it has started, and says how it ended and what it complained of last.
    pub(crate) async fn end(self, wait: Duration, grace: Duration) -> String {
        timeout(wait, self.exit()).await.ok();
        let status = self.status.get();
        let scope = Arc::clone(&self.scope);
        tokio::task::spawn_blocking(move || drop(scope.end(grace))).await.ok();
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let mut said = status.map_or_else(String::new, |status| format!("; it {status}"));
        if !words.is_empty() {
            let lines: Vec<&str> = words.iter().map(String::as_str).collect();
            said.push_str("; its last words:\n");
            said.push_str(&lines.join("\n"));
        }
        said
    }
}

/// How long a server may take to end after it was asked.
pub(crate) const GRACE: Duration = Duration::from_millis(CHILD_GRACE_MS);

fn bear(
    server: &Server,
    program: &[String],
    dir: &WorkspacePath,
    site: &Site,
) -> Result<(Scope, Child, Ends), Failure> {
    let no_descriptor =
        |error: std::io::Error| Failure::not_started("too_many_files", error.to_string());
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|errno| no_descriptor(errno.into()));
    let cwd = site.root.open_dir(dir)?.as_fd().try_clone_to_owned().map_err(no_descriptor)?;
    let mut environment = site.environment.clone();
    for (name, value) in &server.env {
        // What the filter refuses was told when the layer was read.
        environment.set(name, value).ok();
    }
    let (name, args) = program.split_first().ok_or_else(|| {
        Failure::not_started("lsp_config", format!("{} names no program", server.name))
    })?;
    let policy = Policy::new(name, cwd, environment).args(args).lifetime(Lifetime::Session);
    let plan = Plan::realize(policy, &site.host)?;
    let ((stdin, to), (from, stdout), (complaints, stderr)) = (pipe()?, pipe()?, pipe()?);
    let scope = Scope::open(&format!("lsp-{}", RunId::generate().as_str()));
    let child = scope.launch(&plan, &Stdio { stdin, stdout, stderr })?;
    Ok((scope, child, Ends { stdin: to, stdout: from, stderr: complaints }))
}

/// Keeps the last of what a server complains of.
async fn listen(complaints: Receiver, words: Arc<Mutex<VecDeque<String>>>) {
    let mut reader = BufReader::new(complaints);
    loop {
        let mut line = Vec::new();
        let room = LSP_LAST_WORDS_BYTES_MAX as u64;
        match (&mut reader).take(room).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = site::plain(String::from_utf8_lossy(&line).trim_end(), LSP_LAST_WORDS_BYTES_MAX);
        if text.is_empty() {
            continue;
        }
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.push_back(text);
        let mut held: usize = words.iter().map(String::len).sum();
        while words.len() > LSP_LAST_WORDS_LINES_MAX || held > LSP_LAST_WORDS_BYTES_MAX {
            held -= words.pop_front().map_or(0, |gone| gone.len());
        }
    }
}
