//! The demonstration tells a true story: it works, and it fails where the world is another one.

use crate::home::{Home, read, write};

#[test]
fn the_demonstration_fixes_commits_and_can_be_looked_at() {
    let home = Home::new();
    let dir = home.path("shown");
    let ended = home.stead(&["demo", "--dir", dir.to_str().unwrap()]).with(0);
    assert!(ended.out.contains("+  [ \"$row\" -le 1 ] && continue"), "{}", ended.out);
    assert!(ended.out.contains("the total is now **100**"), "{}", ended.out);
    assert!(!ended.out.contains('\u{1b}') && !ended.err.contains('\u{1b}'));
    assert!(read(&dir.join("totals.sh")).contains("-le 1"));

    let id =
        ended.err.split("stead sessions show ").nth(1).unwrap().split_whitespace().next().unwrap();
    let shown = home.stead(&["sessions", "show", id]).with(0);
    assert!(shown.out.contains("● bash  bash test.sh"), "{}", shown.out);

    // The directory is no longer empty, and nothing of it is written over.
    let again = home.stead(&["demo", "--dir", dir.to_str().unwrap()]).with(2);
    assert!(again.err.contains("is not empty"), "{}", again.err);
    // The fault is gone, so the same turns cannot go on.
    let fixed = home.stead(&["demo", "--repository", dir.to_str().unwrap()]).with(1);
    assert!(fixed.out.contains("nothing that I could prove"), "{}", fixed.out);
}

/// The bounds of a person's runs are for these, and not for the story.
#[test]
fn the_demonstration_is_told_to_its_end_whatever_runs_are_allowed() {
    let home = Home::new();
    write(&home.path("config.toml"), "[run]\nsteps_max = 1\nbash_timeout_seconds = 1\n");
    let ended = home.stead(&["demo", "--dir", home.path("shown").to_str().unwrap()]).with(0);
    assert!(ended.out.contains("the total is now **100**"), "{}", ended.out);
}

#[test]
fn the_same_turns_fail_in_a_changed_repository() {
    let home = Home::new();
    let dir = home.path("shown");
    home.stead(&["demo", "--dir", dir.to_str().unwrap()]).with(0);
    let program = read(&dir.join("totals.sh"));
    write(&dir.join("totals.sh"), &program.replace("-le 1 ] && continue", "-lt 3 ] && continue"));
    let ended = home.stead(&["demo", "--repository", dir.to_str().unwrap()]).with(1);
    assert!(ended.err.contains("script_expectation_failed"), "{}", ended.err);
    assert!(ended.out.contains("I change nothing"), "{}", ended.out);
    assert!(read(&dir.join("totals.sh")).contains("-lt 3"));
}
