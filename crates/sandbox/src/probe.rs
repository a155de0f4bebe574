//! What this machine can do for children, found out once. `doctor` prints it.
//!
//! Not here: repairing anything, and any effect of looking. The two acts of preparation,
//! [`become_subreaper`] and [`seal_descriptors`], are called by the role that wants them.

use std::{io, path::PathBuf};

use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, set_child_subreaper};

use crate::{cgroup, proc_fs};

/// What this machine can do.
#[derive(Debug, Clone)]
pub struct Host {
    /// Processes can be named by handle (Linux 5.3). Without it nothing is started.
    pub pidfd: bool,
    /// Orphans of our children come to us, so that they are found without looking at every process.
    pub subreaper: bool,
    /// Our own control group (version 2), where groups below it could be made and killed whole.
    pub cgroup: Option<PathBuf>,
}

impl Host {
    /// Looks at the machine and at this process.
    #[must_use]
    pub fn probe() -> Self {
        let me = getpid();
        Self {
            pidfd: pidfd_open(me, PidfdFlags::empty()).is_ok(),
            subreaper: is_subreaper() && proc_fs::adopted_children().is_some(),
            cgroup: cgroup::delegated(),
        }
    }
}

/// Makes this process the one that inherits its children's orphans. Called once by the daemon role.
///
/// # Errors
/// When the kernel refuses, which no kernel since 3.4 does.
pub fn become_subreaper() -> io::Result<()> {
    // The argument is only compared with zero.
    Ok(set_child_subreaper(Pid::from_raw(1))?)
}

/// Tells whether orphans come to this process.
pub(crate) fn is_subreaper() -> bool {
    rustix::process::child_subreaper().is_ok_and(|on| on.is_some())
}

/// Marks every open descriptor above standard error as closed on exec, so that nothing inherited from
/// whoever started us reaches a child. Called once at start; what Rust opens later is marked anyway.
///
/// # Errors
/// When the kernel has no such call (before 5.11); children are then sealed only by what they close.
pub fn seal_descriptors() -> io::Result<()> {
    crate::spawn::close_on_exec_from(3)
}
