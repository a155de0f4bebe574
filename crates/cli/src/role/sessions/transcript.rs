//! A session as a page of text: who said what, what was called, what came of it.
//!
//! Pure: the messages come as the wire tells them.

use api::session::SessionDetail;
use serde_json::Value;
use stdx::clock::Timestamp;
use tui::call;
use vocab::live::state_word;

use crate::print::{Look, Style, clean, markdown::Markdown, words};

/// Lines of a tool's text that a page shows; all of it is in the JSON.
const OUTPUT_LINES_SHOWN: usize = 12;

/// Draws the page.
pub(crate) fn render(detail: &SessionDetail, messages: &[Value], look: Look) -> String {
    let (row, style) = (&detail.row, look.out.style);
    let mut out = format!("{}\n", style.bold(&clean::clean_line(&row.title)));
    let state = detail.run.as_ref().map_or("idle", |run| state_word(&run.state));
    let facts = [
        row.id.clone(),
        row.model.clone().unwrap_or_else(|| "no model yet".to_owned()),
        format!("mode {}", row.mode),
        tui::list::session_state(state),
        format!("{} tokens", words::count(row.usage.total())),
        row.cwd.clone(),
    ];
    out.push_str(&style.dim(&clean::clean_line(&facts.join(" · "))));
    out.push('\n');
    for message in messages {
        let user = message.get("role").and_then(Value::as_str) == Some("user");
        let at = message.pointer("/metadata/createdAt").and_then(Value::as_str).unwrap_or_default();
        let at = Timestamp::parse(at).map_or_else(|| at.to_owned(), Timestamp::local);
        let who = style.bold(if user { "you" } else { "agent" });
        out.push_str(&format!("\n{who}  {}\n\n", style.dim(&clean::clean_line(&at))));
        let parts = message.get("parts").and_then(Value::as_array);
        let parts = parts.map_or(&[][..], Vec::as_slice);
        for part in parts {
            draw(part, parts, look, &mut out);
        }
    }
    out
}

fn draw(part: &Value, parts: &[Value], look: Look, out: &mut String) {
    let style = look.out.style;
    let field = |name: &str| part.get(name).and_then(Value::as_str).unwrap_or_default();
    match field("type") {
        "text" => {
            let text = field("text");
            if look.out.terminal {
                let mut markdown = Markdown::new(style);
                out.push_str(&markdown.feed(text));
                out.push_str(&markdown.finish());
            } else {
                out.push_str(text);
            }
            out.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        }
        "file" => out.push_str(&format!("[{}]\n\n", clean::clean_line(field("mediaType")))),
        "data-stead-note" => {
            let text = part.pointer("/data/text").and_then(Value::as_str).unwrap_or_default();
            out.push_str(&format!("{}\n\n", style.dim(&format!("· {}", clean::clean_line(text)))));
        }
        kind => {
            if let Some(tool) = kind.strip_prefix("tool-") {
                draw_call(tool, part, parts, style, out);
            }
        }
    }
}

fn draw_call(tool: &str, part: &Value, parts: &[Value], style: Style, out: &mut String) {
    let subject = call::subject(tool, part.get("input").unwrap_or(&Value::Null));
    let (tool_shown, subject) = (clean::clean_line(tool), clean::clean_line(&subject));
    out.push_str(&format!("● {}  {subject}\n", style.bold(&tool_shown)));
    let text = match part.get("state").and_then(Value::as_str).unwrap_or_default() {
        "output-available" => {
            let content = part.pointer("/output/content").and_then(Value::as_array);
            let texts =
                content.into_iter().flatten().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        "output-error" => {
            part.get("errorText").and_then(Value::as_str).unwrap_or("failed").to_owned()
        }
        "output-denied" => call::refused(hint_of(part, parts)),
        "approval-requested" => "waits for an answer".to_owned(),
        _ => "not ended".to_owned(),
    };
    let text = clean::clean(&text);
    let count = text.lines().count();
    for line in text.lines().take(OUTPUT_LINES_SHOWN) {
        out.push_str(&format!("{}\n", style.dim(&format!("  │ {line}"))));
    }
    if count > OUTPUT_LINES_SHOWN {
        let more = words::lines(count - OUTPUT_LINES_SHOWN);
        out.push_str(&format!("{}\n", style.dim(&format!("  … {more} more"))));
    }
    out.push('\n');
}

/// Returns what a failed call was told to do: its outcome stands beside it among the parts.
fn hint_of<'a>(part: &Value, parts: &'a [Value]) -> Option<&'a str> {
    let id = part.get("toolCallId")?;
    let outcome = parts.iter().find(|other| other.pointer("/data/callId") == Some(id))?;
    outcome.pointer("/data/hint")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::Face;
    use serde_json::json;

    #[test]
    fn a_page_shows_who_said_what_and_what_came_of_it() {
        let detail: SessionDetail = serde_json::from_value(json!({
            "id": "ses_1", "title": "totals", "workspace": "w", "cwd": "/w", "mode": "auto",
            "model": "demo/fix", "state": "finished", "messages": 2, "usage": {"input": 7},
            "created_at": "", "updated_at": "", "run": null,
        }))
        .unwrap();
        let long: String = (0..14).map(|n| format!("{n}\n")).collect();
        let messages = [
            json!({"role": "user", "metadata": {"createdAt": "T1"}, "parts": [{"type": "text", "text": "fix\u{1b}[2J it"}]}),
            json!({"role": "assistant", "parts": [
                {"type": "step-start"},
                {"type": "text", "text": "**Looking.**"},
                {"type": "tool-read", "input": {"path": "a.txt"}, "state": "output-available",
                 "output": {"content": [{"type": "text", "text": long}]}},
                {"type": "tool-bash", "input": {"command": "false"}, "state": "output-error", "errorText": "exited with code 1"},
                {"type": "tool-bash", "toolCallId": "c3", "input": {"command": "rm x"}, "state": "output-denied"},
                {"type": "data-stead-outcome", "data": {"callId": "c3", "hint": "their words: keep it"}},
            ]}),
        ];
        let look = Look {
            out: Face { terminal: true, style: Style(false) },
            err: Face::default(),
            width: 80,
        };
        let text = render(&detail, &messages, look);
        assert!(text.starts_with("totals\nses_1 · demo/fix · mode auto · done · 7 tokens · /w\n\nyou  T1\n\nfix␛[2J it\n\n"), "{text}");
        assert!(text.contains("agent  \n\nLooking.\n\n● read  a.txt\n  │ 0\n"), "{text}");
        assert!(text.contains("● bash  rm x\n  │ refused: keep it\n"), "{text}");
        assert!(
            text.contains("  │ 11\n  … 2 lines more\n\n● bash  false\n  │ exited with code 1\n"),
            "{text}"
        );
    }
}
