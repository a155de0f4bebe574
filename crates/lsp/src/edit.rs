//! The changes of a rename: read from a server's answer, checked in every file, then published.
//!
//! All is checked and written beside its place before the first file gets its name. A failure before that
//! changed nothing; one after it leaves some files changed, and says which.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    ops::Range,
    sync::{Mutex, PoisonError},
};

use confine::{Pending, Place, PublishOptions, Replace, lane::Guard};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use vocab::{
    limits::{LSP_DOCUMENT_BYTES_MAX, LSP_RENAME_FILES_MAX},
    outcome::{Effect, Failure, Outcome},
    path::WorkspacePath,
};

use crate::{
    position::{Encoding, Lines},
    site::Site,
};

/// Edits of each file, as the server wrote them.
pub(crate) type Edits = BTreeMap<WorkspacePath, Vec<Value>>;

/// Tells what a server was shown of a file.
pub(crate) type Shown<'a> = dyn Fn(&WorkspacePath) -> Option<String> + 'a;

/// One set of files at a time: two that share files would wait for each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn refused(why: impl Into<String>) -> Failure {
    Failure::not_started("lsp_edit_refused", why)
}

/// Reads a server's answer. `version_of` tells which version of a file the server was shown.
pub(crate) fn read(
    site: &Site,
    answer: &Value,
    version_of: &dyn Fn(&WorkspacePath) -> Option<i64>,
) -> Result<Edits, Failure> {
    let mut edits = Edits::new();
    let mut add = |uri: &str, list: Option<&Value>| {
        let Some(path) = site.path(uri) else {
            let uri = crate::site::plain(uri, 300);
            return Err(refused(format!(
                "the rename would change a file outside the workspace: {uri}"
            )));
        };
        let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        edits.entry(path.clone()).or_default().extend(list.iter().cloned());
        Ok(path)
    };
    if let Some(changes) = answer.get("documentChanges").and_then(Value::as_array) {
        for change in changes {
            if let Some(kind) = change.get("kind").and_then(Value::as_str) {
                let kind = crate::site::plain(kind, 40);
                return Err(refused(format!(
                    "the rename would {kind} a file, which is not done here"
                ))
                .with_hint("move the file first, then change what names it"));
            }
            let document = change.get("textDocument").unwrap_or(&Value::Null);
            let uri = document.get("uri").and_then(Value::as_str).unwrap_or_default();
            let path = add(uri, change.get("edits"))?;
            let version = document.get("version").and_then(Value::as_i64);
            if version.zip(version_of(&path)).is_some_and(|(theirs, ours)| theirs != ours) {
                return Err(Failure::not_started(
                    "stale_content",
                    format!("{path}: changed meanwhile"),
                )
                .with_hint("call again"));
            }
        }
    } else if let Some(changes) = answer.get("changes").and_then(Value::as_object) {
        for (uri, list) in changes {
            add(uri, Some(list))?;
        }
    }
    edits.retain(|_, list| !list.is_empty());
    if edits.len() > LSP_RENAME_FILES_MAX {
        let n = edits.len();
        return Err(refused(format!(
            "the rename would change {n} files, more than {LSP_RENAME_FILES_MAX}"
        )));
    }
    Ok(edits)
}

/// A file that is ready to get its new content.
struct Ready {
    path: WorkspacePath,
    pending: Pending,
    places: usize,
    before: [u8; 32],
    after: [u8; 32],
}

