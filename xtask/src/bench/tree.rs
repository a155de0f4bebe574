//! A tree of source files as large repositories have them, the same every time.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use super::machine;

/// Files of the tree.
pub(crate) const FILES: usize = 50_000;

/// A regular expression with a literal beginning that few files hold, and one without any literal.
pub(crate) const PATTERNS: &[(&str, &str)] =
    &[("a literal beginning", "needle_[0-9]+_here"), ("no literal", "[A-Z]{5}[0-9]{3}")];

const DEPTH_MAX: usize = 10;
const FILES_PER_DIR: usize = 12;
const POOL_BYTES: usize = 4 << 20;

/// One file of so many holds a line that the patterns find.
const NEEDLE_EVERY: usize = 1_000;

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    /// Returns a number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }
}

/// Writes the tree below a directory; returns its size in bytes.
pub(crate) fn write(root: &Path) -> anyhow::Result<usize> {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let pool = pool(&mut numbers);
    machine::make_dir(&root.join(".git"))?;
    machine::write_plain(&root.join(".git/HEAD"), b"ref: refs/heads/main\n")?;
    machine::write_plain(&root.join(".gitignore"), b"*.log\nbuild/\nnode_modules/\n!keep.log\n")?;
    let dirs = dirs(root, &mut numbers)?;
    let mut total = 0;
    for idx in 0..FILES {
        let dir = dirs.get(idx % dirs.len()).map_or(root, PathBuf::as_path);
        let name = match numbers.below(100) {
            0..50 => "rs",
            50..70 => "ts",
            70..80 => "py",
            80..90 => "md",
            90..96 => "json",
            96..98 => "log",
            _ => "bin",
        };
        let content = content(&pool, &mut numbers, idx, name == "bin");
        total += content.len();
        machine::write_plain(&dir.join(format!("file_{idx}.{name}")), &content)?;
    }
    Ok(total)
}

/// Makes the directories: most are children of recent ones, some are ignored, some have rules.
fn dirs(root: &Path, numbers: &mut Numbers) -> anyhow::Result<Vec<PathBuf>> {
    let mut dirs = vec![(root.to_owned(), 0)];
    for idx in 1..FILES / FILES_PER_DIR {
        let back = numbers.below(dirs.len().min(60)) + 1;
        let deep = dirs.get(dirs.len() - back).filter(|(_, depth)| *depth < DEPTH_MAX);
        let (parent, depth) = deep.cloned().unwrap_or_else(|| (root.to_owned(), 0));
        let dir = match idx % 400 {
            0 => parent.join("build"),
            200 => parent.join("node_modules"),
            _ => parent.join(format!("part_{idx}")),
        };
        machine::make_dir(&dir)?;
        if idx % 50 == 0 {
            machine::write(
                &dir.join(".gitignore"),
                b"# made things\n*.tmp\n/out/**\nfile_*7.json\n",
            )?;
        }
        dirs.push((dir, depth + 1));
    }
    Ok(dirs.into_iter().map(|(dir, _)| dir).collect())
}

/// Returns lines of words to cut files from.
fn pool(numbers: &mut Numbers) -> Vec<u8> {
    let syllables =
        ["re", "sult", "map", "in", "dex", "con", "fig", "ure", "to", "ken", "al", "loc"];
    let marks = [" ", " ", " ", "(", ") ", ".", ", ", " = ", "::", " -> ", "_", "; "];
    let mut pool = String::with_capacity(POOL_BYTES + 128);
    while pool.len() < POOL_BYTES {
        for _ in 0..numbers.below(14) {
            for _ in 0..=numbers.below(3) {
                pool.push_str(syllables.get(numbers.below(syllables.len())).unwrap_or(&"x"));
            }
            pool.push_str(marks.get(numbers.below(marks.len())).unwrap_or(&" "));
        }
        pool.push('\n');
    }
    pool.into_bytes()
}

/// Cuts the content of one file from the pool.
fn content(pool: &[u8], numbers: &mut Numbers, idx: usize, binary: bool) -> Vec<u8> {
    let size = match numbers.below(100) {
        0..85 => 500 + numbers.below(5_500),
        85..97 => 6_000 + numbers.below(24_000),
        _ => 30_000 + numbers.below(90_000),
    };
    let start = numbers.below(pool.len() - size);
    let mut content = pool.get(start..start + size).unwrap_or_default().to_vec();
    if binary {
        content.splice(10..10, [0, 1, 2]);
    }
    if idx % NEEDLE_EVERY == NEEDLE_EVERY / 2 {
        let mut line = String::new();
        // Writing to a string does not fail.
        writeln!(line, "\nlet needle_{idx}_here = QXZWV{};", idx % 900 + 100).ok();
        content.extend_from_slice(line.as_bytes());
    }
    content.push(b'\n');
    content
}
