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

    /// Tells whether this very process holds a signal back, as those do that read it from a descriptor: it
    /// cannot die of it.
    ///
    /// One that is being born holds all of them back, and lets go before it becomes its program. So whoever
    /// holds back the one that no program waits for does not count.
    #[must_use]
    pub fn holds_back(&self, signal: i32) -> bool {
        let Ok(status) = fs::read_to_string(format!("/proc/{}/status", self.pid)) else {
            return false;
        };
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
        let blocked = blocked.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        let has = |mask: u64, signal: i32| {
            let bit = u32::try_from(signal - 1).ok().and_then(|bit| 1_u64.checked_shl(bit));
            bit.is_some_and(|bit| mask & bit != 0)
        };
        // Asked for last, so that what was read is of this process and of no later one.
        blocked.is_some_and(|mask| has(mask, signal) && !has(mask, libc::SIGSEGV))
            && self.is_alive()
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
