//! `ls`: what is in a directory.

use confine::Kind;
use serde_json::{Map, Value, json};
use vocab::{
    limits::{LS_LIMIT_DEFAULT, SEARCH_BYTES_MAX},
    outcome::Outcome,
    path::{WorkspacePath, display_name},
    schema::Schema,
    tool::{Execution, Reach, ToolSpec},
};

use super::{Ended, Job, arguments};
use crate::{
    site::Site,
    truncate::{self, Bounds},
};

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "ls",
        description: "Lists a directory in alphabetical order, hidden names included. Directories end in \
                      a slash; links that lead nowhere are marked. Control characters in names are \
                      written as escapes, which every tool reads back.",
        parameters: Schema::Object(vec![
            arguments::directory("The directory; the workspace's root when absent"),
            arguments::limit_of("How many entries at most; 500 when absent"),
        ]),
        reach: Reach::Reads,
        execution: Execution::Parallel,
        prepare: arguments::with_directory,
    }
}

pub(super) fn run(job: Job) -> Ended {
    job.stop.start()?;
    let text = arguments::optional(&job.arguments, "path").unwrap_or(".");
    let limit = arguments::limit(&job.arguments, "limit", LS_LIMIT_DEFAULT);
    let path = job.site.root.parse(text)?;
    let mut entries: Vec<_> = job
        .site
        .root
        .read_dir(&path)?
        .into_iter()
        .map(|entry| (display_name(&entry.name), entry))
        .collect();
    entries.sort_by_cached_key(|(shown, entry)| (shown.to_lowercase(), entry.name.clone()));
    let total = entries.len();
    let mut lines = Vec::new();
    let mut bytes = 0;
    for (shown, entry) in entries.into_iter().take(limit) {
        job.stop.check()?;
        let mark = match entry.kind {
            Kind::Dir => "/",
            Kind::Link => link_mark(&job.site, &path, &entry.name),
            Kind::File | Kind::Other => "",
        };
        let line = format!("{shown}{mark}");
        bytes += size_of::<String>() + line.len();
        if SEARCH_BYTES_MAX < bytes {
            // Far more than is shown below.
            break;
        }
        lines.push(line);
    }
    Ok(worded(&lines, total, limit))
}

fn link_mark(site: &Site, dir: &WorkspacePath, name: &std::ffi::OsStr) -> &'static str {
    let Ok(path) = dir.child(name) else { return "" };
    match site.root.stat(&path) {
        Ok(meta) if meta.kind == Kind::Dir => "/",
        Ok(_) => "",
        Err(error) => match error.code() {
            "not_found" => " (broken link)",
            "path_outside_root" => " (link out of the workspace)",
            "protected" => " (link to what is closed to tools)",
            "too_many_links" => " (link in a circle)",
            _ => " (link that cannot be followed)",
        },
    }
}

fn worded(lines: &[String], total: usize, limit: usize) -> Outcome {
    if lines.is_empty() {
        return Outcome::text("(empty directory)");
    }
    let joined = lines.join("\n");
    let (kept, facts) = truncate::head(&joined, Bounds::LIST);
    let mut notices = Vec::new();
    let mut details = Map::new();
    if total > limit {
        notices.push(format!("{limit} of {total} entries, limit={} shows more", limit * 2));
        details.insert("entryLimitReached".into(), json!(limit));
    }
    if facts.cut() {
        notices.push(format!("cut at {}", truncate::size(Bounds::LIST.bytes as u64)));
        details.insert("truncation".into(), facts.to_json());
    }
    with_notices(kept, &notices, details)
}

/// Puts notices behind a text, and details beside it.
pub(super) fn with_notices(text: &str, notices: &[String], details: Map<String, Value>) -> Outcome {
    let outcome = if notices.is_empty() {
        Outcome::text(text)
    } else {
        Outcome::text(format!("{text}\n\n[{}]", notices.join(". ")))
    };
    if details.is_empty() { outcome } else { outcome.with_details(Value::Object(details)) }
}
