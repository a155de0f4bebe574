//! How the servers are, for people.

/// How far a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It does not run; the next call starts it.
    Stopped,
    /// It is being started.
    Starting,
    /// It answers.
    Ready,
    /// It could not be started, or ended by itself, or may not be used; the error says which.
    Failed,
}

/// A server, for one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its name in the configuration.
    pub name: String,
    /// The languages it is asked about.
    pub languages: Vec<String>,
    /// The directory it is rooted in, below the workspace.
    pub root: String,
    /// How far it is.
    pub state: State,
    /// Its process, where it is started here and runs.
    pub pid: Option<u32>,
    /// Bytes that it and what it started held when it was last looked at.
    pub rss: Option<u64>,
    /// What went wrong last; control characters are taken out.
    pub last_error: Option<String>,
}
