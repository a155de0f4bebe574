//! A runtime over ssh: this very program is put on the other machine where it is missing, and speaks over its pipe.
//! No port is opened there.
//!
//! Who may enter, keys and known hosts are ssh's business; its own words are told when it fails.

#![expect(
    clippy::disallowed_methods,
    reason = "reads our own executable, to put it on another machine"
)]

use std::{
    path::Path,
    pin::Pin,
    process::Stdio,
    sync::Arc,
    task::{Context, Poll},
};

use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, ReadBuf},
    process::{Child, ChildStdout, Command},
    sync::OnceCell,
};
use vocab::{
    limits::SSH_WORDS_BYTES_MAX,
    outcome::{Effect, Failure},
};
use workspace_remote::{
    client::{ConnectError, Connector},
    offer::hex,
    transport::stream,
};

use crate::{env, print::clean};

/// How much of ssh's last line is told.
const WORDS_TOLD: usize = 300;
/// What the other side answers with when this build is not there.
const MISSING: i32 = 89;

/// Makes what starts a runtime over ssh whenever a line is wanted, once this program is there.
///
/// # Errors
/// When ssh cannot reach it, or the program cannot be put there.
pub(super) async fn connector(host: &str, root: &str, exec: bool) -> Result<Connector, Failure> {
    if host.is_empty() || host.starts_with('-') || host.contains(char::is_control) {
        return Err(Failure::not_started("address_invalid", "that is no host for ssh"));
    }
    if !root.starts_with('/') || root.contains(['\0', '\n']) {
        let why = "the directory of a workspace over ssh is a whole path, from / on";
        return Err(Failure::not_started("path_invalid", why));
    }
    let build = build().await?;
    let at = format!("\"$HOME\"/.cache/stead/bin/{build}/stead");
    prepare(host, &at, &build).await?;
    let allow = if exec { " --allow-exec" } else { "" };
    // Over ssh whoever enters may do all that the user there may: root is nothing more to ask for.
    let command = format!(
        "exec {at} workspace serve --stdio --allow-root --allow-mounts{allow} --root {}",
        quoted(root)
    );
    let host = host.to_owned();
    Ok(Arc::new(move || {
        let started = start(&host, &command);
        Box::pin(
            async move { started.map_err(|error| ConnectError::Unreachable(error.to_string())) },
        )
    }))
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn ssh(host: &str, command: &str) -> Command {
    let mut ssh = Command::new("ssh");
    // Nobody is there to be asked.
    ssh.args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"])
        .args(["-o", "ServerAliveInterval=15", "--", host, command])
        .kill_on_drop(true);
    ssh
}

fn start(host: &str, command: &str) -> std::io::Result<workspace_remote::transport::Transport> {
    let mut child = ssh(host, command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(std::io::Error::other("ssh has no streams"));
    };
    Ok(stream::transport(Held { output, _child: child }, input))
}

/// What the runtime says, and the process that says it: it ends with the line.
struct Held {
    output: ChildStdout,
    _child: Child,
}

impl AsyncRead for Held {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.output).poll_read(context, buffer)
    }
}

/// Puts this program on the other machine unless it is there.
async fn prepare(host: &str, at: &str, build: &str) -> Result<(), Failure> {
    let look = format!("test -x {at} || {{ uname -sm; exit {MISSING}; }}");
    let (code, told) = run(host, &look, None).await?;
    match code {
        Some(0) => return Ok(()),
        Some(MISSING) => {}
        _ => return Err(failed(host, "ssh", &told)),
    }
    let here = rustix::system::uname();
    let here = format!("{} {}", here.sysname().to_string_lossy(), here.machine().to_string_lossy());
    if told.trim() != here {
        let why = format!(
            "{host} is another machine ({}): this program is for {here}",
            clean::clean_line(told.trim())
        );
        return Err(Failure::not_started("program_unusable", why)
            .with_hint("serve it there with a build of its own: stead workspace serve"));
    }
    tracing::info!(host, build, "this program is put on another machine");
    // Under a name of its own until it is whole; a sum tells whether it is.
    let put = format!(
        "umask 077 && mkdir -p \"$(dirname {at})\" && cat >{at}.$$ && \
         sum=$(sha256sum <{at}.$$) && test \"${{sum%% *}}\" = {build} && chmod 700 {at}.$$ && mv {at}.$$ {at} || \
         {{ rm -f {at}.$$; echo 'the program did not arrive whole' >&2; exit 1; }}"
    );
    let program = env::own_program()?;
    match run(host, &put, Some(&program)).await? {
        (Some(0), _) => Ok(()),
        (_, told) => Err(failed(host, "putting this program there", &told)),
    }
}

fn failed(host: &str, what: &str, told: &str) -> Failure {
    let last = told.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no word");
    let last: String = clean::clean_line(last).chars().take(WORDS_TOLD).collect();
    let why = format!("{what} failed for {host}: {last}");
    Failure::new("unreachable", Effect::NotStarted, why).with_hint(format!("ssh {host} true"))
}

/// Runs a command there with a file as its input. Returns its code and the last of what it said.
async fn run(
    host: &str,
    command: &str,
    input: Option<&Path>,
) -> Result<(Option<i32>, String), Failure> {
    let io = |error: std::io::Error| failed(host, "ssh", &error.to_string());
    let stdin = match input {
        Some(path) => Stdio::from(std::fs::File::open(path).map_err(io)?),
        None => Stdio::null(),
    };
    let mut ssh = ssh(host, command);
    let child = ssh.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(io)?;
    let (mut said, mut errors) = (Vec::new(), Vec::new());
    let most = u64::try_from(SSH_WORDS_BYTES_MAX).unwrap_or(u64::MAX);
    if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
        // Each is let go of once it has said enough: whoever says more must not wait for us for ever.
        let (said, errors) = (&mut said, &mut errors);
        let (read, erred) =
            tokio::join!(async move { out.take(most).read_to_end(said).await }, async move {
                err.take(most).read_to_end(errors).await
            },);
        read.and(erred).map_err(io)?;
    }
    let ended = child.wait().await.map_err(io)?;
    let told = if said.is_empty() { errors } else { said };
    Ok((ended.code(), String::from_utf8_lossy(&told).into_owned()))
}

/// Returns the sum of this program, by which it is known on other machines.
async fn build() -> Result<String, Failure> {
    static BUILD: OnceCell<String> = OnceCell::const_new();
    let read = || async {
        let program = env::own_program()?;
        let sum = move || {
            let mut file = std::fs::File::open(program)?;
            let mut hasher = Sha256::new();
            let mut buffer = vec![0; 64 * 1024];
            loop {
                match std::io::Read::read(&mut file, &mut buffer)? {
                    0 => break,
                    n_read => hasher.update(buffer.get(..n_read).unwrap_or_default()),
                }
            }
            Ok::<_, std::io::Error>(hex(&hasher.finalize()))
        };
        match tokio::task::spawn_blocking(sum).await {
            Ok(Ok(sum)) => Ok(sum),
            Ok(Err(error)) => Err(Failure::not_started("program_unusable", error.to_string())),
            Err(_) => Err(Failure::not_started("internal", "reading this program failed")),
        }
    };
    BUILD.get_or_try_init(read).await.cloned()
}
