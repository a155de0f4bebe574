//! The seam's operations over a map of files.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use futures_util::{
    StreamExt, TryStreamExt,
    future::{BoxFuture, ready},
    stream::{self, BoxStream},
};
use sha2::{Digest, Sha256};
use vocab::{
    ids::{RunId, WorkspaceId},
    outcome::{Failure, Outcome},
};

use super::{Fake, State, glob, missing, tree};
use crate::{
    call::{Call, CallContext},
    catalog::Catalog,
    primitive::{
        Access, Answer, DirEntry, Download, Exec, HeldUpload, Kind, LineMatch, Request, Shape,
        Stat, Upload, Wanted, Written,
    },
    source::{ToolSource, Workspace},
};

impl Fake {
    fn answer<T: Send + 'static>(
        &self,
        at: &Request,
        act: impl FnOnce(&mut State, String) -> Answer<T>,
    ) -> BoxFuture<'static, Answer<T>> {
        let mut state = self.state();
        let answer = state.resolve(at).and_then(|path| act(&mut state, path));
        Box::pin(ready(answer))
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn put(state: &mut State, path: String, content: Bytes) -> Answer<Written> {
    state.place(&path)?;
    let (size, sha256) = (content.len() as u64, sha256(&content));
    let created = state.files.insert(path, content).is_none();
    Ok(Written { size, sha256, created })
}

fn admit(state: &State, call: &Call) -> Answer<&'static str> {
    let stale = |message: &str| Err(Failure::not_started("stale_generation", message));
    if call.expected_generation != state.catalog.generation {
        return stale("the call was made for another generation");
    }
    let Some(spec) = state.catalog.find(&call.tool) else {
        let message = format!("this workspace has no tool {:?}", call.tool);
        return Err(Failure::not_started("unknown_tool", message));
    };
    if call.schema_hash != spec.schema_hash() {
        return stale("the call was made for another schema");
    }
    spec.validate(&call.arguments).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::not_started("invalid_arguments", lines.join("\n"))
    })?;
    Ok(spec.name)
}

/// Returns the files that a search below a path looks at, with the names it shows.
fn searched(state: &State, path: &str) -> Answer<Vec<(String, Bytes)>> {
    if let Some(content) = state.files.get(path) {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        return Ok(vec![(name.to_owned(), content.clone())]);
    }
    state.dir(path)?;
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let files = state.below(path).into_iter().filter(|(_, dir)| !dir);
    files
        .map(|(name, _)| Ok((name.clone(), state.file(&format!("{prefix}{name}"))?.clone())))
        .collect()
}

impl ToolSource for Fake {
    fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.state().catalog)
    }

    fn call(&self, call: Call, context: CallContext) -> BoxFuture<'static, Outcome> {
        let mut state = self.state();
        let name = match admit(&state, &call) {
            Ok(_) if context.cancel.is_cancelled() => {
                let failure = Failure::not_started("aborted", "the call was cancelled");
                return Box::pin(ready(Outcome::failed(failure)));
            }
            Ok(name) => name,
            Err(failure) => return Box::pin(ready(Outcome::failed(failure))),
        };
        let scripted = state.scripts.get_mut(name).and_then(VecDeque::pop_front);
        let outcome = scripted.unwrap_or_else(|| Outcome::text(call.arguments.to_string()));
        state.calls.push(call);
        Box::pin(ready(outcome))
    }

    fn end_run(&self, _: &RunId) -> BoxFuture<'static, Vec<String>> {
        Box::pin(ready(Vec::new()))
    }
}

impl Workspace for Fake {
    fn id(&self) -> WorkspaceId {
        self.state().id.clone()
    }

    fn root(&self) -> String {
        "/fake".to_owned()
    }

