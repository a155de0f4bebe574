//! `stead cp`: the daemon copies, this tells how far it has come. Leaving stops the copy.

#![expect(
    clippy::disallowed_methods,
    reason = "finds the paths that a person typed, and opens none"
)]

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use api::{
    client::Target,
    problem::Problem,
    routes::Endpoint,
    sse::Decoder,
    workspace::{
        COPY_DONE, COPY_FAILED, COPY_PROGRESS, CopyDone, CopyEnd, CopyProgress, CopyRequest,
    },
};
use vocab::outcome::{Effect, Failure};

use crate::{
    args::Copy,
    client, env, exit,
    print::{self, Look, clean::clean_line, words},
};

/// What stands before a path of this machine that looks like another's.
const HERE: &str = "local";
/// Columns of the bar.
const BAR: u64 = 24;

/// Copies.
pub(super) fn run(copy: Copy) -> anyhow::Result<ExitCode> {
    super::block_on(copied(copy))
}

async fn copied(copy: Copy) -> anyhow::Result<ExitCode> {
    let request = CopyRequest {
        from: end(&copy.source, source_path)?,
        to: end(&copy.target, target_path)?,
        recursive: copy.recursive,
        overwrite: copy.force,
    };
    let client = client::connect(&env::paths()?).await?;
    let begun = Instant::now();
    let response = client
        .events(Endpoint::WorkspaceCopy, Target::default(), Some(&request), None)
        .await
        .map_err(Failure::from)?;
    let shows = Look::of_process().err.terminal && !copy.json.json;
    let done = follow(response.into_body(), shows).await?;
    if copy.json.json {
        return Ok(print::json(&done));
    }
    let resumed = match done.resumed_from {
        0 => String::new(),
        from => format!(", {} of it from an earlier attempt", words::bytes(from)),
    };
    let (size, took) = (words::bytes(done.size), words::took(begun.elapsed()));
    let path = clean_line(&done.path);
    print::err(&format!("stead: copied to {path}: {size} in {took}{resumed}\n"));
    if let Some(told) = left_out(&done) {
        print::err(&format!("stead: {told}\n"));
    }
    Ok(ExitCode::from(exit::OK))
}

/// Says what did not travel.
fn left_out(done: &CopyDone) -> Option<String> {
    let named =
        done.left_out_first.iter().map(|one| clean_line(one)).collect::<Vec<_>>().join(", ");
    let more = match done.left_out.saturating_sub(done.left_out_first.len()) {
        0 => String::new(),
        n_more => format!(", and {n_more} more"),
    };
    (done.left_out > 0).then(|| format!("not copied: {named}{more}"))
}

/// Reads the copy's story to its end.
async fn follow(
    mut body: impl http_body_util::BodyExt<Data = bytes::Bytes> + Unpin,
    shows: bool,
) -> Result<CopyDone, Failure> {
    let cut = || {
        let message = "the daemon left before the copy was over";
        Failure::new("interrupted", Effect::Indeterminate, message).with_hint("copy it again")
    };
    let unreadable = || Failure::new("internal", Effect::Indeterminate, "the answer is unreadable");
    let (mut decoder, mut events) = (Decoder::default(), Vec::new());
    let mut drawn = false;
    let ended = 'all: loop {
        let Some(Ok(frame)) = body.frame().await else { break Err(cut()) };
        let Ok(bytes) = frame.into_data() else { continue };
        if decoder.feed(&bytes, &mut events).is_err() {
            break Err(unreadable());
        }
        for event in events.drain(..) {
            match event.name.as_str() {
                COPY_PROGRESS if shows => {
                    let Ok(progress) = serde_json::from_str(&event.data) else { continue };
                    print::err(&format!("\r{}\x1b[K", bar(progress)));
                    drawn = true;
                }
                COPY_DONE => {
                    break 'all serde_json::from_str(&event.data).map_err(|_shape| unreadable());
                }
                COPY_FAILED => {
                    let problem: Result<Problem, _> = serde_json::from_str(&event.data);
                    break 'all Err(problem.map_or_else(|_shape| unreadable(), Failure::from));
                }
                _ => {}
            }
        }
    };
    if drawn {
        print::err("\r\x1b[K");
    }
    ended
}

fn bar(progress: CopyProgress) -> String {
    let CopyProgress { bytes, size, attempt } = progress;
    let share = |of: u64| match size {
        0 => of,
        size => u64::try_from(u128::from(bytes) * u128::from(of) / u128::from(size)).unwrap_or(of),
    };
    let full = share(BAR).min(BAR);
    let [full, empty] = [full, BAR - full].map(|n| usize::try_from(n).unwrap_or_default());
    let again = if attempt > 1 { format!(" · attempt {attempt}") } else { String::new() };
    format!(
        "{}{} {:3} %  {} of {}{again}",
        "█".repeat(full),
        "░".repeat(empty),
        share(100),
        words::bytes(bytes),
        words::bytes(size)
    )
}

/// Reads one end as people write it.
fn end(text: &str, here: fn(&Path) -> Result<PathBuf, Failure>) -> Result<CopyEnd, Failure> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let path = match text.split_once(':') {
        Some((HERE, path)) => path,
        Some((name, path)) if !name.is_empty() && name.bytes().all(is_plain) => {
            return Ok(CopyEnd { workspace: Some(name.to_owned()), path: path.to_owned() });
        }
        Some(_) | None => text,
    };
    if path.is_empty() {
        return Err(usage("a path of this machine is empty"));
    }
    let found = here(&env::cwd()?.join(path))?;
    let path = found.into_os_string().into_string();
    let path = path.map_err(|_lossy| usage("a path of this machine is not UTF-8"))?;
    Ok(CopyEnd { workspace: None, path })
}

fn usage(message: &str) -> Failure {
    Failure::not_started("invalid_field", message)
}

/// Finds what is copied: links of one's own machine are followed, wherever they lead.
fn source_path(path: &Path) -> Result<PathBuf, Failure> {
    std::fs::canonicalize(path).map_err(|error| unusable(path, &error))
}

/// Finds where it goes: what is there, or a new name in a directory that is.
fn target_path(path: &Path) -> Result<PathBuf, Failure> {
    if let Ok(found) = std::fs::canonicalize(path) {
        return Ok(found);
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(usage("the target has no name"));
    };
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        let message = format!("{}: no such directory", path.display());
        return Err(Failure::not_started("not_found", message));
    }
    let parent = std::fs::canonicalize(parent).map_err(|error| unusable(parent, &error))?;
    Ok(parent.join(name))
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    let code = if error.kind() == std::io::ErrorKind::NotFound { "not_found" } else { "io" };
    Failure::not_started(code, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
