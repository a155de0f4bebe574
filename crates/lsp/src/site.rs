//! What all servers of one workspace share: its files, the environment, the bounds. Also paths as servers
//! write them.
//!
//! Files are reached through `confine` alone; a server's word for a file is a text until it was parsed.

use std::{io::Read, os::unix::ffi::OsStrExt, time::Duration};

use confine::{Reason, Root};
use sandbox::{Environment, Host};
use vocab::{
    limits::{
        LSP_CALL_MS, LSP_DOCUMENT_BYTES_MAX, LSP_DOCUMENTS_MAX, LSP_IDLE_MS, LSP_INITIALIZE_MS,
        LSP_MEMORY_BYTES_MAX, LSP_MEMORY_LOOK_MS, LSP_RESTART_WINDOW_MS, LSP_RESTARTS_MAX,
        LSP_SEND_MS, LSP_SERVERS_MAX, LSP_SETTLE_MS,
    },
    outcome::Failure,
    path::{self, Component, RootKind, WorkspacePath},
};

/// The bounds that servers are held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How long a server may take to be ready.
    pub initialize: Duration,
    /// How long a call waits that gave no time of its own.
    pub call: Duration,
    /// How long a server may not read what it is sent.
    pub send: Duration,
    /// Silence after which diagnostics without a version count as those of the present content.
    pub settle: Duration,
    /// How long a server lives that nobody asks.
    pub idle: Duration,
    /// How often memory is looked at, at most.
    pub memory_look: Duration,
    /// Memory of a server and all it started.
    pub memory_bytes_max: u64,
    /// How often a server is started again within the window.
    pub restarts_max: usize,
    /// How long an unplanned end counts.
    pub restart_window: Duration,
    /// Documents open in one server.
    pub documents_max: usize,
    /// Servers that run at the same time.
    pub servers_max: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            initialize: Duration::from_millis(LSP_INITIALIZE_MS),
            call: Duration::from_millis(LSP_CALL_MS),
            send: Duration::from_millis(LSP_SEND_MS),
            settle: Duration::from_millis(LSP_SETTLE_MS),
            idle: Duration::from_millis(LSP_IDLE_MS),
            memory_look: Duration::from_millis(LSP_MEMORY_LOOK_MS),
            memory_bytes_max: LSP_MEMORY_BYTES_MAX,
            restarts_max: LSP_RESTARTS_MAX,
            restart_window: Duration::from_millis(LSP_RESTART_WINDOW_MS),
            documents_max: LSP_DOCUMENTS_MAX,
            servers_max: LSP_SERVERS_MAX,
        }
    }
}

/// What servers share.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) root: Root,
    pub(crate) environment: Environment,
    pub(crate) host: Host,
    pub(crate) bounds: Bounds,
}

/// Tells one state of a file from the next without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Print(confine::dir::FileId, u64, i128);

impl Site {
    /// Parses a path of a call.
    pub(crate) fn parse(&self, text: &str) -> Result<WorkspacePath, Failure> {
        self.without_parents(self.root.parse(text)?)
    }

    /// Takes `..` back by name, which is refused where that leads elsewhere.
    pub(crate) fn without_parents(&self, path: WorkspacePath) -> Result<WorkspacePath, Failure> {
        if path.root() != RootKind::Workspace {
            let message = format!("{path}: language servers see the workspace alone");
            return Err(Failure::not_started("path_outside_root", message));
        }
        if !path.components().contains(&Component::Parent) {
            return Ok(path);
        }
        let mut plain = WorkspacePath::root_of(RootKind::Workspace);
        for component in path.components() {
            plain = match component {
                Component::Name(name) => plain
                    .child(name)
                    .map_err(|error| Failure::not_started(error.code(), error.to_string()))?,
                Component::Parent => plain.parent().ok_or_else(|| {
                    Failure::not_started(
                        "path_outside_root",
                        format!("{path}: leads outside the workspace"),
                    )
                })?,
            };
        }
        if self.root.stat(&path)?.id == self.root.stat(&plain)?.id {
            return Ok(plain);
        }
        let message = format!("{path}: leads through a link and back");
        Err(Failure::not_started("invalid_path", message).with_hint("name the file without .."))
    }

