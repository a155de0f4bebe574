//! `stead workspace serve` from outside: who gets in, what is served, and how it ends.

#![expect(
    clippy::disallowed_methods,
    reason = "starts runtimes and looks at real files and processes"
)]

mod channels;
mod copies;
mod ends;
mod escapes;
mod network;
mod packaged;
mod places;
mod sealed;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::Arc,
};

use stdx::secret::Secret;
use vocab::tool::ToolSpec;
use workspace::{law, source::OwnedWorkspace as _};
use workspace_remote::{
    client::{ClientOptions, RemoteOwner, RemoteWorkspace},
    dial::{Address, Dial},
    transport::stream,
};

use crate::home::Home;

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A runtime that is ready.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) ready: String,
    pub(crate) errors: BufReader<ChildStderr>,
}

impl Served {
    /// Starts one on a free port, with a token.
    pub(crate) fn start(home: &Home, flags: &[&str]) -> Self {
        let mut command = command(home, flags);
        command.env("STEAD_WORKSPACE_TOKEN", TOKEN).env("STEAD_WORKSPACE_LISTEN", "127.0.0.1:0");
        Self::ready(command)
    }

    pub(crate) fn ready(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut ready = String::new();
        errors.read_line(&mut ready).unwrap();
        assert!(ready.starts_with("stead: ready at "), "{ready}");
        Self { child, ready, errors }
    }

    /// Returns the next line of its standard error.
    pub(crate) fn says(&mut self) -> String {
        let mut line = String::new();
        self.errors.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn address(&self) -> Address {
        let rest = self.ready.strip_prefix("stead: ready at ").unwrap();
        rest.split(',').next().unwrap().parse().unwrap()
    }

    pub(crate) fn dial(&self) -> Dial {
        Dial { address: self.address(), token: Some(Secret::new(TOKEN.into())), tls: None }
    }

    pub(crate) async fn connect(&self) -> RemoteOwner {
        RemoteWorkspace::connect(self.dial().connector(), options()).await.unwrap()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(crate) fn command(home: &Home, flags: &[&str]) -> Command {
    let mut args = vec!["workspace", "serve", "--allow-root"];
    args.extend(flags);
    let mut command = home.command(&args);
    command.stdin(Stdio::piped());
    command
}

/// The tools of this program, as the client was compiled with them.
pub(crate) fn options() -> ClientOptions {
    let tools: Vec<Arc<ToolSpec>> =
        workspace_local::specs().into_iter().chain(lsp::specs()).map(Arc::new).collect();
    ClientOptions::new("test", "1", tools)
}

/// Returns what stands in a directory.
pub(crate) fn names(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_served_answers_like_what_is_here() {
    let home = Home::new();
    let served = Served::start(&home, &["--allow-exec", "--allow-mounts"]);
    let remote = served.connect().await;
    assert_eq!(law::broken(remote.borrow()).await, Vec::<String>::new());
    Box::new(remote).close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_served_over_a_pipe_answers_like_what_is_here() {
    let home = Home::new();
    let mut served = Served::ready(command(&home, &["--stdio", "--allow-exec", "--allow-mounts"]));
    let (input, output) = (served.child.stdin.take().unwrap(), served.child.stdout.take().unwrap());
    let line = stream::transport(
        tokio::process::ChildStdout::from_std(output).unwrap(),
        tokio::process::ChildStdin::from_std(input).unwrap(),
    );
    let line = std::sync::Mutex::new(Some(line));
    let connector = Arc::new(move || {
        let line = line.lock().unwrap().take().unwrap();
        let opened: futures_util::future::BoxFuture<'static, _> =
            Box::pin(std::future::ready(Ok(line)));
        opened
    });
    let remote = RemoteWorkspace::connect(connector, options()).await.unwrap();
    assert_eq!(law::broken(remote.borrow()).await, Vec::<String>::new());
    Box::new(remote).close().await;
    // The pipe is the line: with it the runtime ends.
    assert!(served.child.wait().unwrap().success());
}

#[test]
fn what_may_not_be_served_is_told_before_anything_listens() {
    let home = Home::new();
    let check = |flags: &[&str], twins: &[(&str, &str)], code: i32, expected: &str| {
        let mut args = vec!["workspace", "serve"];
        args.extend(flags);
        let mut command = home.command(&args);
        command.envs(twins.iter().copied());
        let ended = command.output().unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert!(told.contains(expected) && !told.contains("ready"), "{flags:?}: {told}");
        assert_eq!(ended.status.code(), Some(code), "{flags:?}: {told}");
        assert!(ended.stdout.is_empty());
    };
    if rustix::process::geteuid().is_root() {
        check(&[], &[], 4, "not served as root");
    }
    let free = [("STEAD_WORKSPACE_ALLOW_ROOT", "true"), ("STEAD_WORKSPACE_LISTEN", "127.0.0.1:0")];
    check(&["--root", "missing"], &free, 3, "missing: no such file or directory");
    check(&["--listen", "0.0.0.0:0"], &free, 4, "STEAD_WORKSPACE_TOKEN");
    check(&["--artifact-dir", "."], &free, 2, "below the root");
    check(&["--shell", "/missing", "--allow-exec"], &free, 3, "/missing");
    check(&["--tls-cert", "missing", "--tls-key", "missing"], &free, 3, "missing");
    home.write("empty", "");
    check(&["--tls-cert", "empty", "--tls-key", "empty"], &free, 1, "certificates");
    check(&["--lsp-config", "missing", "--allow-exec"], &free, 3, "missing");
    check(&["--token", "x"], &free, 2, "--token");
    check(&["--stdio", "--listen", "127.0.0.1:0"], &free, 2, "--stdio");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let _held = std::net::TcpListener::bind(&taken);
    let open = format!("unix:{}", home.path("work/socket").display());
    check(&["--listen", &open], &free, 1, "chmod 700");
    fs::create_dir(home.path("private")).unwrap();
    fs::set_permissions(home.path("private"), fs::Permissions::from_mode(0o700)).unwrap();
    let path = home.path("private/file");
    fs::write(&path, "").unwrap();
    check(&["--listen", &format!("unix:{}", path.display())], &free, 1, "is not a socket");
}
