//! `read`: lines of a text file, or a picture.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
};

use base64::Engine;
use serde_json::json;
use vocab::{
    limits::{IMAGE_FILE_BYTES_MAX, TOOL_TEXT_BYTES_MAX},
    outcome::{Content, Effect, Failure, Outcome},
    path::WorkspacePath,
    schema::{Property, Schema},
    tool::{Execution, Reach, ToolSpec},
};

use super::{Ended, Job, arguments};
use crate::{
    artifact,
    image::{self, Picture},
    slice::{self, Slice, Wanted},
    truncate::{self, Bounds, Cut, Truncation},
};

pub(super) fn spec() -> ToolSpec {
    let line = |description| Schema::Integer { description, minimum: 0, maximum: i64::MAX };
    ToolSpec {
        name: "read",
        description: "Reads a file. Text comes as it is, without line numbers, up to 2000 lines or 50KB; \
                      offset and limit read further parts, and the end of the answer says how to go on. \
                      Pictures (PNG, JPEG, GIF, WebP, BMP) come as pictures. Names of the form \
                      stead-artifact://… give the full output of an earlier command.",
        parameters: Schema::Object(vec![
            arguments::path("The file, relative to the workspace or absolute"),
            Property::optional("offset", line("The first line wanted, counted from 1")),
            Property::optional("limit", line("How many lines are wanted at most")),
        ]),
        reach: Reach::Reads,
        execution: Execution::Parallel,
        prepare: arguments::with_path,
    }
}

/// A file to read from, with the words that name it.
struct Source {
    file: File,
    size: u64,
    name: String,
}

pub(super) fn run(job: Job) -> Ended {
    job.stop.start()?;
    let text = arguments::text(&job.arguments, "path");
    let mut source = open(&job, text)?;
    let mut first = [0_u8; 16];
    let count = read_some(&mut source.file, &mut first).map_err(|error| io(&source.name, &error))?;
    if let Some(media_type) = image::sniff(first.get(..count).unwrap_or_default()) {
        return picture(&job, source, media_type);
    }
    lines(&job, source)
}

fn open(job: &Job, text: &str) -> Result<Source, Failure> {
    if text.starts_with(artifact::SCHEME) {
        let (file, size) = job.site.artifacts.read(text)?;
        return Ok(Source { file, size, name: text.to_owned() });
    }
    let path: WorkspacePath = job.site.root.parse(text)?;
    let opened = job.site.root.open_file(&path).map_err(|error| {
        let failure = Failure::from(error);
        match failure.code.as_str() {
            "is_a_directory" => failure.with_hint("ls shows what is in a directory"),
            _ => failure,
        }
    })?;
    Ok(Source { file: opened.file, size: opened.meta.len, name: path.to_string() })
}

fn read_some(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0;
    while let Some(rest) = buffer.get_mut(count..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            read => count += read,
        }
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(count)
}

fn io(name: &str, error: &std::io::Error) -> Failure {
    Failure::not_started("io", format!("{name}: {error}"))
}

fn picture(job: &Job, source: Source, media_type: &'static str) -> Ended {
    let Source { file, size, name } = source;
    if size > IMAGE_FILE_BYTES_MAX {
        let message = format!("{name} is a picture of {}, too large to show", truncate::size(size));
        return Err(Failure::not_started("too_large", message));
    }
    let mut bytes = Vec::new();
    file.take(IMAGE_FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| io(&name, &error))?;
    job.stop.check()?;
    match image::prepare(media_type, bytes, job.envelope.image_resize) {
        Picture::Omitted { reason } => {
            let text = format!("{name} is a picture [{media_type}] that cannot be shown: {reason}");
            Ok(Outcome::text(text).with_details(json!({ "imageOmitted": reason })))
        }
        Picture::Ready { media_type, bytes, shrunk } => {
            let mut text = format!("Picture {name} [{media_type}]");
            if let Some(shrunk) = shrunk {
                text.push('\n');
                text.push_str(&shrunk.note());
            }
            let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
            let mut outcome = Outcome::text(text);
            outcome.content.push(Content::Image { media_type: media_type.into(), data });
            Ok(outcome)
        }
    }
}

