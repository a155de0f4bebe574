//! What jobs are called, and which one a person means.

use vocab::{
    ids::{Fit, JobId},
    limits::JOB_NAME_CHARS_MAX,
    outcome::Failure,
};

/// The jobs that fit a text as well as any does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitting {
    /// How well they fit.
    pub fit: Fit,
    /// The jobs with their names, at least one.
    pub jobs: Vec<(JobId, String)>,
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

/// Refuses a name that would stand for another job: its id, or what has the form of one, which a later job may get.
///
/// # Errors
/// When it has that form.
pub(super) fn check(name: &str) -> Result<(), Failure> {
    if name.parse::<JobId>().is_err() {
        return Ok(());
    }
    let why =
        format!("the name {name} has the form of a job's id, and would stand for another job");
    Err(Failure::not_started("invalid_field", why)
        .with_hint("a name that is not eight digits of 0-9 and a-f"))
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

/// Finds the jobs that fit a text best.
pub(super) fn fitting(text: &str, jobs: &[(JobId, String)]) -> Option<Fitting> {
    if text.is_empty() {
        return None;
    }
    let lower = text.to_lowercase();
    let fit_of = |(id, name): &(JobId, String)| {
        let id = id.as_str();
        if id == text {
            Some(Fit::Id)
        } else if name == text {
            Some(Fit::Name)
        } else {
            let is_of_id = id.starts_with(&lower) || id.ends_with(&lower);
            (is_of_id || name.to_lowercase().contains(&lower)).then_some(Fit::Part)
        }
    };
    let fit = jobs.iter().filter_map(fit_of).min()?;
    let jobs = jobs.iter().filter(|job| fit_of(job) == Some(fit)).cloned().collect();
    Some(Fitting { fit, jobs })
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
        for (name, fits) in
            [("0123abcd", false), ("0123abc", true), ("0123abcde", true), ("a job", true)]
        {
            assert_eq!(super::check(name).is_ok(), fits, "{name}");
        }
        let taken = [(id("00000001"), "a".to_owned()), (id("00000002"), "a (2)".to_owned())];
        assert_eq!((unique("a", &taken), unique("b", &taken)), ("a (3)".into(), "b".into()));
    }

    #[test]
    fn a_text_means_an_id_a_name_or_a_part_of_either() {
        let jobs = [
            (id("0123abcd"), "fix the build".to_owned()),
            (id("0123ffff"), "fix".to_owned()),
            (id("aaaa0000"), "Review".to_owned()),
            (id("bbbb0000"), "a fix for aaaa".to_owned()),
        ];
        let check = |text: &str, expected: &[&str]| {
            let found = fitting(text, &jobs).map(|fitting| fitting.jobs).unwrap_or_default();
            let found: Vec<String> = found.into_iter().map(|(id, _)| id.to_string()).collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check("0123abcd", &["0123abcd"]);
        check("0123a", &["0123abcd"]);
        check("ffff", &["0123ffff"]);
        check("0123", &["0123abcd", "0123ffff"]);
        check("fix", &["0123ffff"]);
        // A part of an id is no better than one of a name.
        check("aaaa", &["aaaa0000", "bbbb0000"]);
        check("build", &["0123abcd"]);
        check("REVIEW", &["aaaa0000"]);
        check("i", &["0123abcd", "0123ffff", "aaaa0000", "bbbb0000"]);
        check("nothing", &[]);
        check("", &[]);
    }
}