/// Publishes edits. `shown` is what the server was shown of a file, which must still be there. `alive` is asked
/// before the first file is changed. Blocks.
pub(crate) fn publish(
    site: &Site,
    edits: &Edits,
    encoding: Encoding,
    (shown, alive): (&Shown<'_>, &dyn Fn() -> bool),
) -> Outcome {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut guards = Vec::new();
    let ready = match prepare(site, edits, (encoding, shown), &mut guards) {
        Ok(ready) => ready,
        Err(failure) => return Outcome::failed(failure),
    };
    if !alive() {
        let why = "stopped because the call was cancelled";
        return Outcome::failed(Failure::not_started("aborted", why));
    }
    let (mut done, mut lines, mut failed) = (Vec::new(), Vec::new(), None);
    for file in ready {
        let committed = file.pending.commit();
        let is_done = !matches!(&committed, Err(error) if error.effect() == Effect::NotStarted);
        if is_done {
            let places = if file.places == 1 { "place" } else { "places" };
            lines.push(format!("{}: {} {places}", file.path, file.places));
            done.push(json!({
                "path": file.path.to_string(),
                "places": file.places,
                "sha256_before": hex(&file.before),
                "sha256_after": hex(&file.after),
            }));
        }
        if let Err(error) = committed {
            failed = Some((file.path, Failure::from(error)));
            break;
        }
    }
    drop(guards);
    let details = json!({"files": done});
    let Some((path, mut failure)) = failed else {
        return Outcome::text(lines.join("\n")).with_details(details);
    };
    if !lines.is_empty() {
        failure.effect = Effect::Indeterminate;
        failure.message = format!(
            "{}; {path} and what follows it were not changed, these files were:\n{}",
            failure.message,
            lines.join("\n"),
        );
    }
    Outcome::failed(failure).with_details(details)
}

/// Enters every file's lane, checks every edit and writes every new content beside its place.
fn prepare(
    site: &Site,
    edits: &Edits,
    (encoding, shown): (Encoding, &Shown<'_>),
    guards: &mut Vec<Guard>,
) -> Result<Vec<Ready>, Failure> {
    let (mut lanes, mut ready) = (Vec::new(), Vec::new());
    for (path, list) in edits {
        let place = site.root.locate(path)?;
        // A second name of a file that is held already would wait for itself.
        if lanes.contains(&place.lane()) {
            return Err(refused(format!("{path}: the rename names this file twice")));
        }
        lanes.push(place.lane());
        let (place, guard) = place.enter()?;
        guards.push(guard);
        if lanes.last() != Some(&place.lane()) {
            return Err(Failure::not_started(
                "path_changed",
                format!("{path}: leads elsewhere by now"),
            ));
        }
        let old = content(&place)?;
        if shown(path).is_some_and(|shown| shown.as_bytes() != old) {
            return Err(Failure::not_started(
                "stale_content",
                format!("{path}: changed meanwhile"),
            )
            .with_hint("call again"));
        }
        let new = apply(&old, list, encoding).map_err(|why| refused(format!("{path}: {why}")))?;
        let before: [u8; 32] = Sha256::digest(&old).into();
        let options =
            PublishOptions { replace: Replace::Content(before), ..PublishOptions::default() };
        let mut pending = place.writer(options)?;
        if let Err(error) = pending.write_all(&new) {
            return Err(pending.error(error).into());
        }
        let after = Sha256::digest(&new).into();
        ready.push(Ready { path: path.clone(), pending, places: list.len(), before, after });
    }
    Ok(ready)
}

fn content(place: &Place) -> Result<Vec<u8>, Failure> {
    let (opened, path) = (place.open()?, place.path());
    if opened.meta.len > LSP_DOCUMENT_BYTES_MAX {
        return Err(Failure::not_started("too_large", format!("{path} is too large to change")));
    }
    let mut bytes = Vec::new();
    opened
        .file
        .take(LSP_DOCUMENT_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::not_started("io", format!("{path}: {error}")))?;
    Ok(bytes)
}

/// Applies edits to a content; whatever they do not name stays byte for byte.
fn apply(old: &[u8], list: &[Value], encoding: Encoding) -> Result<Vec<u8>, &'static str> {
    let text = str::from_utf8(old).ok().ok_or("is not UTF-8")?;
    let lines = Lines::new(text);
    let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
    for edit in list {
        let range = edit.get("range").and_then(|range| lines.range(range, encoding));
        let range = range.ok_or("the server names a place that is not there")?;
        let new = edit.get("newText").and_then(Value::as_str).ok_or("an edit has no text")?;
        edits.push((range, new));
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut new, mut at) = (String::with_capacity(text.len()), 0);
    for (range, replacement) in edits {
        if range.start < at {
            return Err("two edits overlap");
        }
        new.push_str(&text[at..range.start]);
        new.push_str(replacement);
        at = range.end;
    }
    new.push_str(&text[at..]);
    Ok(new.into_bytes())
}

fn hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
