//! Which words are workspaces and which are paths.

use super::*;

#[test]
fn names_before_a_colon_are_workspaces_and_the_rest_is_here() {
    let here = |path: &Path| Ok(path.to_path_buf());
    let check = |text: &str, workspace: Option<&str>, path: &str| {
        let end = end(text, here).unwrap();
        assert_eq!(end.workspace.as_deref(), workspace, "{text}");
        match workspace {
            Some(_) => assert_eq!(end.path, path, "{text}"),
            None => assert!(end.path.ends_with(path), "{text}: {}", end.path),
        }
    };
    check("box:a/b", Some("box"), "a/b");
    check("box:", Some("box"), "");
    check("my-box_1.x:a:b", Some("my-box_1.x"), "a:b");
    check("local:box:a", None, "/box:a");
    check("./box:a", None, "/./box:a");
    check("/box:a", None, "/box:a");
    check("a", None, "/a");
    check(":a", None, "/:a");
    assert_eq!(end("", here).unwrap_err().code, "invalid_field");
    assert_eq!(end("local:", here).unwrap_err().code, "invalid_field");
}

#[test]
fn a_bar_is_as_full_as_the_copy() {
    let at = |bytes, size| bar(CopyProgress { bytes, size, attempt: 1 });
    assert_eq!(at(0, 10), format!("{}   0 %  0 B of 10 B", "░".repeat(24)));
    assert_eq!(
        at(1 << 20, 4 << 20),
        format!("{}{}  25 %  1.0 MiB of 4.0 MiB", "█".repeat(6), "░".repeat(18))
    );
    assert!(at(0, 0).contains("100 %") && at(u64::MAX, u64::MAX).contains("100 %"));
    assert!(bar(CopyProgress { bytes: 1, size: 2, attempt: 3 }).ends_with(" · attempt 3"));
}
