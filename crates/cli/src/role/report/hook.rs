//! What agents tell their hooks, in the words of a report.
//!
//! Only events stand here whose meaning is sure. Every other one says nothing.

use std::{
    ffi::OsString,
    io::{self, Read as _},
};

use pty::hello::Said;
use serde::Deserialize;
use vocab::limits::HOOK_EVENT_BYTES_MAX;

use crate::print;

/// What a hook was told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) state: Said,
    pub(super) message: Option<String>,
    pub(super) source: String,
}

/// An event of Claude Code, as its hooks get it on standard input. What else it holds is not read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClaudeEvent {
    hook_event_name: String,
    tool_name: Option<String>,
    notification_type: Option<String>,
    message: Option<String>,
    source: Option<String>,
}

/// An event of Codex, as its notify program gets it in the last word.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CodexEvent {
    r#type: String,
}

/// Reads what the agent tells.
pub(super) fn read(words: &[OsString]) -> Option<Told> {
    let (agent, rest) = words.split_first()?;
    match agent.to_str()? {
        "claude-code" if !print::stdin_is_terminal() => {
            let mut stdin = io::stdin().lock();
            let event = serde_json::from_reader((&mut stdin).take(HOOK_EVENT_BYTES_MAX));
            // Whoever writes is read to the end, so that it does not fail for want of a reader.
            io::copy(&mut stdin, &mut io::sink()).ok();
            claude(event.ok()?)
        }
        "codex" => codex(&serde_json::from_str(rest.last()?.to_str()?).ok()?),
        _ => None,
    }
}

fn claude(event: ClaudeEvent) -> Option<Told> {
    let ClaudeEvent { hook_event_name, tool_name, notification_type, message, source } = event;
    let (state, message) = match hook_event_name.as_str() {
        // A conversation that is made shorter in the middle of a turn begins anew as well.
        "SessionStart" if source.as_deref() != Some("compact") => (Said::Idle, None),
        "UserPromptSubmit" | "PreToolUse" | "PostToolUse" => (Said::Working, None),
        "PermissionRequest" => {
            let waiting_for = match tool_name.as_deref() {
                // Its questions are told as if they were for a permission.
                Some("AskUserQuestion") => "an answer".to_owned(),
                tool => format!("a permission for {}", tool.unwrap_or("a tool")),
            };
            (Said::Blocked, Some(waiting_for))
        }
        "Notification" => match notification_type.as_deref() {
            Some("permission_prompt") => (Said::Blocked, message),
            Some("idle_prompt") => (Said::Idle, None),
            _ => return None,
        },
        "Stop" | "SessionEnd" => (Said::Idle, None),
        _ => return None,
    };
    Some(Told { state, message, source: "claude-code".to_owned() })
}

fn codex(event: &CodexEvent) -> Option<Told> {
    let is_end = event.r#type == "agent-turn-complete";
    is_end.then(|| Told { state: Said::Idle, message: None, source: "codex".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Option<(Said, Option<&str>)>) {
        let told = claude(serde_json::from_str(json).unwrap());
        let told = told.as_ref().map(|told| (told.state, told.message.as_deref()));
        assert_eq!(told, expected, "{json}");
    }

    #[test]
    fn events_are_mapped() {
        let event = |name: &str, more: &str| format!("{{\"hook_event_name\":\"{name}\"{more}}}");
        check(
            &event("UserPromptSubmit", ",\"prompt\":\"x\",\"odd\":[1]"),
            Some((Said::Working, None)),
        );
        let asked = event(
            "PermissionRequest",
            ",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"x\"}",
        );
        check(&asked, Some((Said::Blocked, Some("a permission for Bash"))));
        let asked = event("PermissionRequest", ",\"tool_name\":\"AskUserQuestion\"");
        check(&asked, Some((Said::Blocked, Some("an answer"))));
        check(&event("Stop", ""), Some((Said::Idle, None)));
        check(&event("SessionStart", ",\"source\":\"startup\""), Some((Said::Idle, None)));
        check(&event("SessionStart", ",\"source\":\"compact\""), None);
        let idle = ",\"notification_type\":\"idle_prompt\",\"message\":\"waiting\"";
        check(&event("Notification", idle), Some((Said::Idle, None)));
        let ask = ",\"notification_type\":\"permission_prompt\",\"message\":\"May I?\"";
        check(&event("Notification", ask), Some((Said::Blocked, Some("May I?"))));
        check(&event("Notification", ",\"notification_type\":\"auth_success\""), None);
        check(&event("SubagentStop", ""), None);
        check("{}", None);
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let end = "{\"type\":\"agent-turn-complete\",\"turn-id\":\"1\"}";
        assert_eq!(read(&words(&["codex", end])).map(|told| told.state), Some(Said::Idle));
        for bad in
            [&["codex"][..], &["codex", "{"], &["codex", "{\"type\":\"x\"}"], &["other"], &[]]
        {
            assert_eq!(read(&words(bad)), None, "{bad:?}");
        }
    }
}
