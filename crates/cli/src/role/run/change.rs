//! A change to a file as a person reads it before allowing it: the path, then a short patch.
//!
//! Arguments of another shape than that of our own tools are none of its business: they are shown as they
//! are.

use serde_json::{Map, Value};

use crate::print::{Style, clean, words};

/// Lines of a change that a question shows. Who says yes says it to all of them, so it is as many as a
/// person can still read, and not as few as would look neat.
const LINES_SHOWN: usize = 400;

/// Words what a call of `edit` or `write` wants; none for other calls.
pub(crate) fn shown(tool: &str, input: &Value, style: Style) -> Option<String> {
    let fields = input.as_object()?;
    let path = clean::clean_line(fields.get("path")?.as_str()?);
    let (head, lines) = match tool {
        "edit" => (format!("wants to change {path}:"), edit(fields)?),
        "write" => {
            let text = only(fields, "content")?.as_str()?;
            let lines = words::lines(text.lines().count());
            let head = format!("wants to write {path} ({} bytes, {lines}):", text.len());
            (head, marked('+', text.lines()))
        }
        _ => return None,
    };
    let mut out = format!("{head}\n");
    for line in lines.iter().take(LINES_SHOWN) {
        let line = clean::clean(line).replace('\n', " ");
        let drawn = match line.chars().next() {
            Some('+') => style.green(&line),
            Some('-') => style.red(&line),
            _ => style.dim(&line),
        };
        out.push_str(&format!("    {drawn}\n"));
    }
    if lines.len() > LINES_SHOWN {
        let more = words::lines(lines.len() - LINES_SHOWN);
        out.push_str(&format!("    {}\n", style.red(&format!("… {more} more are not shown"))));
    }
    Some(out)
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

    fn check(tool: &str, input: Value, expected: Option<&str>) {
        assert_eq!(shown(tool, &input, Style(false)).as_deref(), expected, "{tool} {input}");
    }

    #[test]
    fn a_change_is_asked_about_as_a_short_patch() {
        let edits = json!([
            {"oldText": "a\nb\nz", "newText": "a\nc\x1b[2J\nd\nz"},
            {"oldText": "x", "newText": ""},
        ]);
        check(
            "edit",
            json!({"edits": edits, "path": "src/a.rs"}),
            Some("wants to change src/a.rs:\n    - b\n    + c␛[2J\n    + d\n    @@\n    - x\n"),
        );
        check(
            "write",
            json!({"path": "n.txt", "content": "one\ntwo\n"}),
            Some("wants to write n.txt (8 bytes, 2 lines):\n    + one\n    + two\n"),
        );
        let long = json!({"path": "n", "content": "l\n".repeat(LINES_SHOWN + 3)});
        let long = shown("write", &long, Style(false)).unwrap();
        assert_eq!(long.lines().count(), LINES_SHOWN + 2);
        assert!(long.ends_with("    … 3 lines more are not shown\n"), "{long}");
    }

    #[test]
    fn arguments_of_another_shape_are_shown_as_they_are() {
        check("bash", json!({"path": "a", "command": "ls"}), None);
        check("edit", json!({"path": "a", "edits": [{"oldText": 1}]}), None);
        check("write", json!({"path": "a", "content": "b", "also": "c"}), None);
    }
}
