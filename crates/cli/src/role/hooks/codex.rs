//! The notify program of Codex, in its `config.toml`.
//!
//! There can be one only, so that another one is never replaced. Codex also tells its state in band, which
//! needs no configuration and tells more.

use toml_edit::{Array, DocumentMut, Item, value};
use vocab::outcome::Failure;

use super::{Presence, Wish};

const KEY: &str = "notify";

/// The words after the program's name.
const OURS: [&str; 3] = ["report", "--from-hook", "codex"];

/// Says what is there.
pub(super) fn presence(text: &str, program: &str) -> Result<Presence, String> {
    let document = parse(text)?;
    Ok(match words(&document) {
        Some(words) if is_ours(&words) && words[0] == program => Presence::Installed,
        Some(words) if is_ours(&words) => Presence::Partial,
        _ => Presence::Absent,
    })
}

/// Returns the text as it should be.
pub(super) fn change(text: &str, program: &str, wish: Wish) -> Result<String, Failure> {
    let mut document = parse(text).map_err(|why| {
        let why = format!("cannot be understood and is left alone: {why}");
        Failure::not_started("hooks_malformed", why)
    })?;
    let is_there = document.get(KEY).is_some();
    let found = words(&document).filter(|words| is_ours(words));
    match (wish, found) {
        (Wish::Remove, Some(_)) => drop(document.remove(KEY)),
        (Wish::Remove, None) => {}
        (Wish::Install, Some(words)) if words[0] == program => {}
        (Wish::Install, None) if is_there => {
            let why = "it has a notify program already, and there can be one only";
            return Err(Failure::not_started("hooks_conflict", why).with_hint(
                "Codex tells its state in band as well, so that this is not needed; or let your program \
                 call: stead report --from-hook codex JSON",
            ));
        }
        (Wish::Install, _) => {
            let new = Array::from_iter(std::iter::once(program).chain(OURS));
            match document.get_mut(KEY).and_then(Item::as_value_mut) {
                // What surrounds it stays.
                Some(old) => {
                    let decor = old.decor().clone();
                    *old = toml_edit::Value::Array(new);
                    *old.decor_mut() = decor;
                }
                None => drop(document.insert(KEY, value(new))),
            }
        }
    }
    Ok(with_ends_of(text, &document.to_string()))
}

/// Gives lines that stayed the ends that they had, and new ones those of the first line: the document knows one
/// kind of end only.
fn with_ends_of(before: &str, after: &str) -> String {
    if !before.contains("\r\n") {
        return after.to_owned();
    }
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let is_same = |(old, new): &(&&str, &&str)| without_end(old) == without_end(new);
    let n_head = old.iter().zip(&new).take_while(is_same).count();
    let (old_rest, new_rest) = (&old[n_head..], &new[n_head..]);
    let n_tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(is_same).count();
    let is_crlf = old.first().is_some_and(|line| line.ends_with("\r\n"));
    let mut text = old[..n_head].concat();
    for line in &new_rest[..new_rest.len() - n_tail] {
        let (line, is_ended) = without_end(line);
        text.push_str(line);
        text.push_str(match (is_ended, is_crlf) {
            (false, _) => "",
            (true, false) => "\n",
            (true, true) => "\r\n",
        });
    }
    text + &old[old.len() - n_tail..].concat()
}

/// Returns a line without its end, and whether it had one.
fn without_end(line: &str) -> (&str, bool) {
    match line.strip_suffix('\n') {
        Some(line) => (line.strip_suffix('\r').unwrap_or(line), true),
        None => (line, false),
    }
}

fn words(document: &DocumentMut) -> Option<Vec<String>> {
    let array = document.get(KEY)?.as_array()?;
    array.iter().map(|word| Some(word.as_str()?.to_owned())).collect()
}

fn is_ours(words: &[String]) -> bool {
    words.get(1..).is_some_and(|words| words == OURS)
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "/opt/stead";
    const LINE: &str = "notify = [\"/opt/stead\", \"report\", \"--from-hook\", \"codex\"]\n";

    #[track_caller]
    fn check(before: &str, after: &str) {
        let installed = change(before, PROGRAM, Wish::Install).unwrap();
        assert_eq!(installed, after);
        assert_eq!(presence(&installed, PROGRAM), Ok(Presence::Installed));
        assert_eq!(change(&installed, PROGRAM, Wish::Install).unwrap(), installed);
        assert_eq!(change(&installed, PROGRAM, Wish::Remove).unwrap(), before);
        assert_eq!(change(before, PROGRAM, Wish::Remove).unwrap(), before);
    }

    #[test]
    fn a_line_comes_and_goes_and_the_rest_stays() {
        check("", LINE);
        check("# mine\nmodel  = \"x\" # why\n", &format!("# mine\nmodel  = \"x\" # why\n{LINE}"));
        let tables = "model = \"x\"\n\n[tui] # b\nnotifications = true\n\n[a.b]\n";
        let after = format!("model = \"x\"\n{LINE}\n[tui] # b\nnotifications = true\n\n[a.b]\n");
        check(tables, &after);
    }

    #[test]
    fn lines_keep_their_ends_and_new_ones_have_those_of_the_first() {
        let line = format!("{}\r\n", LINE.trim_end());
        check("# mine\r\n[a]\r\nb = 1\r\n", &format!("{line}# mine\r\n[a]\r\nb = 1\r\n"));
        check("m = 1\r\n\r\n[a]\r\n", &format!("m = 1\r\n{line}\r\n[a]\r\n"));
        let text = "m = \"\"\"x\r\ny\n\"\"\"\r\n";
        check(text, &format!("{text}{line}"));
        check("m = 1\nn = 2\r\n", &format!("m = 1\nn = 2\r\n{LINE}"));
        check("", LINE);
        let old = "# top\r\nnotify = [\"/old\", \"report\", \"--from-hook\", \"codex\"]\r\n";
        assert_eq!(change(old, PROGRAM, Wish::Install).unwrap(), format!("# top\r\n{line}"));
    }

    #[test]
    fn what_is_ours_is_brought_up_to_date_and_what_is_not_stays() {
        let old = "# top\nnotify = [\"/old\", \"report\", \"--from-hook\", \"codex\"] # here\n";
        assert_eq!(presence(old, PROGRAM), Ok(Presence::Partial));
        let new = change(old, PROGRAM, Wish::Install).unwrap();
        assert_eq!(new, format!("# top\n{} # here\n", LINE.trim_end()));
        for other in
            ["notify = [\"mine\"]\n", "notify = [1]\n", "notify = \"x\"\n", "notify = []\n"]
        {
            assert_eq!(change(other, PROGRAM, Wish::Install).unwrap_err().code, "hooks_conflict");
            assert_eq!(change(other, PROGRAM, Wish::Remove).unwrap(), other);
            assert_eq!(presence(other, PROGRAM), Ok(Presence::Absent));
        }
        assert_eq!(change("a = ", PROGRAM, Wish::Install).unwrap_err().code, "hooks_malformed");
    }
}
