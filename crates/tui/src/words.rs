//! What a person writes behind `!`, as a program and its arguments.
//!
//! Plain words and quotes are taken apart here, so that the program itself is the job; what only a shell
//! understands is left to one.

/// Signs that mean something to a shell outside of quotes.
const OF_SHELLS: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', ']', '{', '}', '~', '#', '\n', '!',
];

/// Returns the program and its arguments; none when nothing is written.
pub(crate) fn command(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    Some(plain(line).unwrap_or_else(|| vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()]))
}

/// Takes a line apart; none when it needs a shell, also to say that a quote is missing.
fn plain(line: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '\\' | '$' | '`' if c == '"' => return None,
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            sign if OF_SHELLS.contains(&sign) => return None,
            // A variable before the program is set by shells.
            '=' if words.is_empty() => return None,
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_apart_and_the_rest_is_a_shells() {
        for (line, expected) in [
            ("", None),
            ("  ", None),
            (" claude  \"fix the build\" ", Some(vec!["claude", "fix the build"])),
            ("a 'b c'd\\ e ''", Some(vec!["a", "b cd e", ""])),
            ("x --k=v", Some(vec!["x", "--k=v"])),
            ("A=1 x", Some(vec!["sh", "-c", "A=1 x"])),
            ("a && b", Some(vec!["sh", "-c", "a && b"])),
            ("echo \"$HOME\"", Some(vec!["sh", "-c", "echo \"$HOME\""])),
            ("it's", Some(vec!["sh", "-c", "it's"])),
            ("ls *.rs", Some(vec!["sh", "-c", "ls *.rs"])),
            ("end\\", Some(vec!["sh", "-c", "end\\"])),
        ] {
            let told = command(line);
            let told = told.as_ref().map(|words| words.iter().map(String::as_str).collect());
            assert_eq!(told, expected, "{line:?}");
        }
    }
}
