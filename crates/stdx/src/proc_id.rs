//! Which process, exactly: a pid together with the moment it started, since pids are reused.

#![expect(clippy::disallowed_methods, reason = "reads /proc, which holds no user's file")]

use std::fs;

/// A process that cannot be mistaken for a later one with the same pid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcId {
    /// The process id.
    pub pid: u32,
    /// Boot id and start time in clock ticks, as the kernel tells them.
    pub token: String,
}

impl ProcId {
    /// Returns the calling process.
    #[must_use]
    pub fn current() -> Self {
        let pid = std::process::id();
        Self { pid, token: start_token(pid).unwrap_or_default() }
    }

    /// Returns the process that has `pid` now, if one lives.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        start_token(pid).map(|token| Self { pid, token })
    }

    /// Tells whether this very process still lives. A zombie does not.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        start_token(self.pid).is_some_and(|token| token == self.token)
    }
}

/// Returns the start token of a live process; none for an absent one and for a zombie.
fn start_token(pid: u32) -> Option<String> {
    let stat = Stat::of(pid).filter(|stat| !stat.zombie)?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Some(format!("{}.{}", boot.trim().get(..8).unwrap_or("0"), stat.started))
}

/// What the kernel tells of a process in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The process id of its parent.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Clock ticks since boot; with the pid it names one process for ever.
    pub started: u64,
    /// Dead and waiting to be waited for. A dead leader of living threads is not that.
    pub zombie: bool,
}

impl Stat {
    /// Looks at the process that has `pid` now; none if it is gone.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads the kernel's line. A process names itself, in parentheses and with any bytes, so that
    /// only what follows the last parenthesis is text.
    fn parse(line: &[u8]) -> Option<Self> {
        let close = line.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // Threads are field 20, the start time field 22; the parent was field 4 and the group field 5.
        let threads: u32 = fields.nth(14)?.parse().ok()?;
        let started = fields.nth(1)?.parse().ok()?;
        let zombie = matches!(state, "Z" | "X") && threads <= 1;
        Some(Self { parent, group, started, zombie })
    }
}

#[cfg(test)]
mod tests;
