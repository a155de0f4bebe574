//! What is mounted where, as this process sees it.
//!
//! Not here: control groups, which have mounts of their own kind.

#![expect(clippy::disallowed_methods, reason = "reads one table of the kernel")]

use std::{
    ffi::OsString,
    fs, io,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
};

/// Returns a place below a directory where something else is mounted; none if there is none. The directory's
/// path must have no links in it, as the kernel's table has none.
///
/// # Errors
/// When the kernel does not tell.
pub fn below(dir: &Path) -> io::Result<Option<PathBuf>> {
    Ok(find(&fs::read("/proc/self/mountinfo")?, dir))
}

/// The mount point is the fifth word of a line.
fn find(table: &[u8], dir: &Path) -> Option<PathBuf> {
    let points = table.split(|byte| *byte == b'\n').filter_map(|line| {
        line.split(|byte| *byte == b' ').nth(4).map(|word| PathBuf::from(plain(word)))
    });
    points.into_iter().find(|point| point.as_path() != dir && point.starts_with(dir))
}

/// Undoes the kernel's spelling of blanks, tabs, line ends and backslashes: three octal digits.
fn plain(word: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let value = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(value.unwrap_or(*first));
        rest = if value.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_below_is_found_by_its_real_name() {
        let table = b"1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / /a/b\\040c rw - fuse x rw\n\
                      3 1 0:3 / /a/bb rw - tmpfs x rw\n";
        let check = |dir: &str, expected: Option<&str>| {
            assert_eq!(find(table, Path::new(dir)), expected.map(PathBuf::from), "{dir}");
        };
        check("/", Some("/a/b c"));
        check("/a", Some("/a/b c"));
        check("/a/b", None);
        check("/a/b c", None);
        check("/a/bb", None);
        assert_eq!(plain(br"\134\04"), OsString::from(r"\\04"));
        assert!(Path::new("/proc/self").is_dir() && below(Path::new("/")).unwrap().is_some());
    }
}
