//! The primitive operations: the same files, lanes and limits as the tools, without words for models.

use std::{io::Read, sync::Arc};

use bytes::Bytes;
use confine::{Access as Wish, PublishOptions};
use futures_util::{future::BoxFuture, stream::BoxStream};
use sandbox::report::ExitStatus;
use sha2::{Digest, Sha256};
use vocab::{
    ids::WorkspaceId,
    limits::{GREP_FILE_BYTES_MAX, READDIR_ENTRIES_MAX, SEARCH_BYTES_MAX, WRITE_BYTES_MAX},
    outcome::{Effect, Failure},
    path::display_name,
};
use workspace::{
    primitive::{
        Access, Answer, DirEntry, Download, Exec, ExecReport, ExecRequest, HeldUpload, Kind,
        LineMatch, Request, Shape, Stat, Upload, Wanted, Written,
    },
    source::Workspace,
};

use crate::{
    glob::Pattern,
    hash, image,
    lanes::{self, Parents},
    output::Collector,
    search::{self, Extent, Meaning, Query, Role},
    serve::LocalWorkspace,
    site::Site,
    stop::Stop,
    tools::{self, Command},
    transfer, truncate,
};

pub(crate) fn kind(kind: confine::Kind) -> Kind {
    match kind {
        confine::Kind::File => Kind::File,
        confine::Kind::Dir => Kind::Dir,
        confine::Kind::Link => Kind::Link,
        confine::Kind::Other => Kind::Other,
    }
}

/// Refuses what was meant for another workspace.
pub(crate) fn check_id(site: &Site, at: &Request) -> Result<(), Failure> {
    if at.expected == site.id {
        return Ok(());
    }
    let message = format!("this is workspace {}, not {}", site.id, at.expected);
    Err(Failure::not_started("wrong_workspace", message))
}

/// A primitive answers whole or not at all, since its caller has no words to read.
fn too_many_results(what: &str, bytes_max: usize) -> Failure {
    let size = truncate::size(bytes_max as u64);
    let message = format!("{what} are more than the {size} that may be held");
    Failure::not_started("too_many_results", message)
        .with_hint("narrow the pattern, or ask for fewer")
}

/// An operation that only looks.
type Look<T> = fn(&Site, &Request, &Stop) -> Answer<T>;

impl LocalWorkspace {
    fn look<T: Send + 'static>(
        &self,
        at: Request,
        act: impl FnOnce(&Site, &Request, &Stop) -> Answer<T> + Send + 'static,
    ) -> BoxFuture<'static, Answer<T>> {
        let site = Arc::clone(&self.0);
        if let Err(failure) = check_id(&site, &at) {
            return Box::pin(std::future::ready(Err(failure)));
        }
        let stop = Stop::new(at.cancel.clone(), &site.clock, None);
        let pool = self.0.files.clone();
        Site::on(&pool, stop.clone(), move || {
            stop.start()?;
            act(&site, &at, &stop)
        })
    }
}

impl Workspace for LocalWorkspace {
    fn id(&self) -> WorkspaceId {
        self.0.id.clone()
    }

    fn root(&self) -> String {
        display_name(self.0.root.real().as_os_str())
    }

