//! Whether two paths lead to one thing.
//!
//! Not here: whether a path may be opened. What it leads to may be another thing by then.

use std::path::Path;

use rustix::fs::stat;

/// Tells whether two paths lead to one file, directory or socket, links followed. Two that lead nowhere
/// are not the same.
#[must_use]
pub fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| stat(path).ok().map(|meta| (meta.st_dev, meta.st_ino));
    place(one).is_some_and(|one| Some(one) == place(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_to_one_thing_are_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        std::os::unix::fs::symlink(path("socket"), path("link")).unwrap();
        let check = |one: &str, other: &str, expected: bool| {
            assert_eq!(is_same(&path(one), &path(other)), expected, "{one:?} {other:?}");
        };
        check("socket", "socket", true);
        check("socket", "link", true);
        check("./link", "socket", true);
        check("socket", ".", false);
        check("none", "none", false);
        check("none", "socket", false);
    }
}
