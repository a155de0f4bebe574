//! Just enough of file patterns: `*` within a name, `**` over names, all else as it stands.

/// Tells whether a pattern fits a path; one without a slash fits the last name.
pub(super) fn fits(pattern: &str, path: &str) -> bool {
    if !pattern.contains('/') {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        return name_fits(pattern, name);
    }
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    // A pattern fits from any directory on.
    (0..path.len()).any(|from| path.get(from..).is_some_and(|rest| names_fit(&pattern, rest)))
}

fn names_fit(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            (0..=path.len()).any(|from| path.get(from..).is_some_and(|path| names_fit(rest, path)))
        }
        (Some((first, rest)), Some((name, path))) => {
            name_fits(first, name) && names_fit(rest, path)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

fn name_fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, rest)) => name.strip_prefix(before).is_some_and(|tail| {
            tail.char_indices()
                .map(|(at, _)| at)
                .chain([tail.len()])
                .any(|at| tail.get(at..).is_some_and(|tail| name_fits(rest, tail)))
        }),
    }
}