fn lines(job: &Job, mut source: Source) -> Ended {
    let first = arguments::count(&job.arguments, "offset").unwrap_or(1).max(1);
    // A limit of none is no wish for nothing; models write it for "no limit".
    let limit = arguments::count(&job.arguments, "limit").filter(|limit| *limit > 0);
    let wanted = Wanted { first, limit, bounds: Bounds::TOOL };
    let stop = &job.stop;
    let found = slice::lines(&mut source.file, wanted, &|| stop.alive());
    let found = match found {
        Ok(found) => found,
        Err(_) if !stop.alive() => return Err(stop.failure(Effect::NotStarted)),
        Err(error) => return Err(io(&source.name, &error)),
    };
    if found.binary {
        return Err(binary(job, &source));
    }
    if found.lines == 0 && found.long_line.is_none() && first > 1 {
        let total = found.total_lines.unwrap_or(0);
        let message = format!("{}: line {first} is beyond the end, it has {total} lines", source.name);
        return Err(Failure::not_started("offset_beyond_end", message));
    }
    Ok(worded(job, &source, wanted, found))
}

fn binary(job: &Job, source: &Source) -> Failure {
    let message = format!("{} is no text ({})", source.name, truncate::size(source.size));
    let hint = if job.site.programs.is_some() {
        "look at it with bash, for example with file or od -c"
    } else {
        "only text and pictures can be read here"
    };
    Failure::not_started("binary_file", message).with_hint(hint)
}

fn worded(job: &Job, source: &Source, wanted: Wanted, found: Slice) -> Outcome {
    let first = wanted.first;
    let last = first + found.lines.saturating_sub(1);
    let total = match found.total_lines {
        Some(total) => total.to_string(),
        None => format!("many in {}", truncate::size(source.size)),
    };
    let limit = truncate::size(TOOL_TEXT_BYTES_MAX as u64);
    let next = last + 1;
    let notice = match (found.long_line, found.cut) {
        (Some(size), _) => Some(long_line(job, source, first, size)),
        (None, Some(Cut::Lines)) => {
            Some(format!("[Lines {first}-{last} of {total}. Read on with offset={next}.]"))
        }
        (None, Some(Cut::Bytes)) => Some(format!(
            "[Lines {first}-{last} of {total} ({limit} limit). Read on with offset={next}.]"
        )),
        (None, None) => match found.total_lines {
            Some(total) if total > last && found.lines > 0 => {
                Some(format!("[{} more lines. Read on with offset={next}.]", total - last))
            }
            None => Some(format!("[More lines follow. Read on with offset={next}.]")),
            Some(_) => None,
        },
    };
    let facts = found.cut.map(|cut| truncation(source, &found, cut));
    let text = match notice {
        Some(notice) if found.text.is_empty() => notice,
        Some(notice) => format!("{}\n\n{notice}", found.text),
        None => found.text,
    };
    let outcome = Outcome::text(text);
    match facts {
        Some(facts) => outcome.with_details(json!({ "truncation": facts.to_json() })),
        None => outcome,
    }
}

fn long_line(job: &Job, source: &Source, line: u64, size: u64) -> String {
    let limit = truncate::size(TOOL_TEXT_BYTES_MAX as u64);
    let size = truncate::size(size);
    let way = if job.site.programs.is_some() {
        format!("Use bash: sed -n '{line}p' {} | head -c {TOOL_TEXT_BYTES_MAX}", source.name)
    } else {
        "Search for a part of it with grep".to_owned()
    };
    format!("[Line {line} is {size} long, more than the {limit} limit. {way}]")
}

fn truncation(source: &Source, found: &Slice, cut: Cut) -> Truncation {
    Truncation {
        by: Some(cut),
        total_lines: found.total_lines.unwrap_or(0),
        total_bytes: source.size,
        output_lines: found.lines,
        output_bytes: found.text.len() as u64,
        last_line_partial: false,
        first_line_exceeds: found.long_line.is_some(),
        bounds: Bounds::TOOL,
    }
}
