//! What every workspace must do, as rules that run against a real one: local, in memory, or behind a
//! wire. `client(server(W))` must pass whenever W does.
//!
//! The rules are asked at the seam and know nothing of who serves it. They are no test suite of a
//! particular workspace: confinement, disks and processes are tested where they live.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::{CallId, RunId, WorkspaceId},
    outcome::Effect,
};

use crate::{
    call::{Call, CallContext, Envelope},
    primitive::{Access, Answer, ExecRequest, Kind, Request, Shape, Upload, Wanted},
    source::Workspace,
};

/// Collects what does not hold.
struct Court {
    workspace: Arc<dyn Workspace>,
    broken: Vec<String>,
}

/// Checks every rule against an empty workspace and returns those that do not hold.
pub async fn broken(workspace: Arc<dyn Workspace>) -> Vec<String> {
    let mut court = Court { workspace, broken: Vec::new() };
    court.files().await;
    court.directories().await;
    court.refusals().await;
    court.searches().await;
    court.pictures().await;
    court.uploads().await;
    court.downloads().await;
    court.trees().await;
    court.calls().await;
    court.programs().await;
    court.broken
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Court {
    fn at(&self, path: &str) -> Request {
        let expected = self.workspace.id();
        Request { path: path.to_owned(), expected, cancel: CancellationToken::new() }
    }

    fn holds(&mut self, rule: &str, holds: bool) {
        if !holds {
            self.broken.push(rule.to_owned());
        }
    }

    fn equal<T: PartialEq + std::fmt::Debug>(&mut self, rule: &str, found: &T, wanted: &T) {
        if found != wanted {
            self.broken.push(format!("{rule}: {found:?} instead of {wanted:?}"));
        }
    }

    /// A refusal has the code, and says that nothing changed.
    fn refused<T: std::fmt::Debug>(&mut self, rule: &str, answer: Answer<T>, code: &str) {
        match answer {
            Err(failure) if failure.code == code && failure.effect == Effect::NotStarted => {}
            other => self.broken.push(format!("{rule}: {other:?} instead of {code}")),
        }
    }

    async fn write(&mut self, path: &str, content: &'static [u8]) {
        let written = self.workspace.write(self.at(path), Bytes::from_static(content)).await;
        if let Err(failure) = written {
            self.broken.push(format!("{path} can be written: {failure}"));
        }
    }

    async fn files(&mut self) {
        let first = self.workspace.write(self.at("a.txt"), Bytes::from_static(b"one")).await;
        let facts = first.map(|written| (written.size, written.sha256, written.created));
        self.equal("a write tells what was written", &facts, &Ok((3, sha256(b"one"), true)));
        let again = self.workspace.write(self.at("a.txt"), Bytes::from_static(b"two\xff")).await;
        self.equal("a second write is not new", &again.map(|one| one.created), &Ok(false));
        let content = self.workspace.read(self.at("a.txt"), 4).await;
        let wanted = Ok(Bytes::from_static(b"two\xff"));
        self.equal("a read gives the bytes that were written", &content, &wanted);
        let small = self.workspace.read(self.at("a.txt"), 3).await;
        self.refused("a read beyond its bound is refused", small, "too_large");
        let stat = self.workspace.stat(self.at("a.txt")).await;
        let facts = stat.map(|stat| (stat.kind, stat.size));
        self.equal("stat tells kind and size", &facts, &Ok((Kind::File, 4)));
        for access in [Access::Read, Access::ReadWrite] {
            let allowed = self.workspace.access(self.at("a.txt"), access).await;
            self.equal("a file that was written can be used", &allowed, &Ok(()));
        }
    }

    async fn directories(&mut self) {
        let made = self.workspace.mkdir(self.at("d"), false).await;
        self.equal("a directory can be made", &made, &Ok(()));
        let again = self.workspace.mkdir(self.at("d"), false).await;
        self.refused("a directory is made once", again, "already_exists");
        let again = self.workspace.mkdir(self.at("d"), true).await;
        self.equal("with parents an existing directory is fine", &again, &Ok(()));
        let deep = self.workspace.mkdir(self.at("x/y"), false).await;
        self.refused("parents are not made unasked", deep, "not_found");
        let deep = self.workspace.mkdir(self.at("d/e/f"), true).await;
        self.equal("parents are made when asked", &deep, &Ok(()));
        self.write("d/b.txt", b"word\nother").await;
        self.write("d/A.txt", b"a word\n").await;
        let listed = self.workspace.readdir(self.at("d")).await;
        let names =
            listed.map(|all| all.into_iter().map(|one| (one.name, one.kind)).collect::<Vec<_>>());
        let wanted = [("A.txt", Kind::File), ("b.txt", Kind::File), ("e", Kind::Dir)];
        let wanted = wanted.map(|(name, kind)| (name.to_owned(), kind)).to_vec();
        self.equal("a directory is listed in order", &names, &Ok(wanted));
        let listed = self.workspace.readdir(self.at("a.txt")).await;
        self.refused("a file is not listed", listed, "not_a_directory");
        let read = self.workspace.read(self.at("d"), 10).await;
        self.refused("a directory is not read", read, "is_a_directory");
        let written = self.workspace.write(self.at("d"), Bytes::new()).await;
        self.refused("a directory is not written", written, "is_a_directory");
    }

    async fn refusals(&mut self) {
        let missing = self.workspace.read(self.at("missing"), 10).await;
        self.refused("what is missing is not found", missing, "not_found");
        let missing = self.workspace.stat(self.at("missing")).await;
        self.refused("what is missing has no facts", missing, "not_found");
        let missing = self.workspace.access(self.at("missing"), Access::Read).await;
        self.refused("what is missing cannot be used", missing, "not_found");
        let missing = self.workspace.write(self.at("no/dir"), Bytes::new()).await;
        self.refused("a write makes no directories", missing, "not_found");
        let outside = self.workspace.read(self.at("../outside"), 10).await;
        self.refused("nothing outside is reached", outside, "path_outside_root");
        let mut other = self.at("a.txt");
        other.expected = WorkspaceId("another".into());
        let read = self.workspace.read(other.clone(), 10).await;
        self.refused("a read for another workspace is refused", read, "wrong_workspace");
        let written = self.workspace.write(other, Bytes::new()).await;
        self.refused("a write for another workspace is refused", written, "wrong_workspace");
        let cancelled = self.at("a.txt");
        cancelled.cancel.cancel();
        let written = self.workspace.write(cancelled, Bytes::new()).await;
        self.refused("a cancelled write does nothing", written, "aborted");
        let size = self.workspace.stat(self.at("a.txt")).await.map(|stat| stat.size);
        self.equal("refused writes left the file alone", &size, &Ok(4));
    }

    async fn searches(&mut self) {
        let found = self.workspace.glob(self.at("."), "*.txt".into(), 10).await;
        let wanted = ["a.txt", "d/A.txt", "d/b.txt"].map(str::to_owned).to_vec();
        self.equal("a name fits at every depth, in order", &found, &Ok(wanted));
        let found = self.workspace.glob(self.at("d"), "**/e/*".into(), 10).await;
        let wanted = vec!["e/f/".to_owned()];
        self.equal("paths are relative, directories end in a slash", &found, &Ok(wanted));
        let found = self.workspace.glob(self.at("."), "*.txt".into(), 1).await;
        self.equal("no more than wanted is found", &found.map(|all| all.len()), &Ok(1));
        let found = self.workspace.grep(self.at("."), "word".into(), 10).await;
        let lines = found.map(|all| {
            all.into_iter().map(|one| (one.path, one.line, one.text)).collect::<Vec<_>>()
        });
        let wanted = [("d/A.txt", 1, "a word"), ("d/b.txt", 1, "word")];
        let wanted = wanted.map(|(path, line, text)| (path.to_owned(), line, text.to_owned()));
        self.equal("lines are found in order", &lines, &Ok(wanted.to_vec()));
        let found = self.workspace.grep(self.at("d/b.txt"), "other".into(), 10).await;
        let lines = found.map(|all| all.into_iter().map(|one| (one.path, one.line)).collect());
        self.equal("one file can be searched", &lines, &Ok(vec![("b.txt".to_owned(), 2)]));
        let missing = self.workspace.grep(self.at("missing"), "x".into(), 1).await;
        self.refused("what is missing is not searched", missing, "not_found");
    }

    async fn pictures(&mut self) {
        self.write("p", b"\x89PNG\r\n\x1a\nrest").await;
        let found = self.workspace.detect_image_mime(self.at("p")).await;
        self.equal("a picture is known by its bytes", &found, &Ok(Some("image/png".to_owned())));
        let found = self.workspace.detect_image_mime(self.at("a.txt")).await;
        self.equal("a text is no picture", &found, &Ok(None));
    }

    async fn upload(&self, path: &str, promise: Upload, pieces: &[&'static [u8]]) -> Answer<bool> {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok(Bytes::from_static(piece))).collect();
        let sent = stream::iter(pieces).boxed();
        self.workspace.upload(self.at(path), promise, sent).await.map(|written| written.created)
    }

    async fn uploads(&mut self) {
        let promise = |content: &[u8], overwrite| {
            Upload::of_file(content.len() as u64, sha256(content), overwrite)
        };
        let sent = self.upload("u", promise(b"abcdef", false), &[b"abc", b"", b"def"]).await;
        self.equal("an upload in pieces is published", &sent, &Ok(true));
        let sent = self.upload("u", promise(b"x", false), &[b"x"]).await;
        self.refused("nothing is replaced unasked", sent, "already_exists");
        let sent = self.upload("u", promise(b"xyz", true), &[b"xy"]).await;
        self.refused("too few bytes are not published", sent, "transfer_mismatch");
        let sent = self.upload("u", promise(b"xyz", true), &[b"xyz", b"!"]).await;
        self.refused("too many bytes are not published", sent, "transfer_mismatch");
        let sent = self.upload("u", promise(b"xyz", true), &[b"abc"]).await;
        self.refused("other bytes are not published", sent, "transfer_mismatch");
        let mut loud = promise(b"xyz", true);
        loud.sha256 = loud.sha256.to_uppercase();
        let sent = self.upload("u", loud, &[b"xyz"]).await;
        self.refused("a hash is written in small letters", sent, "invalid_arguments");
        let content = self.workspace.read(self.at("u"), 10).await;
        let wanted = Ok(Bytes::from_static(b"abcdef"));
        self.equal("refused uploads left the file alone", &content, &wanted);
        let sent = self.upload("u", promise(b"xyz", true), &[b"xyz"]).await;
        self.equal("an upload replaces when asked", &sent, &Ok(false));
        let listed = self.workspace.readdir(self.at(".")).await.unwrap_or_default();
        self.holds(
            "uploads leave nothing behind",
            listed.iter().all(|one| !one.name.starts_with('.')),
        );
    }

    async fn downloads(&mut self) {
        let download = self.workspace.download(self.at("u"), Wanted::file()).await;
        let (size, hash, bytes) = match download {
            Ok(download) => {
                let pieces: Vec<Answer<Bytes>> = download.bytes.collect().await;
                let whole: Answer<Vec<Bytes>> = pieces.into_iter().collect();
                (download.size, download.sha256, whole.map(|pieces| pieces.concat()))
            }
            Err(failure) => {
                return self.broken.push(format!("a file can be downloaded: {failure}"));
            }
        };
        self.equal("a download promises size and hash", &(size, hash), &(3, sha256(b"xyz")));
        self.equal("a download gives the bytes", &bytes, &Ok(b"xyz".to_vec()));
        let missing = self.workspace.download(self.at("missing"), Wanted::file()).await;
        self.refused("what is missing is not downloaded", missing, "not_found");
    }

    async fn trees(&mut self) {
        for (path, content) in [("t/a.txt", "one"), ("t/b/c.txt", "two"), ("t/empty", "")] {
            let made = self.workspace.mkdir(self.at("t/b"), true).await;
            self.equal("directories can be made", &made, &Ok(()));
            let content = Bytes::from_static(content.as_bytes());
            let written = self.workspace.write(self.at(path), content).await;
            self.holds("files can be written in them", written.is_ok());
        }
        let wanted = || Wanted { shape: Shape::Tree, after: None };
        let download = match self.workspace.download(self.at("t"), wanted()).await {
            Ok(download) => download,
            Err(failure) => {
                return self.broken.push(format!("a directory can be downloaded: {failure}"));
            }
        };
        let (size, sha256) = (download.size, download.sha256.clone());
        let promise = |overwrite| {
            let file = Upload::of_file(size, sha256.clone(), overwrite);
            Upload { shape: Shape::Tree, ..file }
        };
        let sent = self.workspace.upload(self.at("u2"), promise(false), download.bytes).await;
        let facts = sent.map(|written| (written.size, written.sha256, written.created));
        self.equal("a directory is published", &facts, &Ok((size, sha256.clone(), true)));
        let content = self.workspace.read(self.at("u2/b/c.txt"), 10).await;
        self.equal("with all in it", &content, &Ok(Bytes::from_static(b"two")));
        let listed = self.workspace.readdir(self.at("u2")).await.unwrap_or_default();
        let names: Vec<&str> = listed.iter().map(|entry| entry.name.as_str()).collect();
        self.equal("and nothing else", &names, &vec!["a.txt", "b", "empty"]);
        let again = self.workspace.download(self.at("u2"), wanted()).await;
        let again = again.map(|download| (download.size, download.sha256));
        self.equal("and is the same", &again, &Ok((size, sha256.clone())));
        let bytes = || stream::iter([Ok(Bytes::from_static(b"x"))]).boxed();
        let sent = self.workspace.upload(self.at("u2"), promise(false), bytes()).await;
        self.refused("no directory is replaced", sent, "already_exists");
        let sent = self.workspace.upload(self.at("u3"), promise(false), bytes()).await;
        self.refused("half a directory is not published", sent, "transfer_mismatch");
        let missing = self.workspace.stat(self.at("u3")).await;
        self.refused("and is not there", missing, "not_found");
        let file = self.workspace.download(self.at("t/a.txt"), wanted()).await;
        self.refused("a file is no directory", file, "not_a_directory");
        let held = self.workspace.held(self.at("u3"), Shape::Tree).await;
        self.equal("nothing is held of what did not break off", &held, &Ok(None));
    }

    async fn calls(&mut self) {
        let catalog = self.workspace.catalog();
        let Some(spec) = catalog.tools().first() else { return };
        let call = Call {
            id: CallId("1".into()),
            run: RunId::generate(),
            tool: spec.name.to_owned(),
            arguments: json!([]),
            expected_generation: catalog.generation,
            schema_hash: spec.schema_hash(),
            timeout_ms: None,
            idempotency_key: None,
            envelope: Envelope::default(),
        };
        let old = Call { expected_generation: catalog.generation + 1, ..call.clone() };
        let other = Call { schema_hash: "0".repeat(64), ..call.clone() };
        let unknown = Call { tool: "no such tool".into(), ..call.clone() };
        for (rule, call, code) in [
            ("arguments are checked again", call.clone(), "invalid_arguments"),
            ("another generation is refused", old, "stale_generation"),
            ("another schema is refused", other, "stale_generation"),
            ("an unknown tool is refused", unknown, "unknown_tool"),
        ] {
            let outcome = self.workspace.call(call, CallContext::detached()).await;
            let answer = outcome.failure.map_or(Ok(outcome.content), Err);
            self.refused(rule, answer, code);
        }
        let left = self.workspace.end_run(&call.run).await;
        self.equal("a run that started nothing leaves nothing", &left, &Vec::new());
    }

    async fn programs(&mut self) {
        let Some(exec) = self.workspace.exec() else {
            let told = self.workspace.catalog().find("bash").is_none();
            return self.holds("without a grant there is no tool that runs programs", told);
        };
        let command = |command: &str| ExecRequest { command: command.into(), timeout_ms: 60_000 };
        let report = exec.exec(self.at("d"), command("echo out; echo err >&2; exit 3")).await;
        let facts = report.map(|report| (report.exit_code, report.output));
        let wanted = Ok((Some(3), Bytes::from_static(b"out\nerr")));
        self.equal("a command's code and output are told", &facts, &wanted);
        let report = exec.exec(self.at("d"), command("kill -9 $$")).await;
        let facts = report.map(|report| (report.exit_code, report.signal));
        self.equal("a signal is told by name", &facts, &Ok((None, Some("SIGKILL".to_owned()))));
        let missing = exec.exec(self.at("missing"), command("true")).await;
        self.refused("a command needs its directory", missing, "not_found");
    }
}
