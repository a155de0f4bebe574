//! Asking the person at the terminal whether a call may run.
//!
//! Everything that will run is shown, of a change its first lines, and nothing that was typed before the
//! question answers it.

use api::{
    agent::{AnswerDone, AnswerRequest},
    client::{Client, ClientError, Target},
    routes::Endpoint,
};
use serde_json::Value;
use tokio::sync::oneshot;
use tui::change::{self, Change};
use vocab::{
    message::{Answer, Block},
    outcome::Failure,
};

use crate::print::{self, Style, clean, words};

/// What the person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// It may run.
    Yes,
    /// It may not, with what to tell the model.
    No(Option<String>),
    /// Nothing that can be understood.
    Unclear,
    /// Standard input ended.
    Nobody,
}

impl Said {
    /// Returns it as an answer; none where there is none.
    pub(crate) fn answer(&self) -> Option<Answer> {
        match self {
            Self::Yes => Some(Answer { approved: true, reason: None }),
            Self::No(reason) => Some(Answer { approved: false, reason: reason.clone() }),
            Self::Unclear | Self::Nobody => None,
        }
    }
}

/// Asks until there is an answer.
pub(crate) async fn ask(block: &Block, style: Style) -> Said {
    print::err(&question(block, style));
    loop {
        discard_typed();
        print::err("Allow it? [y]es, [n]o, or no with a reason (n REASON): ");
        let said = understand(read_line().await.as_deref());
        if said != Said::Unclear {
            return said;
        }
    }
}

/// Asks whether something is to be done; only a yes is one.
pub(crate) async fn agrees(question: &str) -> bool {
    matches!(word(question).await.as_str(), "y" | "yes")
}

/// Asks for a word, which is returned in small letters; empty where there is none.
pub(crate) async fn word(question: &str) -> String {
    discard_typed();
    print::err(question);
    read_line().await.unwrap_or_default().trim().to_lowercase()
}

/// Forgets what was typed before a question was there: it is no answer to it.
fn discard_typed() {
    rustix::termios::tcflush(rustix::stdio::stdin(), rustix::termios::QueueSelector::IFlush).ok();
}

/// Sends the answer; false when somebody else was faster.
///
/// # Errors
/// When it cannot be stored.
pub(crate) async fn answer(client: &Client, request: &AnswerRequest) -> Result<bool, Failure> {
    let sent =
        client.json::<_, AnswerDone>(Endpoint::AgentAnswer, Target::default(), Some(request)).await;
    match sent {
        Ok(_) => Ok(true),
        Err(ClientError::Problem(problem)) if problem.code == "already_answered" => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Understands an answer.
pub(crate) fn understand(line: Option<&str>) -> Said {
    let Some(line) = line else { return Said::Nobody };
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word.trim_end_matches([',', ':', '.']).to_lowercase().as_str() {
        "y" | "yes" if rest.is_empty() => Said::Yes,
        "n" | "no" => Said::No(Some(rest.trim().to_owned()).filter(|reason| !reason.is_empty())),
        _ => Said::Unclear,
    }
}

/// Reads a line on a thread of its own, so that Ctrl-C is heard meanwhile.
async fn read_line() -> Option<String> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        sender.send(read.ok().filter(|n| *n > 0).map(|_| line)).ok();
    });
    receiver.await.ok().flatten()
}

/// Words the question: everything that will run.
pub(crate) fn question(block: &Block, style: Style) -> String {
    let tool = style.bold(&clean::clean_line(&block.tool));
    if let Some(change) = change::of(&block.tool, &block.input) {
        return format!("\n{tool} {}", patch(&change, style));
    }
    let mut out = format!("\n{tool} wants to run:\n");
    let Value::Object(fields) = &block.input else {
        indent(&mut out, &pretty(&block.input));
        return out;
    };
    for (name, value) in fields {
        let text = pretty(value);
        let name = clean::clean_line(name);
        if text.contains('\n') {
            out.push_str(&format!("  {}\n", style.dim(&format!("{name}:"))));
            indent(&mut out, &text);
        } else {
            out.push_str(&format!(
                "  {} {}\n",
                style.dim(&format!("{name}:")),
                clean::clean(&text)
            ));
        }
    }
    out
}

fn patch(change: &Change, style: Style) -> String {
    let mut out = format!("{}\n", clean::clean_line(&change.head));
    for line in &change.lines {
        let line = clean::clean(line).replace('\n', " ");
        let drawn = match line.chars().next() {
            Some('+') => style.green(&line),
            Some('-') => style.red(&line),
            _ => style.dim(&line),
        };
        out.push_str(&format!("    {drawn}\n"));
    }
    if 0 < change.n_more {
        let more = words::lines(change.n_more);
        out.push_str(&format!("    {}\n", style.red(&format!("… {more} more are not shown"))));
    }
    out
}

fn pretty(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string()),
    }
}

fn indent(out: &mut String, text: &str) {
    for line in clean::clean(text).lines() {
        out.push_str(&format!("    {line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clear_words_are_answers() {
        for (line, said) in [
            (Some("y\n"), Said::Yes),
            (Some("YES"), Said::Yes),
            (Some("n\n"), Said::No(None)),
            (Some("no, use npm instead\n"), Said::No(Some("use npm instead".into()))),
            (Some("\n"), Said::Unclear),
            (Some("yes but wait"), Said::Unclear),
            (Some("yolo"), Said::Unclear),
            (None, Said::Nobody),
        ] {
            assert_eq!(understand(line), said, "{line:?}");
        }
    }

    #[test]
    fn a_change_is_asked_about_as_a_short_patch() {
        let question = |tool: &str, input: serde_json::Value| {
            let block: Block = serde_json::from_value(serde_json::json!({
                "id": format!("blk_{}", "0".repeat(32)), "call": "c1", "tool": tool, "asked_at": 0,
                "input": input,
            }))
            .unwrap();
            question(&block, Style(false))
        };
        let edits = serde_json::json!([{"oldText": "a\nb", "newText": "a\nc\x1b[2J"}]);
        assert_eq!(
            question("edit", serde_json::json!({"edits": edits, "path": "src/a.rs"})),
            "\nedit wants to change src/a.rs:\n    - b\n    + c␛[2J\n"
        );
        let long = serde_json::json!({"path": "n", "content": "l\n".repeat(403)});
        let long = question("write", long);
        assert!(long.ends_with("    … 3 lines more are not shown\n"), "{long}");
    }

    #[test]
    fn a_question_shows_everything_and_hides_nothing() {
        let block: Block = serde_json::from_value(serde_json::json!({
            "id": format!("blk_{}", "0".repeat(32)), "call": "c1", "tool": "bash", "asked_at": 0,
            "input": {"command": "rm -rf x\r\u{1b}[2K\u{1b}[1Aecho ok\nmore", "timeout": 5},
        }))
        .unwrap();
        let shown = question(&block, Style(false));
        assert_eq!(
            shown,
            "\nbash wants to run:\n  command:\n    rm -rf x␛[2K␛[1Aecho ok\n    more\n  timeout: 5\n"
        );
    }
}