    fn access(&self, at: Request, access: Access) -> BoxFuture<'static, Answer<()>> {
        self.look(at, move |site, at, _| {
            let path = site.root.parse(&at.path)?;
            site.root.access(&path, Wish::Read)?;
            if access == Access::ReadWrite {
                site.root.access(&path, Wish::Write)?;
            }
            Ok(())
        })
    }

    fn read(&self, at: Request, bytes_max: u64) -> BoxFuture<'static, Answer<Bytes>> {
        self.look(at, move |site, at, _| {
            let path = site.root.parse(&at.path)?;
            let opened = site.root.open_file(&path)?;
            let mut bytes = Vec::new();
            opened
                .file
                .take(bytes_max.saturating_add(1))
                .read_to_end(&mut bytes)
                .map_err(|error| Failure::not_started("io", format!("{path}: {error}")))?;
            if bytes.len() as u64 > bytes_max {
                let size = truncate::size(opened.meta.len.max(bytes.len() as u64));
                let message =
                    format!("{path} is {size}, more than the {bytes_max} bytes asked for");
                return Err(Failure::not_started("too_large", message));
            }
            Ok(bytes.into())
        })
    }

    fn write(&self, at: Request, content: Bytes) -> BoxFuture<'static, Answer<Written>> {
        let site = Arc::clone(&self.0);
        if let Err(failure) = check_id(&site, &at) {
            return Box::pin(std::future::ready(Err(failure)));
        }
        if content.len() > WRITE_BYTES_MAX {
            let failure =
                Failure::not_started("too_large", "the content is more than a write carries")
                    .with_hint("upload it");
            return Box::pin(std::future::ready(Err(failure)));
        }
        let turn = site.turns.take();
        let stop = Stop::new(at.cancel.clone(), &site.clock, None);
        let pool = self.0.files.clone();
        Site::on(&pool, stop.clone(), move || {
            let registered = lanes::register(&site, &at.path, Parents::Must, (turn, &stop))?;
            let entered = registered.enter(&site, &stop)?;
            let published = entered.place.publish(&content, PublishOptions::default())?;
            drop(entered.guard);
            site.listener.published(&entered.path);
            Ok(Written {
                size: content.len() as u64,
                sha256: hash::hex(&Sha256::digest(&content)),
                created: published.created,
            })
        })
    }

    fn mkdir(&self, at: Request, parents: bool) -> BoxFuture<'static, Answer<()>> {
        let turn = self.0.turns.take();
        self.look(at, move |site, at, _| {
            lanes::in_turn(site, &turn)?;
            let path = site.root.parse(&at.path)?;
            let there = site.root.lstat(&path).is_ok();
            if there && !parents {
                let message = format!("{path}: already exists");
                return Err(Failure::not_started("already_exists", message));
            }
            if !parents && let Some(parent) = path.parent() {
                site.root.open_dir(&parent)?;
            }
            site.root.create_dirs(&path)?;
            drop(turn);
            Ok(())
        })
    }

    fn stat(&self, at: Request) -> BoxFuture<'static, Answer<Stat>> {
        let act: Look<Stat> = |site, at, _| {
            let meta = site.root.stat(&site.root.parse(&at.path)?)?;
            Ok(Stat {
                kind: kind(meta.kind),
                size: meta.len,
                modified_at: i64::try_from(meta.modified_ns.div_euclid(1_000_000))
                    .unwrap_or(i64::MAX),
                mode: meta.mode,
            })
        };
        self.look(at, act)
    }

    fn readdir(&self, at: Request) -> BoxFuture<'static, Answer<Vec<DirEntry>>> {
        let act: Look<Vec<DirEntry>> = |site, at, _| {
            let path = site.root.parse(&at.path)?;
            let entries = site.root.read_dir(&path)?;
            if entries.len() > READDIR_ENTRIES_MAX {
                let message = format!("{path} holds {} entries, too many to list", entries.len());
                return Err(Failure::not_started("too_many_entries", message));
            }
            let named = |entry: confine::DirEntry| DirEntry {
                name: display_name(&entry.name),
                kind: kind(entry.kind),
            };
            Ok(entries.into_iter().map(named).collect())
        };
        self.look(at, act)
    }

    fn glob(
        &self,
        at: Request,
        pattern: String,
        limit: usize,
    ) -> BoxFuture<'static, Answer<Vec<String>>> {
        self.look(at, move |site, at, stop| {
            let pattern = Pattern::new(&pattern)?;
            let path = site.root.parse(&at.path)?;
            let found = tools::find_paths(&site.root, &path, (&pattern, limit), stop)?;
            if found.extent == Extent::Held {
                return Err(too_many_results("the results", SEARCH_BYTES_MAX));
            }
            Ok(found.paths)
        })
    }

    fn grep(
        &self,
        at: Request,
        pattern: String,
        limit: usize,
    ) -> BoxFuture<'static, Answer<Vec<LineMatch>>> {
        self.look(at, move |site, at, stop| {
            let mut query = Query::new(&pattern, Meaning::default())?;
            query.limit = limit;
            let path = site.root.parse(&at.path)?;
            let found = search::run(&site.root, &path, &query, stop)?;
            if found.extent == Extent::Held {
                return Err(too_many_results("the results", SEARCH_BYTES_MAX));
            }
            if let Some(file) = found.full.first() {
                let what = format!("the matches in {file}");
                return Err(too_many_results(&what, GREP_FILE_BYTES_MAX));
            }
            let mut matches = Vec::new();
            for file in found.files {
                let lines = file.lines.into_iter().filter(|line| line.role == Role::Match);
                matches.extend(lines.map(|line| LineMatch {
                    path: file.path.clone(),
                    line: line.number,
                    text: line.text,
                }));
            }
            Ok(matches)
        })
    }

    fn detect_image_mime(&self, at: Request) -> BoxFuture<'static, Answer<Option<String>>> {
        let act: Look<Option<String>> = |site, at, _| {
            let path = site.root.parse(&at.path)?;
            let opened = site.root.open_file(&path)?;
            let mut first = Vec::new();
            opened
                .file
                .take(16)
                .read_to_end(&mut first)
                .map_err(|error| Failure::not_started("io", format!("{path}: {error}")))?;
            let taken = image::sniff(&first).filter(|media_type| *media_type != "image/bmp");
            Ok(taken.map(str::to_owned))
        };
        self.look(at, act)
    }

    fn exec(&self) -> Option<Arc<dyn Exec>> {
        self.0.programs.as_ref()?;
        Some(Arc::new(self.clone()))
    }

    fn upload(
        &self,
        at: Request,
        promise: Upload,
        bytes: BoxStream<'static, Answer<Bytes>>,
    ) -> BoxFuture<'static, Answer<Written>> {
        transfer::upload(&self.0, at, promise, bytes)
    }

    fn held(&self, at: Request, shape: Shape) -> BoxFuture<'static, Answer<Option<HeldUpload>>> {
        transfer::held::held(&self.0, at, shape)
    }

    fn download(&self, at: Request, wanted: Wanted) -> BoxFuture<'static, Answer<Download>> {
        transfer::download(&self.0, at, wanted)
    }
}

