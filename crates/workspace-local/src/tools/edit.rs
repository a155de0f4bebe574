//! `edit`: exact texts of a file, replaced.

use std::io::Read;

use confine::{Place, PublishOptions, Replace};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use vocab::{
    limits::{EDIT_FILE_BYTES_MAX, EDITS_MAX},
    outcome::{Effect, Failure, Outcome},
    schema::{Property, Schema},
    tool::{Execution, Reach, ToolSpec},
};

use super::{Ended, Job, arguments, write};
use crate::{
    diff,
    edit::{self, Edit, EditError, Edited},
    hash,
    lanes::{self, Entered, Parents},
    truncate,
};

pub(super) fn spec() -> ToolSpec {
    let text = |description| Schema::Text { description };
    let item = Schema::Object(vec![
        Property::required("oldText", text("What stands in the file now, exactly; unique in it")),
        Property::required("newText", text("What shall stand there")),
    ]);
    let list = Schema::List {
        description: "The replacements. Each oldText is looked for in the file as it is before the call; \
                      none may overlap another",
        items: Box::new(item),
        items_min: 1,
        items_max: EDITS_MAX,
    };
    ToolSpec {
        name: "edit",
        description: "Replaces exact texts in one file. Every oldText must occur exactly once; keep it as \
                      short as uniqueness allows, and put changes of one file into one call. Line ends \
                      need not match. Everything else in the file stays byte for byte.",
        parameters: Schema::Object(vec![
            arguments::path("The file, relative to the workspace or absolute"),
            Property::required("edits", list),
        ]),
        reach: Reach::Writes,
        execution: Execution::Parallel,
        prepare,
    }
}

/// Gives every shape that models write the one shape that is checked: a single replacement beside the
/// path, the list as a text that holds JSON, a lone object, other spellings of the names.
fn prepare(arguments: Value) -> Value {
    let mut arguments = arguments::with_path(arguments);
    spell(&mut arguments);
    let Some(map) = arguments.as_object_mut() else { return arguments };
    if let Some(Value::String(text)) = map.get("edits")
        && let Ok(parsed @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
    {
        map.insert("edits".into(), parsed);
    }
    if let Some(lone @ Value::Object(_)) = map.get("edits") {
        let list = Value::Array(vec![lone.clone()]);
        map.insert("edits".into(), list);
    }
    if map.contains_key("oldText") && map.contains_key("newText") {
        let (old, new) = (map.remove("oldText"), map.remove("newText"));
        let single = json!({ "oldText": old, "newText": new });
        match map.get_mut("edits") {
            Some(Value::Array(list)) => list.push(single),
            _ => drop(map.insert("edits".into(), Value::Array(vec![single]))),
        }
    }
    if let Some(Value::Array(list)) = map.get_mut("edits") {
        list.iter_mut().for_each(spell);
    }
    arguments
}

fn spell(item: &mut Value) {
    arguments::rename(item, &["old_text", "old_string", "oldString"], "oldText");
    arguments::rename(item, &["new_text", "new_string", "newString"], "newText");
}

pub(super) fn run(mut job: Job) -> Ended {
    let Some(turn) = job.turn.take() else { return Err(write::no_turn()) };
    let path = arguments::text(&job.arguments, "path");
    let registered = lanes::register(&job.site, path, Parents::Must, (turn, &job.stop))?;
    let Entered { place, path, guard, .. } = registered.enter(&job.site, &job.stop)?;
    let before = content(&place)?;
    let edits = edits(&job.arguments);
    let name = path.to_string();
    let (edited, written) =
        preview(&before, &edits, &name, &|| job.stop.alive()).map_err(|error| {
            if error == EditError::Stopped {
                return job.stop.failure(Effect::NotStarted);
            }
            let mut failure = Failure::from(error);
            failure.message = format!("{name}: {}", failure.message);
            failure
        })?;
    job.stop.check()?;
    let old: [u8; 32] = Sha256::digest(&before).into();
    let options = PublishOptions { replace: Replace::Content(old), ..PublishOptions::default() };
    let published = place.publish(&edited.bytes, options);
    drop(guard);
    if published.is_ok() {
        job.site.listener.published(&path);
    }
    let details = json!({
        "diff": written.display,
        "patch": written.patch,
        "diffOmitted": written.omitted,
        "firstChangedLine": written.first_changed_line,
        "sha256_before": hash::hex(&old),
        "sha256_after": hash::hex(&Sha256::digest(&edited.bytes)),
        "bytes": edited.bytes.len(),
    });
    match published {
        Ok(_) => Ok(Outcome::text(worded(&name, &edits, &edited)).with_details(details)),
        Err(error) if error.effect() == Effect::Completed => {
            Ok(Outcome::failed(error.into()).with_details(details))
        }
        Err(error) => Err(error.into()),
    }
}

/// Computes what edits make of a content, and how that differs. Writes nothing.
///
/// # Errors
/// When an edit cannot be placed, two overlap, nothing would change, or `alive`, asked between pieces
/// of work, says no.
pub fn preview(
    content: &[u8],
    edits: &[Edit],
    name: &str,
    alive: &dyn Fn() -> bool,
) -> Result<(Edited, diff::Written), EditError> {
    let edited = edit::apply(content, edits, alive)?;
    if !alive() {
        return Err(EditError::Stopped);
    }
    let written = diff::compare(content, &edited.bytes, name);
    Ok((edited, written))
}

fn content(place: &Place) -> Result<Vec<u8>, Failure> {
    let opened = place.open()?;
    let path = place.path();
    if opened.meta.len > EDIT_FILE_BYTES_MAX {
        let size = truncate::size(opened.meta.len);
        let message = format!("{path} is {size}, too large to edit at once");
        return Err(Failure::not_started("too_large", message));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(opened.meta.len).unwrap_or(0));
    opened
        .file
        .take(EDIT_FILE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::not_started("io", format!("{path}: {error}")))?;
    Ok(bytes)
}

fn edits(arguments: &Value) -> Vec<Edit> {
    let list = arguments.get("edits").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter()
        .map(|item| Edit {
            old: arguments::text(item, "oldText").to_owned(),
            new: arguments::text(item, "newText").to_owned(),
        })
        .collect()
}

fn worded(name: &str, edits: &[Edit], edited: &Edited) -> String {
    let count = edits.len();
    let places = if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
    match edited.near {
        0 => format!("Changed {places} in {name}"),
        near => format!(
            "Changed {places} in {name} ({near} matched only after quotes, dashes and spaces were made \
             alike)"
        ),
    }
}
