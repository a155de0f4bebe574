//! Tool calls in a few words: what a call is about, and what came of it.
//!
//! Tools that are not known here are told by their first argument and their first line.

use serde_json::Value;
pub use vocab::call::subject;

/// Returns what came of a call that succeeded.
#[must_use]
pub fn result(tool: &str, output: &Value) -> String {
    let blocks = output.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let of_type = |kind: &'static str| {
        blocks.iter().filter(move |block| block.get("type").and_then(Value::as_str) == Some(kind))
    };
    let pictures = of_type("image").count();
    let texts: Vec<&str> =
        of_type("text").filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    let text = texts.join("\n");
    if pictures > 0 {
        return text
            .lines()
            .next()
            .filter(|line| !line.is_empty())
            .unwrap_or("a picture")
            .to_owned();
    }
    if let Some((added, removed)) = changed_lines(output) {
        return format!("+{added} −{removed}");
    }
    let count = text.lines().count();
    let only = text.trim();
    match (tool, count) {
        (_, 0) => "nothing".to_owned(),
        ("read" | "grep" | "find" | "ls", _) if !only.starts_with(['(', 'N']) => lines(count),
        (_, 1) => only.to_owned(),
        _ => lines(count),
    }
}

/// Returns how a refusal by a person is told, with the reason that the model was given.
#[must_use]
pub fn refused(hint: Option<&str>) -> String {
    match hint.and_then(|hint| hint.strip_prefix("their words: ")) {
        Some(reason) => format!("refused: {reason}"),
        None => "refused".to_owned(),
    }
}

/// Says how many lines, with the right word.
fn lines(n: usize) -> String {
    if n == 1 { "1 line".to_owned() } else { format!("{n} lines") }
}

/// Counts the lines of the patch that a change reports.
fn changed_lines(output: &Value) -> Option<(usize, usize)> {
    let patch = output.pointer("/details/patch").and_then(Value::as_str)?;
    let body = patch.lines().skip_while(|line| !line.starts_with("@@"));
    let (mut added, mut removed) = (0, 0);
    for line in body {
        added += usize::from(line.starts_with('+'));
        removed += usize::from(line.starts_with('-'));
    }
    Some((added, removed))
}

/// Returns the most telling line of a failure: how a program ended stands at the end of its output, why a
/// call never began at the beginning.
#[must_use]
pub fn failure(tool: &str, text: &str, effect: Option<&str>) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let ran = tool == "bash" && effect != Some("not_started");
    let line = if ran { lines.next_back() } else { lines.next() };
    line.unwrap_or("failed").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_came_of_a_call_takes_one_line() {
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        assert_eq!(result("read", &text("a\nb\n")), "2 lines");
        assert_eq!(result("read", &text("a")), "1 line");
        assert_eq!(result("grep", &text("No matches found")), "No matches found");
        assert_eq!(result("bash", &text("(no output)")), "(no output)");
        assert_eq!(result("bash", &text("a\nb")), "2 lines");
        assert_eq!(result("write", &text("wrote 5 bytes")), "wrote 5 bytes");
        assert_eq!(result("x", &json!(null)), "nothing");
        let mut edit = text("edited");
        edit["details"] = json!({"patch": "--- a\n+++ b\n@@ -1 +1,2 @@\n-x\n+y\n+z\n c\n"});
        assert_eq!(result("edit", &edit), "+2 −1");
        let picture =
            json!({"content": [{"type": "image"}, {"type": "text", "text": "read a.png"}]});
        assert_eq!(result("read", &picture), "read a.png");
        for (tool, text, effect, line) in [
            ("bash", "out\n\nexited with code 2\n", Some("completed"), "exited with code 2"),
            ("bash", "out\nended", None, "ended"),
            (
                "bash",
                "nobody is there to ask\ndo something else",
                Some("not_started"),
                "nobody is there to ask",
            ),
            ("read", "no such file\nhint", None, "no such file"),
        ] {
            assert_eq!(failure(tool, text, effect), line);
        }
    }
}
