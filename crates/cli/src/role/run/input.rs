//! What the model is asked: words of the command line, standard input, files.
//!
//! Files are the person's own and read with the person's rights. Which session is asked is not
//! decided here.

#![expect(clippy::disallowed_methods, reason = "opens the files that a person named for a prompt")]

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use api::agent::RunPart;
use base64::Engine as _;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::FileType,
};
use vocab::{
    limits::{USER_FILE_BYTES_MAX, USER_TEXT_BYTES_MAX},
    outcome::Failure,
};

use crate::print;

/// How long standard input may be silent before a person is told what is waited for.
const SILENCE_BEFORE_HINT: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// The largest file whose base64 a message takes.
const FILE_BYTES_MAX: usize = USER_FILE_BYTES_MAX / 4 * 3;

/// Pictures that models take, by their first bytes.
const PICTURES: &[(&[u8], usize, &str)] = &[
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
];

/// Returns the parts of the message; none when nothing was said at all.
///
/// # Errors
/// When what is asked is empty, or an input cannot be read or is too large.
pub(crate) fn parts(
    words: &[String],
    files: &[std::path::PathBuf],
) -> Result<Option<Vec<RunPart>>, Failure> {
    let wanted = match words {
        [] if print::stdin_is_terminal() => false,
        [] => true,
        [only] if only == "-" => true,
        _ => carries_text(),
    };
    let piped = if wanted { read_stdin()? } else { String::new() };
    let Some(text) = prompt(words, &piped)? else {
        // A file alone says nothing about what is wanted of it.
        return if files.is_empty() { Ok(None) } else { Err(nothing_asked()) };
    };
    let mut parts = vec![RunPart::Text { text }];
    for path in files {
        parts.push(file(path)?);
    }
    within_bounds(&parts)?;
    Ok(Some(parts))
}

/// Refuses more text than a model is shown, before it is sent: cut, it would mean something else.
fn within_bounds(parts: &[RunPart]) -> Result<(), Failure> {
    let texts = parts
        .iter()
        .filter_map(|part| if let RunPart::Text { text } = part { Some(text.len()) } else { None });
    let bytes: usize = texts.sum();
    if bytes <= USER_TEXT_BYTES_MAX {
        return Ok(());
    }
    Err(too_much("the prompt with its input and files", &format!("{bytes} bytes of text")))
}

fn too_much(what: &str, size: &str) -> Failure {
    let why = format!("{what} has {size}, and a model is shown at most {USER_TEXT_BYTES_MAX}");
    Failure::not_started("usage", why)
        .with_hint("keep it in a file below the directory and name its path, so that the model reads what it needs")
}

/// Puts words and piped text together; none without both.
fn prompt(words: &[String], piped: &str) -> Result<Option<String>, Failure> {
    let asked = match words {
        [only] if only == "-" => "",
        words => &words.join(" "),
    };
    let (asked, piped) = (asked.trim(), piped.trim_end());
    match (asked.is_empty(), piped.trim().is_empty()) {
        (true, true) if words.is_empty() => Ok(None),
        (true, true) if words == ["-"] => Err(empty("standard input is empty")),
        (true, true) => Err(empty("the prompt is empty")),
        (true, false) => Ok(Some(piped.to_owned())),
        (false, true) => Ok(Some(asked.to_owned())),
        (false, false) => Ok(Some(format!("{asked}\n\n{}", fenced(piped)))),
    }
}

/// How a prompt is given, where there was none.
pub(super) const HOW_TO_ASK: &str = "stead run \"what to do\"";

fn empty(what: &str) -> Failure {
    Failure::not_started("usage", what).with_hint(HOW_TO_ASK)
}

/// Refuses a command that asks nothing.
pub(crate) fn nothing_asked() -> Failure {
    empty(match print::stdin_is_terminal() {
        true => "there is no prompt",
        false => "there is no prompt: no word is given, and standard input is empty",
    })
}

/// Puts a text into a fence that it cannot close.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Tells whether standard input is something that was put there on purpose: a pipe or a file.
fn carries_text() -> bool {
    rustix::fs::fstat(rustix::stdio::stdin()).is_ok_and(|stat| {
        matches!(FileType::from_raw_mode(stat.st_mode), FileType::Fifo | FileType::RegularFile)
    })
}

