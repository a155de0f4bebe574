//! Own files, counted and compared.

#![expect(clippy::disallowed_methods, reason = "tests build trees the plain way")]

use std::fs;

use super::*;

#[test]
fn too_many_protected_files_fail_closed() {
    let base = tempfile::tempdir().unwrap();
    let protected = base.path().join("state");
    fs::create_dir(&protected).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(protected.join(name), "").unwrap();
    }
    fs::write(base.path().join("one"), "").unwrap();
    fs::write(base.path().join("two"), "").unwrap();
    fs::hard_link(base.path().join("two"), base.path().join("two-again")).unwrap();
    let meta = |name: &str| Meta::from_stat(&rustix::fs::stat(base.path().join(name)).unwrap());
    let check = |max: usize, name: &str| {
        let guarded = Guarded::with_entries_max(vec![protected.clone()], Vec::new(), max);
        guarded.check_file_now(&meta(name), false)
    };
    assert_eq!(check(3, "two"), Ok(()));
    assert_eq!(check(2, "two"), Err(Reason::Protected));
    assert_eq!(check(2, "one"), Ok(()));
    // Through a mount the inside of a protected directory has no name that gives it away.
    fs::create_dir(protected.join("d")).unwrap();
    fs::create_dir(base.path().join("other")).unwrap();
    let elsewhere = Path::new("/proc");
    let check = |max: usize, path: &Path, crossed: bool| {
        let guarded = Guarded::with_entries_max(vec![protected.clone()], Vec::new(), max);
        guarded.check_dir(id_of(path).unwrap(), crossed)
    };
    for (max, path, crossed, wanted) in [
        (4, &*protected.join("d"), true, Err(Reason::Protected)),
        (4, &*base.path().join("other"), true, Ok(())),
        (1, &*protected.join("d"), true, Err(Reason::Protected)),
        (1, &*base.path().join("other"), true, Err(Reason::Protected)),
        (1, &*base.path().join("other"), false, Ok(())),
        (1, elsewhere, true, Ok(())),
    ] {
        assert_eq!(check(max, path, crossed), wanted, "{max} {} {crossed}", path.display());
    }
}

#[test]
fn a_place_that_cannot_be_counted_is_closed_on_its_device() {
    let base = tempfile::tempdir().unwrap();
    let (first, second) = (base.path().join("first"), PathBuf::from("/proc/sys"));
    fs::create_dir(&first).unwrap();
    fs::write(first.join("a"), "").unwrap();
    fs::write(first.join("b"), "").unwrap();
    // The scan ends in one of them; what it never came to lies on another device.
    for paths in [vec![first.clone(), second.clone()], vec![second, first]] {
        let guarded = Guarded::with_entries_max(paths, Vec::new(), 1);
        for path in [base.path(), Path::new("/proc/self")] {
            let found = guarded.check_dir(id_of(path).unwrap(), true);
            assert_eq!(found, Err(Reason::Protected), "{}", path.display());
        }
    }
}
