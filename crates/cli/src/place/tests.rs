//! Which directories are trusted.

#![expect(clippy::disallowed_methods, reason = "makes directories and links the plain way")]

use super::*;

#[test]
fn trust_reaches_down_and_no_further() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["a/b/c", "ab"] {
        std::fs::create_dir_all(at(name)).unwrap();
    }
    std::os::unix::fs::symlink(at("a/b"), at("link")).unwrap();
    let check = |place: &str, trusted: &[&str], expected: bool| {
        let trusted: Vec<PathBuf> = trusted.iter().map(|name| at(name)).collect();
        let real = std::fs::canonicalize(at(place)).unwrap();
        assert_eq!(is_below(&real, &trusted), expected, "{place} of {trusted:?}");
    };
    check("a", &[], false);
    check("a", &["a"], true);
    check("a/b/c", &["a"], true);
    check("a", &["a/b"], false);
    check("ab", &["a"], false);
    check("ab", &["missing", "ab"], true);
    // By what they are: the trusted one may be named by a link, and so may the place.
    check("a/b/c", &["link"], true);
    check("link", &["a"], true);
    check("link", &["ab"], false);
}
