//! Names made from what people call a job: of branches and of directories.
//!
//! Not here: asking git which names are taken.

use vocab::limits::WORKTREE_NAME_CHARS_MAX;

/// Makes a short word of a text: small letters and digits, with single dashes between.
pub(crate) fn slug(text: &str, usual: &str) -> String {
    let mut word = String::new();
    for c in text.chars() {
        if WORKTREE_NAME_CHARS_MAX <= word.len() {
            break;
        }
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        } else if !word.is_empty() && !word.ends_with('-') {
            word.push('-');
        }
    }
    let word = word.trim_end_matches('-');
    if word.is_empty() { usual.to_owned() } else { word.to_owned() }
}

/// Makes the name of a branch that is nobody's: the word itself, or with a number behind it. `taken` are
/// branches, without `refs/heads/`.
pub(crate) fn branch(word: &str, taken: &[String]) -> String {
    // A branch `stead` is a file where the directory of ours would be.
    let prefix = if taken.iter().any(|name| name == "stead") { "stead-" } else { "stead/" };
    let plain = format!("{prefix}{word}");
    if is_free(&plain, taken) {
        return plain;
    }
    let numbered = (2_usize..).map(|n| format!("{plain}-{n}"));
    // There are fewer branches than numbers.
    numbered.into_iter().find(|name| is_free(name, taken)).unwrap_or_default()
}

/// Tells whether a branch of that name can be made: it is not there, nothing stands below it, and it
/// stands below nothing.
pub(crate) fn is_free(name: &str, taken: &[String]) -> bool {
    let below = |upper: &str, lower: &str| {
        lower.strip_prefix(upper).is_some_and(|rest| rest.starts_with('/'))
    };
    !taken.iter().any(|other| other == name || below(name, other) || below(other, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_short_word() {
        let long = "x".repeat(WORKTREE_NAME_CHARS_MAX * 2);
        for (text, word) in [
            ("claude fix the build", "claude-fix-the-build"),
            ("  --Fix: it!  ", "fix-it"),
            ("..", "job"),
            ("", "job"),
            ("日本", "job"),
            ("a\nb\u{1b}[2Jc", "a-b-2jc"),
            (long.as_str(), &long[..WORKTREE_NAME_CHARS_MAX]),
        ] {
            assert_eq!(slug(text, "job"), word, "{text:?}");
        }
    }

    #[test]
    fn a_branch_is_nobody_elses() {
        let check = |taken: &[&str], name: &str| {
            let taken: Vec<String> = taken.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(branch("fix", &taken), name, "{taken:?}");
        };
        check(&["main"], "stead/fix");
        check(&["stead/fix", "stead/fix-2"], "stead/fix-3");
        check(&["stead/fix/it"], "stead/fix-2");
        check(&["stead"], "stead-fix");
        check(&["stead", "stead-fix"], "stead-fix-2");
    }
}
