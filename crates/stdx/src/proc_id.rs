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
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name stands in parentheses and may hold spaces and parentheses itself.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    let started = fields.nth(18)?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Some(format!("{}.{started}", boot.trim().get(..8).unwrap_or("0")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_another_start_is_not_it() {
        let me = ProcId::current();
        assert!(me.is_alive());
        assert!(!ProcId { token: "0.1".into(), ..me }.is_alive());
        assert_eq!(ProcId::of(u32::MAX), None);
    }
}
