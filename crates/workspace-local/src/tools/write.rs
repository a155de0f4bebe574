//! `write`: a whole file, published at once.

use std::io::Read;

use confine::{OpenFile, Place, PublishOptions, lane::Guard};
use serde_json::json;
use sha2::{Digest, Sha256};
use vocab::{
    limits::WRITE_BYTES_MAX,
    outcome::{Effect, Failure, Outcome},
    path::WorkspacePath,
    schema::{Property, Schema},
    tool::{Execution, Reach, ToolSpec},
};

use super::{Ended, Job, arguments};
use crate::{
    hash,
    lanes::{self, Parents},
    stop::Stop,
    truncate,
};

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "write",
        description: "Writes a whole file. It is made with the directories above it, or replaced; a reader \
                      never sees half of it, and an existing file keeps its mode. To change a part of a \
                      file use edit.",
        parameters: Schema::Object(vec![
            arguments::path("The file, relative to the workspace or absolute"),
            Property::required(
                "content",
                Schema::Text { description: "All that the file shall hold" },
            ),
        ]),
        reach: Reach::Writes,
        execution: Execution::Parallel,
        prepare: |mut arguments| {
            arguments::rename(&mut arguments, &["contents", "text"], "content");
            arguments::with_path(arguments)
        },
    }
}

pub(super) fn run(mut job: Job) -> Ended {
    let content = arguments::text(&job.arguments, "content").as_bytes();
    if content.len() > WRITE_BYTES_MAX {
        let size = truncate::size(content.len() as u64);
        let message = format!("the content is {size}, more than a call may carry");
        return Err(Failure::not_started("too_large", message));
    }
    let Some(turn) = job.turn.take() else { return Err(no_turn()) };
    let path = arguments::text(&job.arguments, "path");
    let registered = lanes::register(&job.site, path, Parents::Made, (turn, &job.stop))?;
    let entered = registered.enter(&job.site, &job.stop)?;
    entered.act(|place, path, guard| {
        let ended = written(place, path, guard, (content, &job.stop));
        if ended.is_ok() {
            job.site.listener.published(path);
        }
        ended
    })
}

fn written(
    place: Place,
    path: &WorkspacePath,
    guard: Guard,
    (content, stop): (&[u8], &Stop),
) -> Ended {
    let before = match place.existing() {
        Some(_) => Some(hash_of(place.open()?, stop)?),
        None => None,
    };
    let published = place.publish(content, PublishOptions::default());
    drop(guard);
    let details = json!({
        "sha256_before": before,
        "sha256_after": hash::hex(&Sha256::digest(content)),
        "bytes": content.len(),
    });
    match published {
        Ok(_) => {
            let text = format!("Wrote {} bytes to {path}", content.len());
            Ok(Outcome::text(text).with_details(details))
        }
        Err(error) if error.effect() == Effect::Completed => {
            Ok(Outcome::failed(error.into()).with_details(details))
        }
        Err(error) => Err(error.into()),
    }
}

fn hash_of(opened: OpenFile, stop: &Stop) -> Result<String, Failure> {
    let mut file = opened.file;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        stop.check()?;
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hash::hex(&hasher.finalize())),
            Ok(count) => hasher.update(buffer.get(..count).unwrap_or_default()),
            Err(error) => return Err(Failure::not_started("io", error.to_string())),
        }
    }
}

/// A change without a turn cannot be put in order. Only a mistake of ours leads here.
pub(super) fn no_turn() -> Failure {
    Failure::not_started("internal", "the change has no place in the order of changes")
}
