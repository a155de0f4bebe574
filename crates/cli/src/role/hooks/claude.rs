//! The hooks of Claude Code, in its `settings.json`.
//!
//! The command does nothing outside a job, where it starts nothing but the shell that reads it.

use serde_json::{Value, json};
use vocab::outcome::Failure;

use super::{
    Presence, Wish, splice,
    splice::{Inside, Node},
};

/// The events that tell how it is. Each was seen to be called by the real program.
const EVENTS: [&str; 8] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "Notification",
    "Stop",
    "SessionEnd",
];

/// What every command of ours holds, wherever the program is.
const OURS: &str = " report --from-hook claude-code";

fn command(program: &str) -> String {
    let quoted = program.replace('\'', "'\\''");
    format!("[ -z \"$STEAD_JOB_SOCK\" ] || '{quoted}'{OURS}")
}

/// Says what is there.
pub(super) fn presence(text: &str, program: &str) -> Result<Presence, String> {
    let root = parse(text)?;
    let (command, mut n_ours, mut n_right) = (command(program), 0, 0);
    for event in EVENTS {
        let commands = ours(&root, text, event);
        n_ours += usize::from(!commands.is_empty());
        n_right += usize::from(commands.iter().any(|it| decoded(text, &it.command) == command));
    }
    Ok(match (n_ours, n_right) {
        (0, _) => Presence::Absent,
        (_, n_right) if n_right == EVENTS.len() => Presence::Installed,
        _ => Presence::Partial,
    })
}

/// Returns the text as it should be.
pub(super) fn change(text: &str, program: &str, wish: Wish) -> Result<String, Failure> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let malformed = |why: String| {
        Failure::not_started(
            "hooks_malformed",
            format!("cannot be understood and is left alone: {why}"),
        )
    };
    parse(text).map_err(malformed)?;
    let changed = match wish {
        Wish::Install => install(text.to_owned(), &command(program)),
        Wish::Remove => remove(text.to_owned()),
    };
    changed.ok_or_else(|| malformed("its hooks are of another shape".to_owned()))
}

fn install(mut text: String, command: &str) -> Option<String> {
    let group = json!({"hooks": [{"type": "command", "command": command}]});
    for event in EVENTS {
        let root = Node::of(&text)?;
        if let Some(found) = ours(&root, &text, event).first() {
            if decoded(&text, &found.command) != command {
                text = splice::replace(&text, &found.command, &json!(command));
            }
            continue;
        }
        text = match root.member("hooks") {
            None => splice::add(&text, &root, Some("hooks"), &json!({event: [group]})),
            Some(hooks) => match hooks.member(event) {
                None => splice::add(&text, hooks, Some(event), &json!([group])),
                Some(groups) => splice::add(&text, groups, None, &group),
            },
        };
    }
    Some(text)
}

fn remove(mut text: String) -> Option<String> {
    loop {
        let root = Node::of(&text)?;
        let hooks = root.member("hooks");
        let events = hooks.and_then(names).unwrap_or_default();
        let found = events
            .iter()
            .find_map(|event| ours(&root, &text, event).into_iter().next().map(|it| (event, it)));
        let Some((event, found)) = found else { return Some(text) };
        let hooks = hooks?;
        let groups = hooks.member(event)?;
        let group = groups.elements().nth(found.group)?;
        let handlers = group.member("hooks")?;
        // What holds nothing any more goes as well.
        text = if 1 < handlers.elements().count() {
            splice::remove(&text, handlers, found.handler)
        } else if 1 < groups.elements().count() {
            splice::remove(&text, groups, found.group)
        } else if 1 < events.len() {
            splice::remove(&text, hooks, events.iter().position(|name| name == event)?)
        } else {
            splice::remove(&text, &root, names(&root)?.iter().position(|name| name == "hooks")?)
        };
    }
}

/// A command of ours.
struct Found {
    group: usize,
    handler: usize,
    command: Node,
}

fn ours(root: &Node, text: &str, event: &str) -> Vec<Found> {
    let groups = root.member("hooks").and_then(|hooks| hooks.member(event));
    let mut found = Vec::new();
    for (group, node) in groups.into_iter().flat_map(Node::elements).enumerate() {
        let handlers = node.member("hooks").into_iter().flat_map(Node::elements);
        for (handler, node) in handlers.enumerate() {
            if let Some(command) =
                node.member("command").filter(|it| decoded(text, it).ends_with(OURS))
            {
                found.push(Found { group, handler, command: command.clone() });
            }
        }
    }
    found
}

fn decoded(text: &str, node: &Node) -> String {
    serde_json::from_str(&text[node.span.clone()]).unwrap_or_default()
}

fn names(object: &Node) -> Option<Vec<String>> {
    let Inside::Object(members) = &object.inside else { return None };
    Some(members.iter().map(|(name, _)| name.clone()).collect())
}

/// Checks that the text is JSON of the shape that hooks have, and finds its places.
fn parse(text: &str) -> Result<Node, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let root = value.as_object().ok_or("it is no object")?;
    if let Some(hooks) = root.get("hooks") {
        let hooks = hooks.as_object().ok_or("\"hooks\" is no object")?;
        for (event, groups) in hooks {
            let groups =
                groups.as_array().ok_or_else(|| format!("\"hooks.{event}\" is no list"))?;
            let is_group = |group: &Value| group.get("hooks").is_some_and(Value::is_array);
            if !groups.iter().all(is_group) {
                return Err(format!("an entry of \"hooks.{event}\" has no list \"hooks\""));
            }
        }
    }
    Node::of(text).ok_or_else(|| "its places cannot be found".to_owned())
}

#[cfg(test)]
mod tests;
