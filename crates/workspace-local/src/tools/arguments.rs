//! Reads arguments that passed validation, and repairs what models write before it.

use serde_json::Value;
use vocab::schema::{Property, Schema};

/// Returns a text; empty when absent, which validation excluded for what is required.
pub(super) fn text<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a text that may be absent; an empty one counts as absent.
pub(super) fn optional<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    Some(text(arguments, name)).filter(|text| !text.is_empty())
}

/// Returns a count that may be absent.
pub(super) fn count(arguments: &Value, name: &str) -> Option<u64> {
    arguments.get(name).and_then(Value::as_u64)
}

/// Returns a limit, which is never larger than memory is.
pub(super) fn limit(arguments: &Value, name: &str, default: usize) -> usize {
    count(arguments, name).and_then(|count| usize::try_from(count).ok()).unwrap_or(default)
}

/// Returns a flag; false when absent.
pub(super) fn flag(arguments: &Value, name: &str) -> bool {
    arguments.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// Gives a property its right name where only a wrong one is there.
pub(super) fn rename(arguments: &mut Value, wrong: &[&str], right: &str) {
    let Some(map) = arguments.as_object_mut() else { return };
    if map.get(right).is_some_and(|value| !value.is_null()) {
        return;
    }
    if let Some(value) = wrong.iter().find_map(|name| map.remove(*name)) {
        map.insert(right.to_owned(), value);
    }
}

/// Repairs the name of the path.
pub(super) fn with_path(mut arguments: Value) -> Value {
    rename(&mut arguments, &["file_path", "filePath", "file", "filename"], "path");
    arguments
}

/// Repairs the name of a directory, and drops an empty one.
pub(super) fn with_directory(mut arguments: Value) -> Value {
    rename(&mut arguments, &["file_path", "filePath", "directory", "dir"], "path");
    if arguments.get("path").and_then(Value::as_str) == Some("")
        && let Some(map) = arguments.as_object_mut()
    {
        map.remove("path");
    }
    arguments
}

/// Describes a path that must be given.
pub(super) fn path(description: &'static str) -> Property {
    Property::required("path", Schema::Text { description })
}

/// Describes a directory that may be left out.
pub(super) fn directory(description: &'static str) -> Property {
    Property::optional("path", Schema::Text { description })
}

/// Describes how many results are wanted at most.
pub(super) fn limit_of(description: &'static str) -> Property {
    let maximum = i64::try_from(vocab::limits::TOOL_RESULTS_MAX).unwrap_or(i64::MAX);
    Property::optional("limit", Schema::Integer { description, minimum: 1, maximum })
}
