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
}
