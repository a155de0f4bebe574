//! What is told of a walk besides its results. Counting is done where things are left out.

/// What a walk left out, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Files and whole directories that ignore rules name.
    pub ignored: usize,
    /// Directories that could not be opened or read.
    pub unreadable: usize,
    /// Directories of Stead's own.
    pub protected: usize,
    /// Directories on other mounts.
    pub other_mount: usize,
    /// Directories below the deepest level.
    pub too_deep: usize,
    /// Directories with more entries than are sorted.
    pub oversized: usize,
}

/// How a walk went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Entries that were visited.
    pub visited: usize,
    /// What was left out.
    pub skipped: Skipped,
    /// Whether the walk ended before its time, by the flag or by the receiver.
    pub stopped: bool,
}
