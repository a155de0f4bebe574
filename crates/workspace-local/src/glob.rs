//! File patterns as models write them: a bare name fits at any depth, a path fits from the start.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use vocab::outcome::Failure;

use crate::pattern;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    matcher: GlobMatcher,
    /// Whether it looks at the whole path.
    whole: bool,
    /// Whether it names what is not wanted.
    negated: bool,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// When it is malformed or too long.
    pub(crate) fn new(text: &str) -> Result<Self, Failure> {
        pattern::check(text)?;
        let written = text;
        let (negated, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let whole = text.contains('/');
        // A slash at the start ties the pattern to the directory searched.
        let anchored = text.strip_prefix('/').or_else(|| text.strip_prefix("./"));
        let full = match anchored {
            Some(rest) => rest.to_owned(),
            None if whole && !text.starts_with("**/") => format!("**/{text}"),
            None => text.to_owned(),
        };
        let full = full.strip_suffix('/').unwrap_or(&full);
        let glob = GlobBuilder::new(full).literal_separator(true).build().map_err(|error| {
            let why = error.kind().to_string();
            pattern::refused(written, &format!("{:?}: {why}", pattern::shown(written)))
                .with_hint("* fits within one name, ** any number of directories, {a,b} either")
        })?;
        Ok(Self { matcher: glob.compile_matcher(), whole, negated })
    }

    /// Tells whether it fits a path relative to the start of the search.
    pub(crate) fn fits(&self, path: &Path) -> bool {
        let subject = if self.whole { Some(path) } else { path.file_name().map(Path::new) };
        subject.is_some_and(|subject| self.matcher.is_match(subject)) != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_anywhere_and_a_path_from_the_start_or_below() {
        let check = |pattern: &str, path: &str, fits: bool| {
            assert_eq!(
                Pattern::new(pattern).unwrap().fits(Path::new(path)),
                fits,
                "{pattern} {path}"
            );
        };
        check("*.rs", "a/b.rs", true);
        check("*.rs", "a.rs/b", false);
        check("src/*.rs", "x/src/a.rs", true);
        check("src/*.rs", "src/x/a.rs", false);
        check("/src/*.rs", "x/src/a.rs", false);
        check("./src/*.rs", "src/a.rs", true);
        check("**/a", "a", true);
        check("**", "a/b", true);
        check("src/**/*.rs", "src/x/y/a.rs", true);
        check("{a,b}.c", "x/b.c", true);
        check("!*.rs", "a.rs", false);
        check("!*.rs", "a.c", true);
        check("src/", "x/src", true);
        assert_eq!(Pattern::new("a[").unwrap_err().code, "invalid_pattern");
    }
}
