//! A question to a person, as lines: everything that would run, and nothing else.
//!
//! Pure. Which answer it gets, and how its lines are drawn, is not known here.

use serde_json::Value;
use vocab::message::Block;

use crate::{change, clean, text};

/// Words the question. Its first line says who wants what.
pub(crate) fn lines(block: &Block) -> Vec<String> {
    let tool = clean::line(&block.tool);
    if let Some(change) = change::of(&block.tool, &block.input) {
        let mut out = vec![format!("{tool} {}", clean::line(&change.head)), String::new()];
        out.extend(change.lines.iter().map(|line| clean::lines(line).concat()));
        if 0 < change.n_more {
            out.push(format!("… {} more lines are not shown", change.n_more));
        }
        return out;
    }
    let mut out = vec![format!("{tool} wants to run:"), String::new()];
    let Value::Object(fields) = &block.input else {
        out.extend(clean::lines(&pretty(&block.input)));
        return out;
    };
    for (name, value) in fields {
        let (name, value) = (clean::line(name), clean::lines(&pretty(value)));
        match value.as_slice() {
            [one] => out.push(format!("{name}: {one}")),
            several => {
                out.push(format!("{name}:"));
                out.extend(several.iter().map(|line| format!("  {line}")));
            }
        }
    }
    out
}

/// Breaks the lines of a question to a width.
pub(crate) fn wrapped(lines: &[String], columns: usize) -> Vec<String> {
    lines.iter().flat_map(|line| text::wrap(line, columns)).collect()
}

fn pretty(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(tool: &str, input: Value, expected: &[&str]) {
        let block: Block = serde_json::from_value(json!({
            "id": format!("blk_{}", "0".repeat(32)), "call": "c1", "tool": tool, "asked_at": 0,
            "input": input,
        }))
        .unwrap();
        assert_eq!(lines(&block), expected);
    }

    #[test]
    fn a_question_shows_everything_and_hides_nothing() {
        check(
            "bash",
            json!({"command": "rm -rf x\r\u{1b}[2Kecho ok\nmore", "timeout": 5}),
            &[
                "bash wants to run:",
                "",
                "command:",
                "  rm -rf x␛[2Kecho ok",
                "  more",
                "timeout: 5",
            ],
        );
        check(
            "edit",
            json!({"path": "a.rs", "edits": [{"oldText": "a\nb", "newText": "a\nc"}]}),
            &["edit wants to change a.rs:", "", "- b", "+ c"],
        );
        check("own", json!("text"), &["own wants to run:", "", "text"]);
    }
}