fn read_stdin() -> Result<String, Failure> {
    let stdin = rustix::stdio::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    if matches!(poll(&mut polled, Some(&SILENCE_BEFORE_HINT)), Ok(0)) {
        print::err("stead: reading standard input until its end (use < /dev/null to have none)\n");
    }
    // One byte more than is taken tells that there is more; how much, nobody has read.
    let bytes = read(io::stdin().lock(), USER_TEXT_BYTES_MAX + 1, "standard input")?;
    if bytes.len() > USER_TEXT_BYTES_MAX {
        return Err(too_much("standard input", &format!("more than {USER_TEXT_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::not_started("usage", format!("standard input is not UTF-8 at byte {at}"))
    })
}

/// Reads at most so many bytes.
fn read(reader: impl io::Read, bytes_max: usize, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    reader.take(limit).read_to_end(&mut bytes).map_err(|error| {
        Failure::not_started("usage", format!("{name} cannot be read: {error}"))
    })?;
    Ok(bytes)
}

/// Reads a file as a picture or as text, by its bytes.
fn file(path: &Path) -> Result<RunPart, Failure> {
    let name = path.display().to_string();
    let opened = File::open(path).map_err(|error| {
        let code = if error.kind() == io::ErrorKind::NotFound { "not_found" } else { "usage" };
        Failure::not_started(code, format!("{name} cannot be opened: {error}"))
    })?;
    let bytes = read(opened, FILE_BYTES_MAX + 1, &name)?;
    if bytes.len() > FILE_BYTES_MAX {
        let why = format!("{name} is larger than {FILE_BYTES_MAX} bytes");
        return Err(Failure::not_started("usage", why)
            .with_hint("name its path in the prompt, so that the model reads what it needs"));
    }
    part(&name, bytes)
}

fn part(name: &str, bytes: Vec<u8>) -> Result<RunPart, Failure> {
    let is = |(magic, at, _): &&(&[u8], usize, &str)| {
        bytes.get(*at..).is_some_and(|from| from.starts_with(magic))
            && (*at == 0 || bytes.starts_with(b"RIFF"))
    };
    if let Some((_, _, media_type)) = PICTURES.iter().find(is) {
        let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
        let filename = Path::new(name).file_name().map(|name| name.to_string_lossy().into_owned());
        let url = format!("data:{media_type};base64,{data}");
        return Ok(RunPart::File { media_type: (*media_type).to_owned(), url, filename });
    }
    let unknown = || {
        Failure::not_started("usage", format!("{name} is neither text nor a picture")).with_hint(
            "pictures are PNG, JPEG, GIF and WebP; for other files name the path in the prompt",
        )
    };
    let text = String::from_utf8(bytes).map_err(|_not_text| unknown())?;
    if text.contains('\0') {
        return Err(unknown());
    }
    if text.len() > USER_TEXT_BYTES_MAX {
        return Err(too_much(name, &format!("{} bytes of text", text.len())));
    }
    Ok(RunPart::Text { text: format!("{name}:\n\n{}", fenced(&text)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], piped: &str, expected: Result<Option<&str>, &str>) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let said = prompt(&words, piped).map_err(|failure| failure.message);
        let said = said.as_ref().map(Option::as_deref).map_err(String::as_str);
        assert_eq!(said, expected, "{words:?} {piped:?}");
    }

    #[test]
    fn words_and_piped_text_become_one_prompt() {
        check(&["fix", "the test"], "", Ok(Some("fix the test")));
        check(&["-"], "all of it\n", Ok(Some("all of it")));
        check(&[], "all of it\n", Ok(Some("all of it")));
        check(&["why?"], "a\n```\nb\n", Ok(Some("why?\n\n````\na\n```\nb\n````")));
        check(&[], " \n", Ok(None));
        check(&["-"], " \n", Err("standard input is empty"));
        check(&["  "], "", Err("the prompt is empty"));
    }

    #[test]
    fn more_text_than_a_model_is_shown_is_refused_with_its_size() {
        let text = |bytes: usize| RunPart::Text { text: "x".repeat(bytes) };
        let half = USER_TEXT_BYTES_MAX / 2;
        within_bounds(&[text(half), text(half)]).unwrap();
        let failure = within_bounds(&[text(half), text(half), text(1)]).unwrap_err();
        assert!(failure.message.contains("has 262145 bytes of text"), "{}", failure.message);
        assert!(failure.message.ends_with("at most 262144") && failure.hint.is_some());
    }

    #[test]
    fn files_are_told_apart_by_their_bytes() {
        let kind = |bytes: &[u8]| match part("dir/a.bin", bytes.to_vec()) {
            Ok(RunPart::Text { text }) => text,
            Ok(RunPart::File { media_type, url, filename }) => {
                format!("{media_type} {url} {}", filename.unwrap_or_default())
            }
            Err(failure) => failure.code,
        };
        assert_eq!(kind(b"\xff\xd8\xff\xe0"), "image/jpeg data:image/jpeg;base64,/9j/4A== a.bin");
        assert!(kind(b"RIFF\x00\x00\x00\x00WEBPVP8 ").starts_with("image/webp"));
        assert_eq!(kind(b"XXXX\x00\x00\x00\x00WEBPVP8 "), "usage");
        assert_eq!(kind("gr\u{fc}n\n".as_bytes()), "dir/a.bin:\n\n```\ngr\u{fc}n\n```");
        assert_eq!(kind(b"\xfe\xfd"), "usage");
        assert_eq!(kind(&vec![b'a'; USER_TEXT_BYTES_MAX + 1]), "usage");
        assert_eq!(read(&b"abc"[..], 2, "it").unwrap(), b"ab");
    }
}
