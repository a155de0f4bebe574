//! Patches, with git as the one who must be able to apply them.

#![expect(clippy::disallowed_methods, reason = "git is the oracle here")]

use super::*;
use proptest::prelude::*;
use std::process::{Command, Stdio};

fn apply_with_git(before: &str, patch: &str) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("f"), before).unwrap();
    let mut git = Command::new("git")
        .args(["apply", "--whitespace=nowarn", "-"])
        .current_dir(dir.path())
        .env("GIT_CEILING_DIRECTORIES", dir.path().parent().unwrap())
        .stdin(Stdio::piped())
        .spawn()
        .ok()?;
    std::io::Write::write_all(git.stdin.as_mut().unwrap(), patch.as_bytes()).unwrap();
    assert!(git.wait().unwrap().success(), "git refused {patch:?} on {before:?}");
    Some(std::fs::read(dir.path().join("f")).unwrap())
}

#[test]
fn a_patch_has_four_lines_of_context_and_says_where_it_starts() {
    let before: String = (1..=30).map(|n| format!("l{n}\n")).collect();
    let after = before.replace("l10\n", "x\ny\n").replace("l28\n", "");
    let written = compare(before.as_bytes(), after.as_bytes(), "f");
    assert_eq!(
        written.patch,
        "--- a/f\n+++ b/f\n@@ -6,9 +6,10 @@\n l6\n l7\n l8\n l9\n-l10\n+x\n+y\n l11\n l12\n l13\n l14\n\
         @@ -24,7 +25,6 @@\n l24\n l25\n l26\n l27\n-l28\n l29\n l30\n"
    );
    assert_eq!(
        written.display,
        "    ...\n  6 l6\n  7 l7\n  8 l8\n  9 l9\n-10 l10\n+10 x\n+11 y\n 11 l11\n 12 l12\n 13 l13\n \
         14 l14\n    ...\n 24 l24\n 25 l25\n 26 l26\n 27 l27\n-28 l28\n 29 l29\n 30 l30"
    );
    assert_eq!(written.first_changed_line, Some(10));
}

#[test]
fn a_difference_that_is_too_large_is_left_out_and_said_so() {
    let after = "a line that is new\n".repeat(DIFF_TEXT_BYTES_MAX / 10);
    let written = compare(b"", after.as_bytes(), "f");
    assert!(written.omitted && written.patch.is_empty());
    assert_eq!(written.first_changed_line, Some(1));
    assert_eq!(compare(b"a", b"a", "f"), Written::default());
}

#[test]
fn lines_far_from_a_difference_are_not_held_and_too_many_between_are_left_out() {
    let check = |between: usize, omitted: bool| {
        let far = "\n".repeat(DIFF_LINES_MAX);
        let (before, after) = (format!("{far}a\n"), format!("{far}b\n"));
        let between = "\n".repeat(between);
        let (before, after) =
            (format!("{before}{between}a{far}"), format!("{after}{between}b{far}"));
        let written = compare(before.as_bytes(), after.as_bytes(), "f");
        assert_eq!(written.omitted, omitted);
        assert_eq!(written.first_changed_line, Some(DIFF_LINES_MAX as u64 + 1));
        if !omitted {
            let start = DIFF_LINES_MAX - 3;
            assert!(written.patch.contains(&format!("@@ -{start},10 +{start},10 @@")));
            assert!(written.display.contains(&format!("- {} a\n", DIFF_LINES_MAX + 1)));
            assert!(written.display.ends_with("..."));
        }
    };
    check(0, false);
    check(DIFF_LINES_MAX - 1, true);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn git_makes_the_same_of_a_patch(
        before in proptest::collection::vec("[ab]{0,2}(\r)?", 0..30),
        cut in 0_usize..30,
        second in proptest::option::of(0_usize..30),
        new in proptest::collection::vec("[abc]{0,2}", 0..4),
        end in any::<bool>(),
        other_end in any::<bool>(),
    ) {
        let close = |lines: &[String], end: bool| {
            let mut text = lines.join("\n");
            if end && !text.is_empty() {
                text.push('\n');
            }
            text
        };
        let mut after = before.clone();
        // A second difference, so that lines that repeat can be taken for one another at either end.
        if let Some(at) = second.filter(|at| *at < after.len()) {
            after.remove(at);
        }
        let at = cut.min(after.len());
        after.splice(at..(at + 2).min(after.len()), new);
        let (before, after) = (close(&before, end), close(&after, other_end));
        let written = compare(before.as_bytes(), after.as_bytes(), "f");
        prop_assert_eq!(written.patch.is_empty(), before == after);
        if before != after && !before.is_empty() && !after.is_empty()
            && let Some(result) = apply_with_git(&before, &written.patch)
        {
            prop_assert_eq!(String::from_utf8(result).unwrap(), after);
        }
    }
}
