//! `grep`: lines that match, below a directory or in a file.

use serde_json::{Map, Value, json};
use vocab::{
    limits::{GREP_CONTEXT_MAX, GREP_LIMIT_DEFAULT, GREP_LINE_CHARS_MAX},
    outcome::Outcome,
    schema::{Property, Schema},
    tool::{Execution, Reach, ToolSpec},
};

use super::{Ended, Job, arguments, ls};
use crate::{
    glob::Pattern,
    search::{self, Extent, Found, Meaning, Query, Role},
    truncate::{self, Bounds},
};

pub(super) fn spec() -> ToolSpec {
    let flag = |description| Schema::Flag { description };
    let maximum = i64::try_from(GREP_CONTEXT_MAX).unwrap_or(i64::MAX);
    let context =
        Schema::Integer { description: "Lines shown around each match", minimum: 0, maximum };
    ToolSpec {
        name: "grep",
        description: "Searches the contents of files for a regular expression, line by line. Answers are \
                      path:line: text, sorted by path; lines around a match are path-line- text. Files that \
                      .gitignore names and binary files are passed over; hidden files are searched.",
        parameters: Schema::Object(vec![
            Property::required("pattern", Schema::Text { description: "The regular expression" }),
            arguments::directory("The directory or file; the workspace's root when absent"),
            Property::optional(
                "glob",
                Schema::Text { description: "Only files that fit, such as *.rs or src/**/*.ts" },
            ),
            Property::optional("ignoreCase", flag("Take large and small letters as alike")),
            Property::optional("literal", flag("Take the pattern as plain text")),
            Property::optional("context", context),
            arguments::limit_of("How many matches at most; 100 when absent"),
        ]),
        reach: Reach::Reads,
        execution: Execution::Parallel,
        prepare: |mut arguments| {
            arguments::rename(&mut arguments, &["ignore_case", "-i"], "ignoreCase");
            arguments::rename(&mut arguments, &["query", "regex"], "pattern");
            arguments::with_directory(arguments)
        },
    }
}

pub(super) fn run(job: Job) -> Ended {
    job.stop.start()?;
    let arguments = &job.arguments;
    let meaning = Meaning {
        ignore_case: arguments::flag(arguments, "ignoreCase"),
        literal: arguments::flag(arguments, "literal"),
    };
    let mut query = Query::new(arguments::text(arguments, "pattern"), meaning)?;
    query.glob = arguments::optional(arguments, "glob").map(Pattern::new).transpose()?;
    query.context = arguments::limit(arguments, "context", 0);
    query.limit = arguments::limit(arguments, "limit", GREP_LIMIT_DEFAULT);
    let path = job.site.root.parse(arguments::optional(arguments, "path").unwrap_or("."))?;
    let found = search::run(&job.site.root, &path, &query, &job.stop)?;
    Ok(worded(&found, query.limit))
}

fn worded(found: &Found, limit: usize) -> Outcome {
    let mut lines = Vec::new();
    for file in &found.files {
        for line in &file.lines {
            let (path, number, text) = (&file.path, line.number, &line.text);
            lines.push(match line.role {
                Role::Match => format!("{path}:{number}: {text}"),
                Role::Before | Role::After => format!("{path}-{number}- {text}"),
            });
        }
    }
    let mut details = Map::new();
    details.insert("skipped".into(), search::skipped_json(&found.walk, found.skipped));
    if lines.is_empty() {
        let text = format!("No matches found{}", passed_over(found));
        return Outcome::text(text).with_details(Value::Object(details));
    }
    let joined = lines.join("\n");
    let (kept, facts) = truncate::head(&joined, Bounds::LIST);
    let mut notices = Vec::new();
    if found.extent == Extent::Wanted {
        let more = limit * 2;
        notices
            .push(format!("First {limit} matches, limit={more} shows more, or narrow the pattern"));
        details.insert("matchLimitReached".into(), json!(limit));
    }
    if found.extent == Extent::Held {
        let matches = found.matches;
        notices.push(format!(
            "The search ended after {matches} matches, whose lines are as many as may be held; narrow the \
             pattern, or look in fewer files"
        ));
        details.insert("bytesLimitReached".into(), json!(true));
    }
    if facts.cut() {
        notices.push(format!("Cut at {}", truncate::size(Bounds::LIST.bytes as u64)));
        details.insert("truncation".into(), facts.to_json());
    }
    if found.lines_cut {
        notices.push(format!(
            "Lines are cut at {GREP_LINE_CHARS_MAX} characters, read shows them whole"
        ));
        details.insert("linesTruncated".into(), json!(true));
    }
    ls::with_notices(kept, &notices, details)
}

/// Says what an empty answer did not look at.
fn passed_over(found: &Found) -> String {
    let counted = [
        (found.walk.skipped.ignored, "ignored"),
        (found.skipped.binary, "binary"),
        (found.skipped.too_large, "too large"),
        (found.skipped.unreadable + found.walk.skipped.unreadable, "unreadable"),
    ];
    let told: Vec<String> = counted
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
    if told.is_empty() { String::new() } else { format!(" (passed over: {})", told.join(", ")) }
}
