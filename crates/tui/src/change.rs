//! A change to a file as a person reads it before allowing it: the path, then a short patch.
//!
//! Arguments of another shape than that of our own tools are none of its business: they are shown as they
//! are.

use serde_json::{Map, Value};

/// Lines of a change that a question shows. Who says yes says it to all of them, so it is as many as a
/// person can still read, and not as few as would look neat.
const LINES_SHOWN: usize = 400;

/// A change as it is asked about. Its texts are as the model wrote them: whoever draws them cleans them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What is wanted of which file.
    pub head: String,
    /// The patch; each line begins with `+`, `-` or `@@`.
    pub lines: Vec<String>,
    /// How many more lines it has.
    pub n_more: usize,
}

/// Words what a call of `edit` or `write` wants; none for other calls.
#[must_use]
pub fn of(tool: &str, input: &Value) -> Option<Change> {
    let fields = input.as_object()?;
    let path = fields.get("path")?.as_str()?;
    let (head, mut lines) = match tool {
        "edit" => (format!("wants to change {path}:"), edit(fields)?),
        "write" => {
            let text = only(fields, "content")?.as_str()?;
            let n_lines = match text.lines().count() {
                1 => "1 line".to_owned(),
                n => format!("{n} lines"),
            };
            let head = format!("wants to write {path} ({} bytes, {n_lines}):", text.len());
            (head, marked('+', text.lines()))
        }
        _ => return None,
    };
    let n_more = lines.len().saturating_sub(LINES_SHOWN);
    lines.truncate(LINES_SHOWN);
    Some(Change { head, lines, n_more })
}

/// Returns the one field beside the path; a further one would not be shown.
fn only<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|_| fields.len() == 2)
}

/// Returns the lines of all edits, without those that stay at the beginning and the end of each.
fn edit(fields: &Map<String, Value>) -> Option<Vec<String>> {
    let mut out = Vec::new();
    for edit in only(fields, "edits")?.as_array()? {
        let text = |name: &str| edit.get(name).and_then(Value::as_str);
        let (old, new) = (split(text("oldText")?), split(text("newText")?));
        let both = old.len().min(new.len());
        let begin = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let same = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        let end = same.min(both - begin);
        if !out.is_empty() {
            out.push("@@".to_owned());
        }
        out.extend(marked('-', old[begin..old.len() - end].iter().copied()));
        out.extend(marked('+', new[begin..new.len() - end].iter().copied()));
    }
    Some(out)
}

/// Splits where lines end, so that an end that comes or goes is a line, too.
fn split(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.split('\n').collect() }
}

fn marked<'a>(mark: char, lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    lines.map(|line| format!("{mark} {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(tool: &str, input: Value, expected: Option<(&str, &[&str])>) {
        let change = of(tool, &input);
        let told = change.as_ref().map(|change| {
            let lines: Vec<&str> = change.lines.iter().map(String::as_str).collect();
            (change.head.as_str(), lines)
        });
        assert_eq!(told, expected.map(|(head, lines)| (head, lines.to_vec())), "{tool} {input}");
    }

    #[test]
    fn a_change_becomes_a_short_patch() {
        let edits = json!([
            {"oldText": "a\nb\nz", "newText": "a\nc\nd\nz"},
            {"oldText": "x", "newText": ""},
        ]);
        check(
            "edit",
            json!({"edits": edits, "path": "src/a.rs"}),
            Some(("wants to change src/a.rs:", &["- b", "+ c", "+ d", "@@", "- x"])),
        );
        check(
            "write",
            json!({"path": "n.txt", "content": "one\ntwo\n"}),
            Some(("wants to write n.txt (8 bytes, 2 lines):", &["+ one", "+ two"])),
        );
        let long = json!({"path": "n", "content": "l\n".repeat(LINES_SHOWN + 3)});
        let long = of("write", &long).unwrap();
        assert_eq!((long.lines.len(), long.n_more), (LINES_SHOWN, 3));
    }

    #[test]
    fn arguments_of_another_shape_are_shown_as_they_are() {
        check("bash", json!({"path": "a", "command": "ls"}), None);
        check("edit", json!({"path": "a", "edits": [{"oldText": 1}]}), None);
        check("write", json!({"path": "a", "content": "b", "also": "c"}), None);
    }
}
