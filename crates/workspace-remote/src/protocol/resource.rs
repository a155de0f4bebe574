//! The primitive operations, and the shapes of their answers.
//!
//! Content is in no message: it travels in pieces under the request's id.

use serde::{Deserialize, Serialize};
use vocab::ids::WorkspaceId;
use workspace::primitive;

use super::tagged::message;

/// Declares a primitive: every one carries its id, the workspace it is meant for, and a path as written.
macro_rules! operation {
    ($(#[$doc:meta])* $kind:literal $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? }) => {
        message! {
            $(#[$doc])*
            $kind $name {
                /// The request.
                id: u64,
                /// The workspace the client believes it talks to.
                workspace: WorkspaceId,
                /// The path as written.
                path: String,
                $($(#[$field_doc])* $field: $type),*
            }
        }
    };
}

/// How far a file may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// It can be read.
    Read,
    /// It can be read and written.
    ReadWrite,
}

operation! {
    /// Asks whether a file can be used. Ends in `result` with null.
    "access" AccessFile {
        /// How far.
        access: Access,
    }
}

operation! {
    /// Reads a whole file: pieces, then `result` with [`SizeOf`].
    "read" ReadFile {
        /// The most it may hold.
        bytes_max: u64,
    }
}

operation! {
    /// Writes a whole file that comes in pieces. Ends in `result` with [`WrittenOf`].
    "write" WriteFile {
        /// Exactly how many bytes come.
        size: u64,
    }
}

operation! {
    /// Makes a directory. Ends in `result` with null.
    "mkdir" Mkdir {
        /// Whether its parents are made too.
        parents: bool,
    }
}

operation! {
    /// Asks what is there. Ends in `result` with [`StatOf`].
    "stat" Stat {}
}

operation! {
    /// Lists a directory. Ends in `result` with a list of [`EntryOf`].
    "readdir" Readdir {}
}

operation! {
    /// Finds files. Ends in `result` with a list of paths.
    "glob" Glob {
        /// The glob.
        pattern: String,
        /// The most that are wanted.
        limit: u64,
    }
}

operation! {
    /// Finds lines. Ends in `result` with a list of [`LineOf`].
    "grep" Grep {
        /// The regular expression.
        pattern: String,
        /// The most that are wanted.
        limit: u64,
    }
}

operation! {
    /// Asks for the media type of a picture. Ends in `result` with a text or null.
    "image_mime" ImageMime {}
}

operation! {
    /// Runs a program in a directory: its output in pieces, then `result` with [`ReportOf`].
    "exec" Exec {
        /// A command line for the workspace's shell.
        command: String,
        /// When to give up.
        timeout_ms: u64,
    }
}

/// What travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A file.
    #[default]
    File,
    /// A directory, as one stream.
    Tree,
}

/// The beginning of what travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefixOf {
    /// How many bytes.
    pub size: u64,
    /// SHA-256 of them.
    pub sha256: String,
}

operation! {
    /// Uploads a file or directory that comes in pieces. Ends in `result` with [`WrittenOf`].
    "upload" Upload {
        /// What comes.
        #[serde(default)]
        shape: Shape,
        /// Of how many bytes it is.
        size: u64,
        /// SHA-256 of a file, or of a directory's manifest: 64 lower-case hexadecimal digits.
        sha256: String,
        /// Whether an existing file may be replaced.
        #[serde(default)]
        overwrite: bool,
        /// Whether what has come is kept for a while when the client is lost.
        #[serde(default)]
        keep: bool,
        /// How many of the bytes were kept; the pieces go on from there.
        #[serde(default)]
        from: u64,
    }
}

operation! {
    /// Asks what is kept of the last upload to a path that broke off. Ends in `result` with [`HeldOf`] or null.
    "held" HeldUpload {
        /// What it was.
        #[serde(default)]
        shape: Shape,
    }
}

/// An upload that broke off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOf {
    /// Of how many bytes it was.
    pub size: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// Whether it was to replace a file.
    pub overwrite: bool,
    /// What has come.
    pub prefix: PrefixOf,
}

operation! {
    /// Downloads a file, directory or artifact: `begin`, pieces, then `result` with [`SentOf`].
    "download" Download {
        /// What shall come.
        #[serde(default)]
        shape: Shape,
        /// What is there of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<PrefixOf>,
    }
}

/// How much came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeOf {
    /// In bytes.
    pub size: u64,
}

/// What a download has sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentOf {
    /// How many bytes.
    pub size: u64,
    /// SHA-256 of them.
    pub sha256: String,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenOf {
    /// How many bytes.
    pub size: u64,
    /// SHA-256 of them.
    pub sha256: String,
    /// Whether the file is new.
    pub created: bool,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// Something else.
    Other,
}

/// Facts about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatOf {
    /// What it is.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
    /// When its content last changed, milliseconds since the Unix epoch.
    pub modified_at: i64,
    /// Its permission bits.
    pub mode: u32,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryOf {
    /// The name, special bytes escaped.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// A line that matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineOf {
    /// The file.
    pub path: String,
    /// The line's number, from 1.
    pub line: u64,
    /// The line.
    pub text: String,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportOf {
    /// Its exit code; none when a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal's name when one ended it.
    pub signal: Option<String>,
    /// How many bytes of output came in pieces.
    pub size: u64,
    /// Whether that is only the end of it.
    pub truncated: bool,
}

/// Declares that two types say the same.
macro_rules! same {
    (enum $here:ident = $there:ty { $($variant:ident),* }) => {
        impl From<$there> for $here {
            fn from(value: $there) -> Self {
                match value { $(<$there>::$variant => Self::$variant),* }
            }
        }
        impl From<$here> for $there {
            fn from(value: $here) -> Self {
                match value { $($here::$variant => Self::$variant),* }
            }
        }
    };
    (struct $here:ident = $there:ty { $($field:ident),* }) => {
        impl From<$there> for $here {
            fn from(value: $there) -> Self {
                Self { $($field: value.$field.into()),* }
            }
        }
        impl From<$here> for $there {
            fn from(value: $here) -> Self {
                Self { $($field: value.$field.into()),* }
            }
        }
    };
}

same!(enum Access = primitive::Access { Read, ReadWrite });
same!(enum Kind = primitive::Kind { File, Dir, Link, Other });
same!(enum Shape = primitive::Shape { File, Tree });
same!(struct HeldOf = primitive::HeldUpload { size, sha256, overwrite, prefix });
same!(struct PrefixOf = primitive::Prefix { size, sha256 });
same!(struct WrittenOf = primitive::Written { size, sha256, created });
same!(struct StatOf = primitive::Stat { kind, size, modified_at, mode });
same!(struct EntryOf = primitive::DirEntry { name, kind });
same!(struct LineOf = primitive::LineMatch { path, line, text });
