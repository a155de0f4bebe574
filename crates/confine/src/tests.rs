//! The promise of the crate, tried at its boundary on real trees.

#![expect(clippy::disallowed_methods, reason = "tests build trees the plain way")]

use std::path::{Path, PathBuf};

use vocab::path::WorkspacePath;

use crate::{
    Root, RootOptions,
    traverse::{Entry, Flow, Report, Traverse},
};

mod hostile;
mod protected;
mod publishing;
mod special;
mod world;

/// A root inside a larger directory, so that there is an outside.
struct Scene {
    base: tempfile::TempDir,
    root: Root,
}

impl Scene {
    fn new() -> Self {
        Self::with(|_| RootOptions::default())
    }

    fn with(options: impl FnOnce(&Path) -> RootOptions) -> Self {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir(base.path().join("root")).unwrap();
        std::fs::create_dir(base.path().join("outside")).unwrap();
        std::fs::write(base.path().join("outside/f"), "outside").unwrap();
        let root = Root::open(&base.path().join("root"), options(base.path())).unwrap();
        Self { base, root }
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.base.path().join("root").join(path)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.inside(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn path(&self, text: &str) -> WorkspacePath {
        vocab::path::parse(text, self.root.roots()).unwrap()
    }

    /// Reads a file, or says why not.
    fn read(&self, text: &str) -> Result<String, &'static str> {
        use std::io::Read;
        let opened = self.root.open_file(&self.path(text)).map_err(|error| error.code())?;
        let mut content = String::new();
        let mut file = opened.file;
        file.read_to_string(&mut content).unwrap();
        Ok(content)
    }
}

/// Walks, and returns the paths of the entries that are wanted, in the order of their delivery.
pub(crate) fn walked(
    root: &Root,
    start: &str,
    options: &Traverse,
    wanted: impl Fn(&Entry<'_>) -> bool + Sync,
) -> (Vec<String>, Report) {
    let start = root.parse(start).unwrap();
    let mut found = Vec::new();
    let visitor =
        || |entry: &Entry<'_>| wanted(entry).then(|| entry.path.to_str().unwrap().to_owned());
    let deliver = |path| {
        found.push(path);
        Flow::Continue
    };
    let report = options.run(root, &start, visitor, deliver).unwrap();
    (found, report)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
