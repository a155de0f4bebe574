//! Processes held by a handle, so that nobody mistakes a number that was given again for the process
//! that had it. A zombie is gone.

#![expect(clippy::disallowed_methods, reason = "reads what the kernel tells about processes")]

use std::{fs, os::fd::OwnedFd, path::Path, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

/// A process.
#[derive(Debug)]
pub struct Watched {
    /// Its number.
    pub pid: u32,
    handle: OwnedFd,
}

impl Watched {
    /// Takes a handle on a process that lives.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        let handle = pidfd_open(raw, PidfdFlags::empty()).ok()?;
        Some(Self { pid, handle })
    }

    /// Waits for its end; tells whether it came.
    #[must_use]
    pub fn gone(&self, within: Duration) -> bool {
        let limit = Timespec::try_from(within).ok();
        let mut fds = [PollFd::new(&self.handle, PollFlags::IN)];
        loop {
            match poll(&mut fds, limit.as_ref()) {
                Ok(ready) => return ready > 0,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Sends a signal; one that is gone does not mind.
    pub fn signal(&self, signal: Signal) {
        pidfd_send_signal(&self.handle, signal).ok();
    }

    /// Ends it by force.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }
}

/// Returns the living processes whose environment names `root` or that work below it.
#[must_use]
pub fn processes(root: &Path) -> Vec<Watched> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    all.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != std::process::id())
        .filter_map(Watched::of)
        // The handle was taken first: what is read now is about that process or one that is gone.
        .filter(|process| belongs(process.pid, root) && !process.gone(Duration::ZERO))
        .collect()
}

fn belongs(pid: u32, root: &Path) -> bool {
    let below = |link: &str| {
        fs::read_link(format!("/proc/{pid}/{link}")).is_ok_and(|path| path.starts_with(root))
    };
    let named = || {
        let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let name = root.as_os_str().as_encoded_bytes();
        bytes.windows(name.len()).any(|window| window == name)
    };
    below("cwd") || named()
}
