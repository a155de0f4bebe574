//! What a call of a tool is about, in a few words.
//!
//! Tools that are not known here are told by their first argument. Not here: what came of a call.

use serde_json::Value;

/// The arguments that say most, in the order in which they are looked for.
const TELLING: &[&str] = &[
    "command",
    "path",
    "file_path",
    "pattern",
    "query",
    "url",
    "prompt",
    "question",
    "name",
    "description",
];

/// Returns what a call is about, on one line.
#[must_use]
pub fn subject(tool: &str, input: &Value) -> String {
    let text = |name: &str| input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if matches!(tool, "grep" | "find") {
        let mut out = text("pattern").unwrap_or_default().to_owned();
        for (word, name) in [("in", "path"), ("among", "glob")] {
            if let Some(value) = text(name).filter(|value| *value != ".") {
                out.push_str(&format!(" {word} {value}"));
            }
        }
        return out;
    }
    if let Some(value) = TELLING.iter().find_map(|name| text(name)) {
        let mut lines = value.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default();
        return if lines.next().is_some() { format!("{first} …") } else { first.to_owned() };
    }
    match input {
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Object(fields) => {
            fields.values().find_map(Value::as_str).map_or_else(|| input.to_string(), str::to_owned)
        }
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => input.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_told_by_its_most_telling_argument() {
        for (tool, input, expected) in [
            ("bash", json!({"timeout": 5, "command": "\nnpm test\n"}), "npm test"),
            ("bash", json!({"command": "a\nb"}), "a …"),
            ("grep", json!({"pattern": "x+", "glob": "*.rs"}), "x+ among *.rs"),
            ("edit", json!({"path": "a.txt", "edits": []}), "a.txt"),
            ("own", json!({"n": 1, "what": "w"}), "w"),
            ("own", json!({"n": 1}), "{\"n\":1}"),
            ("own", json!({}), ""),
            ("own", json!("not json"), "not json"),
        ] {
            assert_eq!(subject(tool, &input), expected);
        }
    }
}
