//! What control groups tell: whether a child could have one of its own, and who ran out of memory.
//!
//! Children are not moved into a group of their own. Moving a process costs about 8 ms on a machine at
//! rest (the kernel waits for every processor once), which is five times the whole start; being born
//! inside one is free, and belongs to the backend that also sets limits. Until then descendants are
//! known by adoption, group, marker and ancestry (see `tree`).

use std::path::{Path, PathBuf};

use crate::proc_fs::text;

/// Returns our own version 2 group, if groups below it can be made and killed whole.
pub(crate) fn delegated() -> Option<PathBuf> {
    let own = text(Path::new("/proc/self/cgroup"))?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let dir = mount("cgroup2", "")?.join(own.trim_start_matches('/'));
    let writable = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    (writable(&dir) && writable(&dir.join("cgroup.procs"))).then_some(dir)
}

/// Returns how many processes of our group the kernel has killed for want of memory.
pub(crate) fn oom_kills() -> Option<u64> {
    let groups = text(Path::new("/proc/self/cgroup"))?;
    groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let (kind, file) = match controllers {
            "" => ("cgroup2", "memory.events"),
            "memory" => ("cgroup", "memory.oom_control"),
            _ => return None,
        };
        let dir = mount(kind, controllers)?.join(path.trim_start_matches('/'));
        let counts = text(&dir.join(file))?;
        counts.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    })
}

/// Returns where a hierarchy is mounted.
fn mount(kind: &str, controller: &str) -> Option<PathBuf> {
    let mounts = text(Path::new("/proc/self/mounts"))?;
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (place, found, options) = (fields.nth(1)?, fields.next()?, fields.next()?);
        let right = controller.is_empty() || options.split(',').any(|option| option == controller);
        (found == kind && right).then(|| PathBuf::from(place))
    })
}
