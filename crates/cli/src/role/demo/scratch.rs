//! The scratch repository of the demonstration: a small program, its broken test, one commit.
//!
//! It needs git and nothing of its configuration. What the agent does with it is in the script.

#![expect(
    clippy::disallowed_methods,
    reason = "makes a directory of the demonstration's own, before any agent runs"
)]

use std::{
    fs::{self, File},
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use sandbox::{Environment, Host, Plan, PlanError, Policy, capture};
use vocab::outcome::{Effect, Failure};

use crate::env;

/// What git may say before it is of no interest.
const GIT_OUTPUT_BYTES_MAX: usize = 64 << 10;

const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("repository/README.md")),
    ("totals.sh", include_str!("repository/totals.sh")),
    ("test.sh", include_str!("repository/test.sh")),
    ("items.csv", include_str!("repository/items.csv")),
];

/// Makes the repository in `dir`, or in a new directory for temporary files.
///
/// # Errors
/// When the directory holds something, cannot be written, or git is missing.
pub(super) fn make(dir: Option<&Path>) -> Result<PathBuf, Failure> {
    let root = match dir {
        Some(dir) => {
            let root = PathBuf::from(crate::role::run::absolute(dir)?);
            claim(&root)?;
            root
        }
        None => tempfile::Builder::new()
            .prefix("stead-demo-")
            .tempdir()
            .map_err(|error| unwritable(&std::env::temp_dir(), &error))?
            .keep(),
    };
    for (name, text) in FILES {
        let path = root.join(name);
        fs::write(&path, text).map_err(|error| unwritable(&path, &error))?;
    }
    let identity = ["-c", "user.name=Stead Demo", "-c", "user.email=demo@localhost"];
    let commit =
        ["-c", "commit.gpgSign=false", "commit", "-q", "-m", "A program, its test, and a fault"];
    git(&root, &["-c", "init.defaultBranch=main", "init", "-q"])?;
    git(&root, &["add", "-A"])?;
    git(&root, &[&identity[..], &commit[..]].concat())?;
    Ok(root)
}

/// Makes an empty directory, or takes one that is empty.
fn claim(root: &Path) -> Result<(), Failure> {
    fs::create_dir_all(root).map_err(|error| unwritable(root, &error))?;
    let mut entries = fs::read_dir(root).map_err(|error| unwritable(root, &error))?;
    if entries.next().is_some() {
        return Err(Failure::not_started("usage", format!("{} is not empty", root.display()))
            .with_hint(
                "name a new directory, or run in it as it is: stead demo --repository DIR",
            ));
    }
    Ok(())
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::not_started("failed", format!("{}: {error}", path.display()))
}

fn git(root: &Path, args: &[&str]) -> Result<(), Failure> {
    let cwd = File::open(root).map(OwnedFd::from).map_err(|error| unwritable(root, &error))?;
    let mut environment = Environment::for_tools(&env::all(), &[]);
    for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
        environment.set(name, "/dev/null").map_err(|error| failed(&error.to_string()))?;
    }
    let policy = Policy::new("git", cwd, environment).args(args.iter().copied());
    let plan = Plan::realize(policy, &Host::probe()).map_err(|error| {
        if matches!(error, PlanError::ProgramMissing { .. }) {
            return Failure::not_started("failed", "git is not in PATH")
                .with_hint("the demonstration needs git and bash");
        }
        failed(&error.to_string())
    })?;
    let (report, output) =
        capture(&plan, GIT_OUTPUT_BYTES_MAX).map_err(|error| failed(&error.to_string()))?;
    if report.status.is_success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output).trim()))
}

fn failed(why: &str) -> Failure {
    Failure::new(
        "failed",
        Effect::Indeterminate,
        format!("the scratch repository could not be made: {why}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_committed_and_a_full_directory_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let root = make(Some(&dir.path().join("a/b"))).unwrap();
        git(&root, &["diff", "--quiet", "HEAD"]).unwrap();
        assert!(git(&root, &["rev-parse", "--verify", "-q", "HEAD~1"]).is_err());
        let failure = make(Some(&root)).unwrap_err();
        assert!(failure.message.contains("is not empty"), "{}", failure.message);
    }

    #[test]
    fn the_script_fits_the_repository() {
        let script = provider::script::Script::parse(include_str!("script.json")).unwrap();
        let text = serde_json::to_string(&script).unwrap();
        let fault = r#"[ "$row" -le 2 ] && continue"#;
        assert!(FILES.iter().any(|(_, file)| file.contains(fault)));
        assert!(text.contains(&fault.replace('"', "\\\"")));
    }
}
