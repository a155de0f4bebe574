//! The system text an agent starts from: who it is, what it has, how to use it, where it is.
//!
//! No date and no clock, so that a provider's cache holds from day to day. What a project says about
//! itself stands below, and the session has read it.

use vocab::tool::Reach;

use crate::toolbelt::Kit;

/// Writes the system text for these tools, and for a workspace at `root` if there is one.
#[must_use]
pub fn system_text(kit: &Kit, root: Option<&str>) -> String {
    let mut text = String::from(
        "You are a coding agent. You work on a developer's machine on their behalf: you read their \
         project, change it, run what is needed, and report back briefly and truthfully.\n",
    );
    if !kit.tools().is_empty() {
        text.push_str("\nYour tools:\n");
        for tool in kit.tools() {
            let first = tool.spec.description.split_terminator(['\n']).next().unwrap_or_default();
            text.push_str(&format!("- {}: {first}\n", tool.spec.name));
        }
    }
    text.push_str("\nHow to work:\n");
    for line in guidelines(kit) {
        text.push_str(&format!("- {line}\n"));
    }
    if let Some(root) = root {
        text.push_str(&format!("\nThe workspace is {root}; relative paths start there.\n"));
    }
    text
}

fn guidelines(kit: &Kit) -> Vec<String> {
    let has = |name: &str| kit.find(name).is_some();
    let mut lines = Vec::new();
    let search: Vec<&str> = ["grep", "find", "ls"].into_iter().filter(|name| has(name)).collect();
    if !search.is_empty() && has("bash") {
        lines.push(format!(
            "To look around, take {} rather than bash: they are faster and skip what git ignores.",
            search.join(", ")
        ));
    }
    if has("read") && has("edit") {
        lines.push("Read a file before you edit it.".to_owned());
    }
    if has("edit") && has("write") {
        lines.push(
            "Change files with edit; take write for new files and for whole rewrites.".to_owned(),
        );
    }
    if kit.tools().iter().any(|tool| tool.spec.reach >= Reach::Writes) {
        lines.push(
            "A failed call says whether anything changed. When it cannot tell, look before you \
             try again."
                .to_owned(),
        );
        lines.push(
            "Others work in the same files; what you find there now counts, not what you remember."
                .to_owned(),
        );
    }
    lines.push("Calls that do not depend on each other belong in one answer.".to_owned());
    lines.push("Be brief. Name files by their paths.".to_owned());
    lines
}
