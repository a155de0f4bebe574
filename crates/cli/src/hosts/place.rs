//! Where hosts live, so that the end of the daemon's service does not end them.
//!
//! A service manager ends what stands in a service's control group. A scope of the user's manager is the
//! right way out; a group beside the daemon's is the next best; without either a host is no worse off than
//! the daemon.

#![expect(clippy::disallowed_methods, reason = "reads /proc, which holds no user's file")]

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, AtFlags, Mode, access, mkdir, unlinkat},
    io::Errno,
};
use stdx::program;
use vocab::ids::JobId;

use crate::role::host::{CGROUP, DETACH, WORD};

/// The beginning of the names of what is made for one host.
const PREFIX: &str = "stead-job-";

/// Our own executable, as whoever is started with it as standard error finds it: this very build, also while the
/// file is being replaced, and also where the daemon has died by then.
pub(super) const OWN: &str = "/proc/self/fd/2";

/// What starts a program in a scope of its own.
const RUNNER: &str = "systemd-run";

/// The mode of a group's directory.
const GROUP_MODE: Mode = Mode::from_raw_mode(0o750);

/// Where hosts live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In scopes of the user's service manager, which this program starts.
    Scope(PathBuf),
    /// In control groups below this one, beside the daemon's own.
    Beside(PathBuf),
    /// Wherever the daemon lives, in sessions of their own.
    Session,
}

impl Place {
    /// Finds the best place there is.
    pub(crate) fn find(environment: &[(OsString, OsString)]) -> Self {
        let get = |wanted: &str| {
            let found = environment.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_os_str())
        };
        // The manager's own socket: it is there as long as the manager is.
        let manager = get("XDG_RUNTIME_DIR").map(|dir| Path::new(dir).join("systemd/private"));
        if manager.is_some_and(|socket| socket.exists())
            && let Some(runner) = get("PATH").and_then(|path| program::find(path, RUNNER.as_ref()))
        {
            return Self::Scope(runner);
        }
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        match beside(&own, &mounts).filter(|dir| may_move(dir)) {
            Some(dir) => {
                sweep(&dir);
                Self::Beside(dir)
            }
            None => Self::Session,
        }
    }

    /// Returns the command that starts a host there.
    pub(super) fn command(&self, id: &JobId) -> Vec<OsString> {
        let id = id.as_str();
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let mut plain = words(&["/proc/self/exe", WORD, id, DETACH]);
        match self {
            Self::Session => plain,
            Self::Beside(parent) => {
                let dir = parent.join(format!("{PREFIX}{id}"));
                // One that is started again may find its old group. Without one it lives where the daemon does.
                if matches!(mkdir(&dir, GROUP_MODE), Ok(()) | Err(Errno::EXIST)) {
                    plain.extend([CGROUP.into(), dir.into_os_string()]);
                }
                plain
            }
            Self::Scope(runner) => {
                let unit = format!("--unit={PREFIX}{id}");
                let about = format!("--description=Stead job {id}");
                let mut command = vec![runner.clone().into_os_string()];
                command.extend(words(&[
                    "--user",
                    "--scope",
                    "--collect",
                    "--quiet",
                    &unit,
                    &about,
                ]));
                // The manager's program becomes the host in place.
                command.extend(words(&["--", OWN, WORD, id, DETACH]));
                command
            }
        }
    }

    /// Removes what was made for a host that has ended.
    pub(super) fn forget(&self, id: &JobId) {
        if let Self::Beside(parent) = self {
            remove(&parent.join(format!("{PREFIX}{id}")));
        }
    }
}

/// Returns the group above our own; none where we are in no group of the second version, or at its top.
fn beside(own: &str, mounts: &str) -> Option<PathBuf> {
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let above = Path::new(own.trim_end()).parent()?;
    let mount = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (place, kind) = (fields.nth(1)?, fields.next()?);
        (kind == "cgroup2").then_some(place)
    })?;
    Some(Path::new(mount).join(above.strip_prefix("/").ok()?))
}

/// Tells whether processes may be moved from our group into one below `dir`.
fn may_move(dir: &Path) -> bool {
    let may = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    may(dir) && may(&dir.join("cgroup.procs"))
}

/// Removes the groups of hosts that ended while no daemon looked.
fn sweep(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            remove(&entry.path());
        }
    }
}

/// Removes a group; one that somebody is in stays.
fn remove(dir: &Path) {
    unlinkat(rustix::fs::CWD, dir, AtFlags::REMOVEDIR).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_beside_our_own_is_below_the_one_above() {
        let mounts = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n";
        let check = |own: &str, mounts: &str, expected: Option<&str>| {
            assert_eq!(beside(own, mounts).as_deref(), expected.map(Path::new), "{own}");
        };
        let service = "0::/user.slice/user-1.slice/user@1.service/app.slice/stead.service\n";
        let slice = "/sys/fs/cgroup/user.slice/user-1.slice/user@1.service/app.slice";
        check(service, mounts, Some(slice));
        check("0::/stead.service\n", mounts, Some("/sys/fs/cgroup"));
        check("0::/\n", mounts, None);
        check("1:memory:/x\n", mounts, None);
        check(service, "proc /proc proc rw 0 0\n", None);
    }

    #[test]
    fn a_host_is_started_where_its_place_is() {
        let id: JobId = "0123abcd".parse().unwrap();
        let words = |place: &Place| -> Vec<String> {
            let command = place.command(&id);
            command.into_iter().map(|word| word.into_string().unwrap()).collect()
        };
        let plain = ["/proc/self/exe", "host", "0123abcd", "--detach"];
        assert_eq!(words(&Place::Session), plain);
        let dir = tempfile::tempdir().unwrap();
        let group = dir.path().join("stead-job-0123abcd");
        let beside = Place::Beside(dir.path().to_owned());
        let told = words(&beside);
        assert_eq!(
            (&told[..4], &told[4..]),
            (
                &plain.map(str::to_owned)[..],
                &["--cgroup".to_owned(), group.display().to_string()][..]
            )
        );
        assert!(group.is_dir());
        // Started again it is the same one; ended it is gone.
        assert_eq!(words(&beside), told);
        beside.forget(&id);
        assert!(!group.exists());
        let scope = words(&Place::Scope("/usr/bin/systemd-run".into()));
        assert_eq!(
            scope[..5],
            ["/usr/bin/systemd-run", "--user", "--scope", "--collect", "--quiet"]
        );
        assert_eq!(scope[scope.len() - 5..], ["--", OWN, "host", "0123abcd", "--detach"]);
    }
}
