//! Private files: whole, private, never through a link, and without leftovers.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn published_content_is_private_and_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.json");
    publish(&path, b"one").unwrap();
    publish(&path, b"two").unwrap();
    assert_eq!(read(&path, 64).unwrap().unwrap(), b"two");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_looser_file_is_refused_with_the_command_that_mends_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    publish(&path, b"x").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let error = read(&path, 64).unwrap_err().to_string();
    assert!(error.contains("chmod 600"), "{error}");
    let inner = dir.path().join("d");
    fs::create_dir(&inner).unwrap();
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(ensure_dir(&inner).unwrap_err().to_string().contains("chmod 700"));
}

#[test]
fn what_killed_publications_left_is_swept_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let hex = "0123456789abcdef0123456789abcdef";
    let left = dir.path().join(format!(".openai.{hex}.tmp"));
    let kept = [
        "openai".to_owned(),
        format!("openai.{hex}.tmp"),
        format!(".{hex}.tmp"),
        format!(".openai.{}.tmp", &hex[1..]),
        format!(".openai.{hex}.tmp.bak"),
    ];
    for name in &kept {
        fs::write(dir.path().join(name), "x").unwrap();
    }
    fs::write(&left, "sk-canary").unwrap();
    fs::create_dir(dir.path().join(format!(".dir.{hex}.tmp"))).unwrap();
    symlink(&left, dir.path().join(format!(".link.{hex}.tmp"))).unwrap();
    let written = Timestamp::from_millis(1_000_000);
    let times = fs::FileTimes::new()
        .set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000));
    File::options().write(true).open(&left).unwrap().set_times(times).unwrap();
    // One that is not older may be somebody's at work.
    assert_eq!(sweep(dir.path(), written).unwrap(), 0);
    assert_eq!(sweep(dir.path(), Timestamp::from_millis(1_000_001)).unwrap(), 1);
    assert!(!left.exists());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), kept.len() + 2);
    assert_eq!(sweep(&dir.path().join("none"), written).unwrap(), 0);
}

#[test]
fn the_temporary_of_a_publication_is_one_that_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    // The rename onto a directory fails; removing the temporary is what a kill would keep from happening.
    let name = format!(".a.json.{}.tmp", uuid::Uuid::new_v4().simple());
    assert!(is_temporary(OsStr::new(&name)));
    fs::create_dir(dir.path().join("a.json")).unwrap();
    assert!(publish(&dir.path().join("a.json"), b"x").is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_tree_is_removed_and_what_its_links_lead_to_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (tree, outside) = (dir.path().join("tree"), dir.path().join("outside"));
    fs::create_dir_all(tree.join("deep")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "kept").unwrap();
    symlink(&outside, tree.join("deep/link")).unwrap();
    assert!(!remove_empty(&tree).unwrap());
    assert_eq!(names(&tree, None, 9).unwrap(), ["deep"]);
    assert!(remove_tree(&tree).unwrap());
    assert!(!remove_tree(&tree).unwrap());
    symlink(&outside, &tree).unwrap();
    assert!(remove_tree(&tree).unwrap());
    assert!(names(&tree, None, 9).unwrap().is_empty());
    assert!(!remove_empty(&tree).unwrap());
    assert_eq!(fs::read(outside.join("kept")).unwrap(), b"kept");
}

#[test]
fn a_tree_that_may_not_be_changed_is_removed_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (tree, outside) = (dir.path().join("tree"), dir.path().join("outside"));
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    let lock = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    fs::create_dir_all(tree.join("cache/module")).unwrap();
    fs::create_dir_all(tree.join("closed")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(tree.join("cache/module/file"), "x").unwrap();
    symlink(&outside, tree.join("cache/link")).unwrap();
    for (name, mode) in [("cache/module", 0o555), ("cache", 0o555), ("closed", 0), ("", 0o500)] {
        lock(&tree.join(name), mode).unwrap();
    }
    lock(&outside, 0o555).unwrap();
    // Root needs no mode, so what the modes become is asked as well.
    unlock::tree(&tree).unwrap();
    let modes = ["cache/module", "cache", "closed", ""].map(|name| mode(&tree.join(name)));
    assert_eq!(modes, [0o755, 0o755, 0o700, 0o700]);
    assert_eq!(mode(&outside), 0o555, "a link was followed");

    lock(&tree.join("cache/module"), 0o555).unwrap();
    lock(&tree.join("cache"), 0o555).unwrap();
    assert!(remove_tree(&tree).unwrap());
    assert!(!tree.exists() && outside.exists());
}

#[test]
fn names_come_in_order_and_no_more_than_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["d", "b", "a", "c"] {
        fs::create_dir(dir.path().join(name)).unwrap();
    }
    let check = |after: Option<&str>, n_max, expected: &[&str]| {
        assert_eq!(names(dir.path(), after.map(OsStr::new), n_max).unwrap(), expected);
    };
    check(None, 9, &["a", "b", "c", "d"]);
    check(None, 2, &["a", "b"]);
    check(Some("b"), 2, &["c", "d"]);
    check(Some("d"), 2, &[]);
}

#[test]
fn a_link_is_never_followed() {
    let dir = tempfile::tempdir().unwrap();
    publish(&dir.path().join("real"), b"x").unwrap();
    symlink(dir.path().join("real"), dir.path().join("link")).unwrap();
    assert!(read(&dir.path().join("link"), 64).is_err());
    assert!(open_or_create(&dir.path().join("link")).is_err());
    assert_eq!(read(&dir.path().join("missing"), 64).unwrap(), None);
}

#[test]
fn a_file_over_its_bound_is_refused_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    for (len, refused) in [(63, false), (64, false), (65, true)] {
        publish(&path, &vec![b'x'; len]).unwrap();
        for read in [read, read_config] {
            match read(&path, 64) {
                Ok(bytes) => assert!(!refused && bytes.unwrap().len() == len),
                Err(error) => assert!(refused && error.to_string().contains("64 bytes"), "{error}"),
            }
        }
    }
}

#[test]
fn a_quota_that_is_used_up_is_a_full_disk() {
    use rustix::io::Errno;
    for (errno, full) in [(Errno::NOSPC, true), (Errno::DQUOT, true), (Errno::IO, false)] {
        assert_eq!(is_full(&errno.into()), full, "{errno:?}");
    }
}
