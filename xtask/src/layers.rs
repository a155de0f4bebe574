//! The layers: which crate may use which, and why. An edge without a row here is refused.
//!
//! `stdx` and `vocab` are open to everybody above them and stand in no row. Rows may name rooms that
//! are not built yet, so that their place is decided before their first line.

/// A crate's place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The crate.
    pub(crate) name: &'static str,
    /// Its layer. Edges only point to a lower one.
    pub(crate) level: u8,
    /// The crates it may use, besides `stdx` and `vocab`.
    pub(crate) may_use: &'static [&'static str],
    /// What the row protects.
    pub(crate) because: &'static str,
}

/// Crates that every higher crate may use.
pub(crate) const OPEN: &[&str] = &["stdx", "vocab"];

/// Crates whose code also runs where no runtime may: between fork and exec, in a host that must stay
/// tiny, or on threads that kernel restrictions apply to one by one.
pub(crate) const RUNTIME_FREE: &[&str] =
    &["confine", "sandbox", "screen", "arbiter", "pty", "worktree"];

/// Crates that may give their types a wire shape, and why.
pub(crate) const MAY_SERIALIZE: &[(&str, &str)] = &[
    ("vocab", "the published words"),
    ("api", "the wire's requests and responses"),
    ("store", "rows that hold JSON"),
    ("provider", "the dialects of model vendors"),
    ("workspace-remote", "the workspace protocol"),
    (
        "arbiter",
        "files of rules, the explanation of a verdict, and what one host hands to the next",
    ),
    ("pty", "the files of a job and the frames of its host"),
    ("cli", "the stable output of --json"),
    ("testkit", "scripts and servers for tests"),
    ("xtask", "never part of the product"),
];

/// The table, from the ground up.
#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    Row { name: "stdx", level: 0, may_use: &[],
        because: "batteries know nothing of the domain" },
    Row { name: "vocab", level: 1, may_use: &[],
        because: "words are data; whoever speaks them must not drag machinery along" },
    Row { name: "workspace", level: 2, may_use: &[],
        because: "a seam that knew an implementation would be none" },
    Row { name: "provider", level: 2, may_use: &[],
        because: "a vendor's dialect sees a prompt, never a path, a session or a tool's code" },
    Row { name: "store", level: 2, may_use: &[],
        because: "storage holds rows and calls nobody" },
    Row { name: "confine", level: 2, may_use: &[],
        because: "what keeps paths inside is small enough to be read whole" },
    Row { name: "sandbox", level: 2, may_use: &[],
        because: "where children are born nobody knows what the command is for" },
    Row { name: "screen", level: 2, may_use: &[],
        because: "a screen is a function of a program's bytes; processes and clients are others' business" },
    Row { name: "arbiter", level: 2, may_use: &[],
        because: "what facts mean is a pure function; whoever gathers them is replaced without it" },
    Row { name: "workspace-local", level: 3, may_use: &["workspace", "confine", "sandbox"],
        because: "files come from confine, children from sandbox, and callers see the seam only" },
    Row { name: "workspace-remote", level: 3, may_use: &["workspace"],
        because: "a pipe between two workspaces executes nothing itself" },
    Row { name: "mcp", level: 3, may_use: &["workspace", "sandbox"],
        because: "a foreign tool server is one more source of tools, started as a confined child" },
    Row { name: "pty", level: 3, may_use: &["arbiter", "sandbox", "screen"],
        because: "a host outlives the daemon and must stay tiny" },
    Row { name: "worktree", level: 3, may_use: &["sandbox"],
        because: "git is a child like others; what saves work knows no job and is read whole" },
    Row { name: "lsp", level: 3, may_use: &["workspace", "confine", "sandbox"],
        because: "a language server is a source of tools, started as a confined child, whose word for a file opens none" },
    Row { name: "agent", level: 4, may_use: &["workspace", "provider"],
        because: "the loop talks to seams, so that it can be tested without a disk or a network" },
    Row { name: "daemon", level: 4, may_use: &["arbiter", "workspace", "store", "pty", "worktree"],
        because: "the host knows no model and no wire; a bare daemon serves its own capabilities" },
    Row { name: "api", level: 4, may_use: &[],
        because: "clients and servers share the wire's words and nothing else" },
    Row { name: "writers", level: 4, may_use: &["workspace", "sandbox", "store"],
        because: "clones, containers and leases are no business of the loop" },
    Row { name: "sessions", level: 5, may_use: &["agent", "daemon", "provider", "workspace", "store"],
        because: "the tenant joins loop, seams and storage, and is the only one who does" },
    Row { name: "delegation", level: 6, may_use: &["sessions", "daemon", "writers", "workspace", "store"],
        because: "a delegated task is a session under a profile, not a second loop" },
    Row { name: "gateway", level: 7, may_use: &["api", "daemon", "sessions", "delegation", "workspace"],
        because: "a face decodes, calls and encodes; it reaches no store and no provider" },
    Row { name: "tui", level: 7, may_use: &["api", "pty"],
        because: "a screen is one more client" },
    Row { name: "acp", level: 7, may_use: &["api"],
        because: "an editor's face is a thin client; sessions survive it" },
    Row { name: "mcp-door", level: 7, may_use: &["api", "mcp", "delegation"],
        because: "foreign agents pass the same perimeter as everyone" },
    Row { name: "cli", level: 8, may_use: &[
        "acp", "agent", "api", "arbiter", "confine", "daemon", "delegation", "gateway", "lsp", "mcp", "mcp-door",
        "provider", "pty", "sandbox", "sessions", "store", "tui", "workspace", "workspace-local",
        "workspace-remote", "writers"],
        because: "the one place where implementations meet seams" },
    Row { name: "testkit", level: 9, may_use: &[],
        because: "every crate's tests may use it, so it may need none of them" },
    Row { name: "fuzzed", level: 9, may_use: &["agent", "api", "provider", "pty", "screen", "workspace", "workspace-remote"],
        because: "what every decoder must hold is asked of all of them in one place" },
    Row { name: "xtask", level: 10, may_use: &["api", "screen", "store", "testkit", "workspace", "workspace-local"],
        because: "checks read the tables of the product; the benchmark asks tools, store and screen from outside" },
];

/// Returns a crate's row.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}
