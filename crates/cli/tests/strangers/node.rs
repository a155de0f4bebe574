//! Running a script with the AI SDK: the interpreter and the packages are named by the environment.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts an interpreter named by the caller"
)]

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;

/// An interpreter with the `ai` package.
pub(crate) struct Node {
    binary: PathBuf,
    modules: PathBuf,
}

impl Node {
    /// Finds it; without it the test says so and passes, unless it is required.
    pub(crate) fn find() -> Option<Self> {
        let var = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let found = var("STEAD_TEST_NODE").zip(var("STEAD_TEST_NODE_MODULES"));
        if found.is_none() {
            assert!(
                std::env::var_os("STEAD_TEST_REQUIRE").is_none(),
                "STEAD_TEST_NODE must name a node binary and STEAD_TEST_NODE_MODULES a folder with ai"
            );
            println!("skipped: STEAD_TEST_NODE and STEAD_TEST_NODE_MODULES are not set");
        }
        found.map(|(binary, modules)| Self { binary, modules })
    }

    /// Runs a script and reads the JSON it prints.
    pub(crate) fn run(&self, script: &str, arguments: &[&str]) -> Value {
        let dir = tempfile::tempdir().unwrap();
        // Packages are looked up beside the script.
        std::os::unix::fs::symlink(&self.modules, dir.path().join("node_modules")).unwrap();
        fs::write(dir.path().join("script.mjs"), script).unwrap();
        let end = Command::new(&self.binary)
            .arg("script.mjs")
            .args(arguments)
            .current_dir(dir.path())
            .env("NO_PROXY", "127.0.0.1")
            .output()
            .unwrap();
        let (out, err) =
            (String::from_utf8_lossy(&end.stdout), String::from_utf8_lossy(&end.stderr));
        assert!(end.status.success(), "{err}\n{out}");
        serde_json::from_str(&out).unwrap()
    }
}
