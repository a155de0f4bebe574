//! Which policies become plans. Nothing is started here.

#![expect(clippy::disallowed_methods, reason = "the tests make the directories they need")]

use std::fs;

use super::*;

fn open(path: &Path) -> OwnedFd {
    fs::File::open(path).unwrap().into()
}

fn policy(program: &str) -> Policy {
    Policy::new(program, open(Path::new("/")), Environment::empty())
}

fn code(policy: Policy) -> &'static str {
    Plan::realize(policy, &Host::probe()).unwrap_err().code()
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_starts() {
    assert_eq!(code(policy("/nowhere/x")), "program_missing");
    assert_eq!(code(policy("no-such-program")), "program_missing");
    assert_eq!(code(policy("./relative")), "program_missing");
    assert_eq!(code(policy("/etc/passwd")), "program_missing");
    assert_eq!(code(policy("/bin/sh").args(["a\0b"])), "command_malformed");
    let mut file = policy("/bin/sh");
    file.cwd = open(Path::new("/etc/passwd"));
    assert_eq!(code(file), "cwd_missing");
    let no_handles = Host { pidfd: false, ..Host::probe() };
    assert_eq!(Plan::realize(policy("/bin/sh"), &no_handles).unwrap_err().code(), "pidfd_missing");
}

#[test]
fn a_timeout_outside_its_range_is_refused() {
    let most = Duration::from_millis(limits::CHILD_TIMEOUT_MS_MAX);
    assert_eq!(code(policy("/bin/sh").timeout(Duration::ZERO)), "timeout_out_of_range");
    assert_eq!(
        code(policy("/bin/sh").timeout(most + Duration::from_millis(1))),
        "timeout_out_of_range"
    );
    assert!(Plan::realize(policy("/bin/sh").timeout(most), &Host::probe()).is_ok());
}

#[test]
fn a_directory_that_was_removed_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let mut gone = policy("/bin/sh");
    gone.cwd = open(dir.path());
    dir.close().unwrap();
    assert_eq!(code(gone), "cwd_missing");
}

#[test]
fn a_shell_is_found_or_its_absence_explained() {
    let mut nothing = Environment::empty();
    nothing.set("PATH", "relative:/nowhere").unwrap();
    assert!(find_shell(None, &nothing).is_ok_and(|shell| shell.is_absolute()));
    let error = find_shell(Some(Path::new("/nowhere/fish")), &nothing).unwrap_err();
    assert_eq!(error.code(), "shell_missing");
    assert!(error.to_string().contains("/nowhere/fish"), "{error}");
}

#[test]
fn a_child_has_the_named_grace_unless_a_policy_says_otherwise() {
    let grace = |policy: Policy| Plan::realize(policy, &Host::probe()).unwrap().grace;
    assert_eq!(grace(policy("/bin/sh")), Duration::from_millis(limits::CHILD_GRACE_MS));
    assert_eq!(grace(policy("/bin/sh").grace(Duration::ZERO)), Duration::ZERO);
}
