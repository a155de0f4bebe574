//! Ignore rules beside those of Git itself.

#![expect(clippy::disallowed_methods, reason = "tests build trees and ask Git the plain way")]

use std::{fs, process::Command};

use super::*;
use crate::{
    Kind, Root, RootOptions,
    tests::walked,
    traverse::{Entry, Traverse},
};

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let base = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = base.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    base
}

fn files(base: &Path, start: &str) -> Vec<String> {
    let root = Root::open(base, RootOptions::default()).unwrap();
    let wanted = |entry: &Entry<'_>| entry.kind == Kind::File;
    walked(&root, start, &Traverse::default(), wanted).0
}

#[test]
fn rules_are_those_of_git() {
    let base = tree(&[
        (".gitignore", "\u{FEFF}*.log\n!keep.log\n/build\nnode_modules/\ndoc/*.txt\n# no\n\n[\n"),
        (".hidden", ""),
        ("a.log", ""),
        ("keep.log", ""),
        ("build/x", ""),
        ("sub/build/x", ""),
        ("sub/a.log", ""),
        ("sub/.gitignore", "!a.log\nlocal\n"),
        ("sub/local", ""),
        ("other/local", ""),
        ("node_modules/m/x", ""),
        ("sub/node_modules/x", ""),
        ("doc/x.txt", ""),
        ("doc/deep/x.txt", ""),
        ("sub/deep/a.log", ""),
        ("excluded", ""),
    ]);
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(base.path()).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    fs::create_dir_all(base.path().join(".git/info")).unwrap();
    fs::write(base.path().join(".git/info/exclude"), "excluded\n").unwrap();
    let listed = git(&["-c", "core.excludesFile=", "ls-files", "-co", "--exclude-standard"]);
    let mut expected: Vec<&str> = listed.lines().collect();
    expected.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    assert_eq!(files(base.path(), "."), expected);
}

#[test]
fn a_nested_repository_has_its_own_rules() {
    let base = tree(&[
        (".gitignore", "*.log\n"),
        (".ignore", "*.tmp\n"),
        ("nested/.git/HEAD", ""),
        ("nested/a.log", ""),
        ("nested/a.tmp", ""),
        ("plain/a.log", ""),
        ("plain/a.txt", ""),
    ]);
    let expected = [".gitignore", ".ignore", "nested/a.log", "plain/a.txt"];
    assert_eq!(files(base.path(), "."), expected);
}

#[test]
fn an_ignore_file_outweighs_git() {
    let base = tree(&[
        (".ignore", "!a.log\nb.txt\n"),
        ("sub/.gitignore", "*.log\n!b.txt\n"),
        ("sub/a.log", ""),
        ("sub/b.log", ""),
        ("sub/b.txt", ""),
    ]);
    assert_eq!(files(base.path(), "."), [".ignore", "sub/.gitignore", "sub/a.log"]);
}

#[test]
fn rules_of_directories_above_the_start_hold() {
    let base =
        tree(&[(".gitignore", "/sub/x\n*.log\n"), ("sub/x", ""), ("sub/y", ""), ("sub/a.log", "")]);
    assert_eq!(files(base.path(), "sub"), ["y"]);
    // Whoever names a file wants that file.
    assert_eq!(files(base.path(), "sub/x"), ["x"]);
}

#[test]
fn a_giant_ignore_file_is_not_read() {
    let giant = format!("x\n{}", "#\n".repeat(IGNORE_FILE_BYTES_MAX / 2));
    let base = tree(&[(".gitignore", &giant), ("x", "")]);
    assert_eq!(files(base.path(), "."), [".gitignore", "x"]);
}

#[test]
fn an_ignore_file_that_is_a_link_or_pipe_ignores_nothing() {
    let base = tree(&[("rules", "x\n"), ("x", ""), ("sub/x", "")]);
    std::os::unix::fs::symlink("rules", base.path().join(".gitignore")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = base.path().join("sub/.ignore");
    rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(files(base.path(), "."), ["rules", "sub/x", "x"]);
}
