//! Facts of this machine that decide how Stead can work on it.

#![expect(
    clippy::disallowed_methods,
    reason = "reads /proc and the ends of our own logs, no user's file"
)]

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use rustix::{
    fs::statfs,
    process::{Resource, getrlimit},
    system::uname,
};
use sandbox::Host;

/// How much of the end of a log is read.
const LOG_BYTES_MAX: u64 = 256 << 10;

/// Names of the file systems that matter here, by the number that the kernel gives.
const FILE_SYSTEMS: &[(&str, &str)] = &[
    ("ef53", "ext"),
    ("58465342", "xfs"),
    ("9123683e", "btrfs"),
    ("1021994", "tmpfs"),
    ("794c7630", "overlayfs"),
    ("6969", "nfs"),
    ("2fc12fc1", "zfs"),
    ("65735546", "fuse"),
    ("1021997", "9p"),
];

/// Tells the facts, one a line.
pub(super) fn facts(home: &Path) -> String {
    let kernel = uname();
    let read = |path: &str| match fs::read_to_string(path) {
        Ok(text) => text.trim().lines().collect::<Vec<_>>().join(" | "),
        Err(error) => error.kind().to_string(),
    };
    let limit = |resource| {
        let limit = getrlimit(resource);
        let said =
            |value: Option<u64>| value.map_or("unlimited".to_owned(), |value| value.to_string());
        format!("{} of {}", said(limit.current), said(limit.maximum))
    };
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let uid = rustix::process::geteuid().as_raw();
    let rows = [
        (
            "kernel",
            format!(
                "{} {}",
                kernel.release().to_string_lossy(),
                kernel.machine().to_string_lossy()
            ),
        ),
        ("user", if uid == 0 { "root".to_owned() } else { format!("uid {uid}") }),
        ("memory", memory.lines().next().unwrap_or_default().to_owned()),
        ("processors", std::thread::available_parallelism().map_or(0, usize::from).to_string()),
        ("cgroup", read("/proc/self/cgroup")),
        ("user namespaces", read("/proc/sys/user/max_user_namespaces")),
        ("unprivileged clone", read("/proc/sys/kernel/unprivileged_userns_clone")),
        ("apparmor userns", read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")),
        ("security modules", read("/sys/kernel/security/lsm")),
        ("state's file system", file_system(home)),
        ("open files", limit(Resource::Nofile)),
        ("processes", limit(Resource::Nproc)),
        ("children", format!("{:?}", Host::probe())),
    ];
    rows.map(|(name, value)| format!("{name:<20} {value}")).join("\n")
}

fn file_system(path: &Path) -> String {
    let there = path.ancestors().find(|dir| dir.exists()).unwrap_or(path);
    match statfs(there) {
        Ok(found) => {
            // The number's type differs between systems; its digits do not.
            let kind = format!("{:x}", found.f_type);
            let known = FILE_SYSTEMS.iter().find(|(number, _)| *number == kind);
            known.map_or(kind.clone(), |(_, name)| (*name).to_owned())
        }
        Err(error) => error.to_string(),
    }
}

/// Returns the end of a log, from the first whole line on.
pub(super) fn read_end(path: &Path) -> io::Result<Option<String>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let from = file.metadata()?.len().saturating_sub(LOG_BYTES_MAX);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let cut = if from > 0 { text.find('\n').map_or(0, |at| at + 1) } else { 0 };
    Ok(Some(text.get(cut..).unwrap_or_default().to_owned()))
}