    fn access(&self, at: Request, _: Access) -> BoxFuture<'static, Answer<()>> {
        self.answer(&at, |state, path| {
            let there = state.files.contains_key(&path) || state.dirs.contains(&path);
            if there { Ok(()) } else { Err(missing(&path)) }
        })
    }

    fn read(&self, at: Request, bytes_max: u64) -> BoxFuture<'static, Answer<Bytes>> {
        self.answer(&at, |state, path| {
            let content = state.file(&path)?;
            if content.len() as u64 > bytes_max {
                let message = format!("{path} is larger than the {bytes_max} bytes asked for");
                return Err(Failure::not_started("too_large", message));
            }
            Ok(content.clone())
        })
    }

    fn write(&self, at: Request, content: Bytes) -> BoxFuture<'static, Answer<Written>> {
        self.answer(&at, |state, path| put(state, path, content))
    }

    fn mkdir(&self, at: Request, parents: bool) -> BoxFuture<'static, Answer<()>> {
        self.answer(&at, |state, path| {
            let there = state.files.contains_key(&path) || state.dirs.contains(&path);
            if there && !parents {
                return Err(Failure::not_started(
                    "already_exists",
                    format!("{path}: already exists"),
                ));
            }
            if !parents {
                state.place(&path)?;
            }
            let mut above = String::new();
            for name in path.split('/') {
                above = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
                if state.files.contains_key(&above) {
                    let message = format!("{above}: not a directory");
                    return Err(Failure::not_started("not_a_directory", message));
                }
                state.dirs.insert(above.clone());
            }
            Ok(())
        })
    }

    fn stat(&self, at: Request) -> BoxFuture<'static, Answer<Stat>> {
        self.answer(&at, |state, path| {
            if state.dirs.contains(&path) {
                return Ok(Stat { kind: Kind::Dir, size: 0, modified_at: 0, mode: 0o755 });
            }
            let size = state.file(&path)?.len() as u64;
            Ok(Stat { kind: Kind::File, size, modified_at: 0, mode: 0o644 })
        })
    }

    fn readdir(&self, at: Request) -> BoxFuture<'static, Answer<Vec<DirEntry>>> {
        self.answer(&at, |state, path| {
            state.dir(&path)?;
            let here = state.below(&path).into_iter().filter(|(name, _)| !name.contains('/'));
            let entry =
                |(name, dir)| DirEntry { name, kind: if dir { Kind::Dir } else { Kind::File } };
            Ok(here.map(entry).collect())
        })
    }

    fn glob(
        &self,
        at: Request,
        pattern: String,
        limit: usize,
    ) -> BoxFuture<'static, Answer<Vec<String>>> {
        self.answer(&at, |state, path| {
            state.dir(&path)?;
            let fitting =
                state.below(&path).into_iter().filter(|(name, _)| glob::fits(&pattern, name));
            let shown = |(name, dir)| if dir { format!("{name}/") } else { name };
            Ok(fitting.map(shown).take(limit).collect())
        })
    }

    fn grep(
        &self,
        at: Request,
        pattern: String,
        limit: usize,
    ) -> BoxFuture<'static, Answer<Vec<LineMatch>>> {
        self.answer(&at, |state, path| {
            let searched = searched(state, &path)?;
            let mut found = Vec::new();
            for (path, content) in searched {
                let text = String::from_utf8_lossy(&content);
                let lines = (1..).zip(text.lines()).filter(|(_, line)| line.contains(&pattern));
                found.extend(lines.map(|(line, text)| LineMatch {
                    path: path.clone(),
                    line,
                    text: text.to_owned(),
                }));
            }
            found.truncate(limit);
            Ok(found)
        })
    }

    fn detect_image_mime(&self, at: Request) -> BoxFuture<'static, Answer<Option<String>>> {
        self.answer(&at, |state, path| {
            let content = state.file(&path)?;
            let known: [(&[u8], &str); 3] =
                [(b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif")];
            let kind = known.iter().find(|(first, _)| content.starts_with(first));
            Ok(kind.map(|(_, kind)| format!("image/{kind}")))
        })
    }

    fn exec(&self) -> Option<Arc<dyn Exec>> {
        None
    }

    fn upload(
        &self,
        at: Request,
        promise: Upload,
        bytes: BoxStream<'static, Answer<Bytes>>,
    ) -> BoxFuture<'static, Answer<Written>> {
        let fake = self.clone();
        Box::pin(async move {
            let digits = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            if promise.sha256.len() != 64 || !promise.sha256.bytes().all(digits) {
                let message = "sha256 must be 64 lower-case hexadecimal digits";
                return Err(Failure::not_started("invalid_arguments", message));
            }
            let pieces: Vec<Bytes> = bytes.try_collect().await?;
            let content = Bytes::from(pieces.concat());
            if promise.shape == Shape::Tree {
                let act = |state: &mut State, path: String| {
                    tree::upload(state, &path, &promise, &content)
                };
                return fake.answer(&at, act).await;
            }
            let kept = content.len() as u64 == promise.size && sha256(&content) == promise.sha256;
            let write = fake.answer(&at, |state, path| {
                if state.files.contains_key(&path) && !promise.overwrite {
                    let message = format!("{path}: already exists");
                    return Err(Failure::not_started("already_exists", message));
                }
                if !kept {
                    let message = "what came is not what was promised";
                    return Err(Failure::not_started("transfer_mismatch", message));
                }
                put(state, path, content)
            });
            write.await
        })
    }

    fn held(&self, at: Request, _: Shape) -> BoxFuture<'static, Answer<Option<HeldUpload>>> {
        self.answer(&at, |_, _| Ok(None))
    }

    fn download(&self, at: Request, wanted: Wanted) -> BoxFuture<'static, Answer<Download>> {
        self.answer(&at, |state, path| {
            if wanted.shape == Shape::Tree {
                return tree::download(state, &path);
            }
            let content = state.file(&path)?.clone();
            let (size, sha256) = (content.len() as u64, sha256(&content));
            Ok(Download { size, sha256, from: 0, bytes: stream::iter([Ok(content)]).boxed() })
        })
    }
}
