//! `find`: files and directories by their names.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use confine::{
    Kind, Root,
    traverse::{Entry, Flow, Report, Traverse},
};
use serde_json::{Map, Value, json};
use vocab::{
    limits::{FIND_LIMIT_DEFAULT, SEARCH_BYTES_MAX},
    outcome::{Effect, Failure, Outcome},
    path::WorkspacePath,
    schema::{Property, Schema},
    tool::{Execution, Reach, ToolSpec},
};

use super::{Ended, Job, arguments, ls};
use crate::{
    glob::Pattern,
    search::{self, Extent, Skipped},
    stop::Stop,
    truncate::{self, Bounds},
};

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "find",
        description: "Finds files and directories by a pattern: *.ts fits names at any depth, src/**/*.ts \
                      fits paths. Answers are sorted paths relative to the directory searched; directories \
                      end in a slash. What .gitignore names is passed over; hidden files are found.",
        parameters: Schema::Object(vec![
            Property::required("pattern", Schema::Text { description: "The pattern" }),
            arguments::directory("The directory; the workspace's root when absent"),
            arguments::limit_of("How many results at most; 1000 when absent"),
        ]),
        reach: Reach::Reads,
        execution: Execution::Parallel,
        prepare: |mut arguments| {
            arguments::rename(&mut arguments, &["glob", "name"], "pattern");
            arguments::with_directory(arguments)
        },
    }
}

pub(super) fn run(job: Job) -> Ended {
    job.stop.start()?;
    let pattern = Pattern::new(arguments::text(&job.arguments, "pattern"))?;
    let limit = arguments::limit(&job.arguments, "limit", FIND_LIMIT_DEFAULT);
    let text = arguments::optional(&job.arguments, "path").unwrap_or(".");
    let path = job.site.root.parse(text)?;
    if job.site.root.stat(&path)?.kind != Kind::Dir {
        return Err(Failure::not_started("not_a_directory", format!("{path}: not a directory")));
    }
    let found = walk(&job.site.root, &path, (&pattern, limit), &job.stop)?;
    Ok(worded(&found, limit))
}

/// What was found.
pub(crate) struct Found {
    pub(crate) paths: Vec<String>,
    pub(crate) extent: Extent,
    pub(crate) walk: Report,
}

/// Finds names below a directory, sorted.
///
/// # Errors
/// When the directory cannot be reached, or the search was stopped.
pub(crate) fn walk(
    root: &Root,
    start: &WorkspacePath,
    (pattern, limit): (&Pattern, usize),
    stop: &Stop,
) -> Result<Found, Failure> {
    let cancel = Arc::new(AtomicBool::new(false));
    let held = Arc::new(AtomicUsize::new(0));
    let traverse =
        Traverse { cancel: Arc::clone(&cancel), held: Arc::clone(&held), ..Traverse::default() };
    let held = &*held;
    let cost = |path: &String| size_of::<String>() + path.len();
    let visitor = || {
        let cancel = Arc::clone(&cancel);
        move |entry: &Entry<'_>| {
            if !stop.alive() {
                cancel.store(true, Ordering::Relaxed);
                return None;
            }
            let mark = if entry.kind == Kind::Dir { "/" } else { "" };
            let fits = pattern.fits(entry.path);
            let path = fits.then(|| format!("{}{mark}", search::shown(entry.path)))?;
            held.fetch_add(cost(&path), Ordering::Relaxed);
            Some(path)
        }
    };
    let (mut paths, mut bytes) = (Vec::new(), 0);
    let mut extent = Extent::All;
    let deliver = |path| {
        held.fetch_sub(cost(&path), Ordering::Relaxed);
        bytes += cost(&path);
        if paths.len() == limit {
            extent = Extent::Wanted;
            return Flow::Stop;
        }
        if SEARCH_BYTES_MAX < bytes {
            extent = Extent::Held;
            return Flow::Stop;
        }
        paths.push(path);
        Flow::Continue
    };
    let report = traverse.run(root, start, visitor, deliver)?;
    if !stop.alive() {
        return Err(stop.failure(Effect::NotStarted));
    }
    Ok(Found { paths, extent, walk: report })
}

fn worded(found: &Found, limit: usize) -> Outcome {
    let mut details = Map::new();
    details.insert("skipped".into(), search::skipped_json(&found.walk, Skipped::default()));
    if found.paths.is_empty() {
        let ignored = match found.walk.skipped.ignored {
            0 => String::new(),
            count => format!(" ({count} ignored entries were passed over)"),
        };
        let text = format!("No files found that fit the pattern{ignored}");
        return Outcome::text(text).with_details(Value::Object(details));
    }
    let joined = found.paths.join("\n");
    let (kept, facts) = truncate::head(&joined, Bounds::LIST);
    let mut notices = Vec::new();
    if found.extent == Extent::Wanted {
        notices.push(format!("First {limit} results, limit={} shows more", limit * 2));
        details.insert("resultLimitReached".into(), json!(limit));
    }
    if found.extent == Extent::Held {
        let count = found.paths.len();
        notices.push(format!(
            "The search ended after {count} results, as many as may be held; narrow the pattern"
        ));
        details.insert("bytesLimitReached".into(), json!(true));
    }
    if facts.cut() {
        notices.push(format!("Cut at {}", truncate::size(Bounds::LIST.bytes as u64)));
        details.insert("truncation".into(), facts.to_json());
    }
    ls::with_notices(kept, &notices, details)
}
