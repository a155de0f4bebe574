//! The primitive operations of a workspace, for resources and clients rather than for models.

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use tokio_util::sync::CancellationToken;
use vocab::{ids::WorkspaceId, outcome::Failure};

/// How a primitive ended.
pub type Answer<T> = Result<T, Failure>;

/// What every primitive carries besides its own arguments.
#[derive(Debug, Clone)]
pub struct Request {
    /// The path as written; the serving workspace parses it in its own flavour.
    pub path: String,
    /// The workspace the client believes it talks to; another one refuses.
    pub expected: WorkspaceId,
    /// Ends it early.
    pub cancel: CancellationToken,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link (only where links are not followed).
    Link,
    /// Something else: a pipe, a device, a socket.
    Other,
}

/// Facts about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
    /// When its content last changed, milliseconds since the Unix epoch.
    pub modified_at: i64,
    /// Its permission bits.
    pub mode: u32,
}

/// A name in a directory, as [`vocab::path::display_name`] writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name.
    pub name: String,
    /// What it is, links not followed.
    pub kind: Kind,
}

/// How far a file may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It exists and can be read.
    Read,
    /// It exists and can be read and written.
    ReadWrite,
}

/// A line that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMatch {
    /// The file, relative to the path searched.
    pub path: String,
    /// The line's number, from 1.
    pub line: u64,
    /// The line, without its end.
    pub text: String,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// How many bytes.
    pub size: u64,
    /// SHA-256 of the content, 64 lower-case hex digits.
    pub sha256: String,
    /// Whether the file is new.
    pub created: bool,
}

/// What travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A regular file: its bytes.
    File,
    /// A directory with all in it: one stream, whose form is [`crate::tree`]'s.
    Tree,
}

/// An upload's promise, checked before publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// What comes.
    pub shape: Shape,
    /// Of how many bytes it is.
    pub size: u64,
    /// SHA-256 of a file's bytes, or of a directory's manifest, 64 lower-case hex digits.
    pub sha256: String,
    /// Whether an existing file may be replaced. Directories are never replaced.
    pub overwrite: bool,
    /// Whether what has come is kept for a while when the source breaks off, to be gone on with.
    pub keep: bool,
    /// How many of the bytes are there, since they were kept: the ones that come stand behind them.
    pub from: u64,
}

impl Upload {
    /// Promises a file of which nothing is there.
    #[must_use]
    pub fn of_file(size: u64, sha256: String, overwrite: bool) -> Self {
        Self { shape: Shape::File, size, sha256, overwrite, keep: false, from: 0 }
    }
}

/// The beginning of what travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    /// How many bytes.
    pub size: u64,
    /// SHA-256 of them.
    pub sha256: String,
}

/// An upload that broke off, as far as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldUpload {
    /// Of how many bytes it was.
    pub size: u64,
    /// Its promised SHA-256.
    pub sha256: String,
    /// Whether it was to replace a file.
    pub overwrite: bool,
    /// What has come.
    pub prefix: Prefix,
}

/// What is wanted of a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What shall come.
    pub shape: Shape,
    /// What is there of it: where it is the beginning of what is sent, only the rest comes.
    pub after: Option<Prefix>,
}

impl Wanted {
    /// Wants a whole file.
    #[must_use]
    pub fn file() -> Self {
        Self { shape: Shape::File, after: None }
    }
}

/// A download: what is promised, then the bytes.
pub struct Download {
    /// How many bytes it has.
    pub size: u64,
    /// SHA-256 of a file's bytes, or of a directory's manifest.
    pub sha256: String,
    /// How many of them do not come, since they are there.
    pub from: u64,
    /// The bytes from there on, in pieces.
    pub bytes: BoxStream<'static, Answer<Bytes>>,
}

impl std::fmt::Debug for Download {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Download").field("size", &self.size).finish_non_exhaustive()
    }
}

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecRequest {
    /// A command line for the workspace's shell.
    pub command: String,
    /// When to give up.
    pub timeout_ms: u64,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecReport {
    /// Its exit code; none when a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal's name when one ended it.
    pub signal: Option<String>,
    /// The merged output, bounded.
    pub output: Bytes,
    /// Whether `output` is only the end of it.
    pub truncated: bool,
}

/// Runs programs. It can only be had where an [`crate::grant::ExecGrant`] was given.
pub trait Exec: Send + Sync {
    /// Runs a command in the directory that `request` names.
    fn exec(&self, request: Request, what: ExecRequest) -> BoxFuture<'static, Answer<ExecReport>>;
}