impl Exec for LocalWorkspace {
    fn exec(&self, request: Request, what: ExecRequest) -> BoxFuture<'static, Answer<ExecReport>> {
        let site = Arc::clone(&self.0);
        let programs = match (check_id(&site, &request), &site.programs) {
            (Ok(()), Some(programs)) => programs.pool.clone(),
            (Err(failure), _) => return Box::pin(std::future::ready(Err(failure))),
            (Ok(()), None) => return Box::pin(std::future::ready(Err(tools::not_granted()))),
        };
        let stop = Stop::new(request.cancel.clone(), &site.clock, None);
        Site::on(&programs, stop.clone(), move || run(&site, &request, what, &stop))
    }
}

fn run(site: &Site, request: &Request, what: ExecRequest, stop: &Stop) -> Answer<ExecReport> {
    let cwd = site.root.parse(&request.path)?;
    let mut collector = Collector::new(site.artifacts.clone());
    let command = Command { line: what.command, run: None, timeout_ms: what.timeout_ms, cwd: &cwd };
    let mut sink = |bytes: &[u8]| drop(collector.push(bytes));
    let report = tools::execute(site, &command, &mut sink, stop)?;
    let collected = collector.finish();
    let (exit_code, signal) = match report.status {
        ExitStatus::Exited(code) => (Some(code), None),
        ExitStatus::Signaled { name, .. } => (None, Some(name.to_owned())),
        ExitStatus::OutOfMemory => (None, Some("SIGKILL".to_owned())),
        ExitStatus::TimedOut => {
            let message = "the command was ended when its time was over";
            return Err(Failure::new("timeout", Effect::Indeterminate, message));
        }
        ExitStatus::Cancelled => {
            let message = "the command was cancelled and ended";
            return Err(Failure::new("aborted", Effect::Indeterminate, message));
        }
    };
    let truncated = collected.truncation.cut();
    Ok(ExecReport { exit_code, signal, output: collected.text.into(), truncated })
}