    /// Tells the state of a file without reading it.
    pub(crate) fn print(&self, path: &WorkspacePath) -> Option<Print> {
        let meta = self.root.stat(path).ok()?;
        Some(Print(meta.id, meta.len, meta.modified_ns))
    }

    /// Reads a whole text. Blocks.
    pub(crate) fn read(&self, path: &WorkspacePath) -> Result<(String, Print), Failure> {
        let opened = self.root.open_file(path)?;
        let print = Print(opened.meta.id, opened.meta.len, opened.meta.modified_ns);
        let mut bytes = Vec::new();
        opened
            .file
            .take(LSP_DOCUMENT_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::not_started("io", format!("{path}: {error}")))?;
        if bytes.len() as u64 > LSP_DOCUMENT_BYTES_MAX {
            let message = format!(
                "{path} is larger than a language server is shown ({LSP_DOCUMENT_BYTES_MAX} bytes)"
            );
            return Err(Failure::not_started("too_large", message));
        }
        let text = String::from_utf8(bytes).ok().ok_or_else(|| {
            Failure::not_started(
                "not_text",
                format!("{path} is not UTF-8, which language servers need"),
            )
        })?;
        Ok((text, print))
    }

    /// Tells whether nothing is at a path any more.
    pub(crate) fn is_gone(&self, path: &WorkspacePath) -> bool {
        self.root.stat(path).is_err_and(|error| error.reason == Reason::NotFound)
    }

    /// Finds the directory that a file's server is rooted in: the nearest one that holds a marker, else the
    /// workspace's root.
    pub(crate) fn rooted(&self, path: &WorkspacePath, markers: &[String]) -> WorkspacePath {
        let mut dir = path.parent();
        while let Some(at) = dir {
            let has = |marker: &String| {
                at.child(marker.as_ref()).is_ok_and(|path| self.root.lstat(&path).is_ok())
            };
            if markers.iter().any(has) {
                return at;
            }
            dir = at.parent();
        }
        WorkspacePath::root_of(RootKind::Workspace)
    }

    /// Writes a path as servers know it.
    pub(crate) fn uri(&self, path: &WorkspacePath) -> String {
        let mut uri = String::from("file://");
        let mut push = |bytes: &[u8]| {
            for byte in bytes {
                let plain = byte.is_ascii_alphanumeric() || b"/-._~".contains(byte);
                if plain {
                    uri.push(char::from(*byte))
                } else {
                    uri.push_str(&format!("%{byte:02X}"))
                }
            }
        };
        push(self.root.real().as_os_str().as_bytes());
        for component in path.components() {
            if let Component::Name(name) = component {
                push(b"/");
                push(name.as_bytes());
            }
        }
        uri
    }

    /// Reads a server's word for a file; none when that is no file of the workspace.
    pub(crate) fn path(&self, uri: &str) -> Option<WorkspacePath> {
        let path = path::parse(uri, self.root.roots()).ok()?;
        let inside = uri.starts_with("file:") && path.root() == RootKind::Workspace;
        (inside && !path.components().contains(&Component::Parent)).then_some(path)
    }
}

/// Takes out of a server's words what could pose as something else on a terminal, and cuts them.
pub(crate) fn plain(text: &str, bytes_max: usize) -> String {
    let mut out = String::new();
    for ch in text.chars() {
        let shown = match ch {
            '\n' | '\t' => ch,
            '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
                '\u{FFFD}'
            }
            ch if ch.is_control() => continue,
            ch => ch,
        };
        if out.len() + shown.len_utf8() > bytes_max {
            out.push('…');
            break;
        }
        out.push(shown);
    }
    out
}
