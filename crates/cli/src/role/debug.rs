//! `stead debug bundle`: one file with what a bug report needs, and no secret and no payload.
//!
//! It is plain Markdown, so that whoever sends it can read it first. Sessions, keys and the contents of
//! workspaces are never opened.

mod machine;
mod redact;

use std::{
    io::Write as _,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use api::{client::Target, daemon::Status, routes::Endpoint};
use daemon::paths::Paths;
use stdx::{clock::Clock, state_file};
use vocab::{limits::STATE_FILE_BYTES_MAX, outcome::Failure};

use crate::{args::Debug, client, env, print};

pub(crate) use redact::without_credentials;

/// Lines of each log that go into the file.
const LOG_LINES: usize = 200;

/// Runs the command.
pub(crate) fn run(command: Debug) -> anyhow::Result<ExitCode> {
    let Debug::Bundle { output } = command;
    let paths = env::paths()?;
    let now = Clock::system().now();
    let name = now.to_string().replace([':', '.'], "-");
    let path = output.unwrap_or_else(|| PathBuf::from(format!("stead-bundle-{name}.md")));
    let status = super::block_on(async { Ok(daemon_status(&paths).await) })?;
    let sections = [
        ("Versions", versions()),
        ("Daemon", status),
        ("Paths", paths_section(&paths)),
        ("Configuration, without values of keys and headers", configuration(&paths)),
        ("This machine", machine::facts(&paths.home)),
        ("Log of the daemon", log(&paths.log())),
        ("Errors of the daemon", log(&paths.errors())),
    ];
    let mut text = format!("# stead bundle, {now}\n");
    for (title, body) in sections {
        let body = body.replace("```", "'''");
        text.push_str(&format!("\n## {title}\n\n```\n{}\n```\n", body.trim_end()));
    }
    let home = env::get("HOME").filter(|home| home.len() > 1);
    let text = match &home {
        Some(home) => text.replace(home.as_str(), "~"),
        None => text,
    };
    write(&path, &text)?;
    print::err("stead: written, without keys and without sessions; read it before you send it\n");
    Ok(print::out(&format!("{}\n", path.display())))
}

#[expect(clippy::disallowed_methods, reason = "the new file that the person asked for")]
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        Failure::not_started("failed", format!("{} cannot be written: {error}", path.display()))
    })
}

fn versions() -> String {
    let (version, protocol) = (env!("CARGO_PKG_VERSION"), api::routes::PROTOCOL);
    format!(
        "stead {version}, protocol {protocol}, {} {}",
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

async fn daemon_status(paths: &Paths) -> String {
    let asked = async {
        let (client, _) = client::connect_if_running(paths).await?;
        let status: Status =
            client.json::<(), _>(Endpoint::DaemonStatus, Target::default(), None).await?;
        Ok::<_, Failure>(status)
    };
    match asked.await {
        Ok(status) => serde_json::to_string_pretty(&status).unwrap_or_default(),
        Err(failure) => format!("{} ({})", failure.message, failure.code),
    }
}

fn paths_section(paths: &Paths) -> String {
    let (registration, socket, secrets) = (paths.registration(), paths.socket(), paths.secrets());
    let (database, credential, logs) = (paths.database(), paths.credential(), paths.logs());
    [
        &paths.home,
        &paths.runtime,
        &paths.config,
        &registration,
        &socket,
        &secrets,
        &database,
        &credential,
        &logs,
    ]
    .map(|path| path_line(path))
    .join("\n")
}

fn path_line(path: &Path) -> String {
    let shown = path.display();
    match std::fs::symlink_metadata(path) {
        Ok(meta) => {
            let (mode, uid, gid) = (meta.mode() & 0o7777, meta.uid(), meta.gid());
            format!("{mode:04o} {uid}:{gid} {:>12} {shown}", meta.len())
        }
        Err(error) => format!("{:<24} {shown}", error.kind()),
    }
}

fn configuration(paths: &Paths) -> String {
    match state_file::read_config(&paths.config, STATE_FILE_BYTES_MAX) {
        Ok(Some(bytes)) => redact::config(&String::from_utf8_lossy(&bytes)),
        Ok(None) => "there is none".to_owned(),
        Err(error) => format!("it cannot be read: {error}"),
    }
}

/// Returns the end of a log. It holds ids and codes; what looks like a key is taken out all the same.
fn log(path: &Path) -> String {
    let text = match machine::read_end(path) {
        Ok(Some(text)) => text,
        Ok(None) => return "there is none".to_owned(),
        Err(error) => return format!("it cannot be read: {error}"),
    };
    let lines: Vec<&str> = text.lines().collect();
    let skip = lines.len().saturating_sub(LOG_LINES);
    let end: Vec<String> =
        lines.into_iter().skip(skip).map(|line| print::clean::clean(&redact::line(line))).collect();
    end.join("\n")
}

#[cfg(test)]
mod tests;
