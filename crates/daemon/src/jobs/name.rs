//! What jobs are called, and which one a person means.

use vocab::{ids::JobId, limits::JOB_NAME_CHARS_MAX};

/// What a text may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Exactly this one.
    One(JobId),
    /// Nothing.
    None,
    /// Several, with their names.
    Many(Vec<(JobId, String)>),
}

/// Makes a name from a command: the program's own, and what it is to do.
pub(super) fn of_command(command: &[String]) -> String {
    let program = command.first().map(String::as_str).unwrap_or_default();
    let base = program.rsplit('/').next().unwrap_or(program);
    let words = command.iter().skip(1).map(String::as_str);
    let whole: Vec<&str> = std::iter::once(base).chain(words).collect();
    short(&whole.join(" "))
}

/// Makes one line of a text, no longer than a name may be.
pub(super) fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    if line.chars().count() <= JOB_NAME_CHARS_MAX {
        return line;
    }
    line.chars().take(JOB_NAME_CHARS_MAX - 1).chain(['…']).collect()
}

/// Makes a name different from those that there are, by a number behind it.
pub(super) fn unique(name: &str, taken: &[(JobId, String)]) -> String {
    let is_taken = |name: &str| taken.iter().any(|(_, other)| other == name);
    if !is_taken(name) {
        return name.to_owned();
    }
    let numbered = (2_usize..).map(|n| format!("{name} ({n})"));
    // There are fewer jobs than numbers.
    numbered.into_iter().find(|name| !is_taken(name)).unwrap_or_default()
}

/// Finds what a text means: a whole id or name before all else, then the beginning or end of an id or a
/// part of a name.
pub(super) fn find(text: &str, jobs: &[(JobId, String)]) -> Found {
    let pick = |fits: &dyn Fn(&(JobId, String)) -> bool| -> Vec<(JobId, String)> {
        jobs.iter().filter(|job| fits(job)).cloned().collect()
    };
    let lower = text.to_lowercase();
    let by_id = |(id, _): &(JobId, String)| {
        id.as_str().starts_with(&lower) || id.as_str().ends_with(&lower)
    };
    let sets = [
        pick(&|(id, _)| id.as_str() == text),
        pick(&|(_, name)| name == text),
        pick(&|job| by_id(job) || job.1.to_lowercase().contains(&lower)),
    ];
    match sets.into_iter().find(|set| !set.is_empty()) {
        Some(mut one) if one.len() == 1 => Found::One(one.remove(0).0),
        Some(many) if !text.is_empty() => Found::Many(many),
        _ => Found::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> JobId {
        text.parse().unwrap()
    }

    #[test]
    fn a_name_says_what_runs_and_is_nobody_elses() {
        let check = |command: &[&str], name: &str| {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(of_command(&command), name);
        };
        check(&["/usr/bin/claude", "fix the\n build"], "claude fix the build");
        check(&["sh"], "sh");
        check(&["sh", "-c", "printf '\u{1b}[2J'"], "sh -c printf '[2J'");
        let long = of_command(&["x".to_owned(), "y".repeat(JOB_NAME_CHARS_MAX * 2)]);
        assert_eq!(long.chars().count(), JOB_NAME_CHARS_MAX);
        let taken = [(id("00000001"), "a".to_owned()), (id("00000002"), "a (2)".to_owned())];
        assert_eq!((unique("a", &taken), unique("b", &taken)), ("a (3)".into(), "b".into()));
    }

    #[test]
    fn a_text_means_an_id_a_name_or_a_part_of_either() {
        let jobs = [
            (id("0123abcd"), "fix the build".to_owned()),
            (id("0123ffff"), "fix".to_owned()),
            (id("aaaa0000"), "Review".to_owned()),
        ];
        let check = |text: &str, expected: &[&str]| {
            let found = match find(text, &jobs) {
                Found::One(id) => vec![id.to_string()],
                Found::None => Vec::new(),
                Found::Many(many) => many.into_iter().map(|(id, _)| id.to_string()).collect(),
            };
            assert_eq!(found, expected, "{text:?}");
        };
        check("0123abcd", &["0123abcd"]);
        check("0123a", &["0123abcd"]);
        check("ffff", &["0123ffff"]);
        check("0123", &["0123abcd", "0123ffff"]);
        check("fix", &["0123ffff"]);
        check("build", &["0123abcd"]);
        check("REVIEW", &["aaaa0000"]);
        check("i", &["0123abcd", "0123ffff", "aaaa0000"]);
        check("nothing", &[]);
        check("", &[]);
    }
}
