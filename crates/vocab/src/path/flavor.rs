//! The spelling rules of the machines that may serve a workspace: POSIX, Windows drives, UNC shares.
//!
//! Pure functions over bytes, the same on every machine. What the disk holds is not asked.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use super::{Component, PathError, Roots, invalid, outside};

/// Whose rules for separators, anchors and case apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// `/` separates, names are bytes, case matters.
    Posix,
    /// `/` and `\` separate, roots are drives or UNC shares, case does not matter but is kept.
    Windows,
}

/// What an absolute path hangs from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Anchor {
    Relative,
    Root,
    /// Upper-case letter.
    Drive(u8),
    /// Lower-case server and share.
    Share(String, String),
}

/// A text cut into its anchor and steps; `.` and empty steps are gone.
#[derive(Debug)]
pub(super) struct Split {
    pub(super) anchor: Anchor,
    pub(super) components: Vec<Component>,
}

pub(super) fn split(text: &[u8], flavor: Flavor) -> Result<Split, PathError> {
    if text.contains(&0) {
        return Err(invalid("holds a NUL byte", text));
    }
    let (anchor, rest) = match flavor {
        Flavor::Posix if text.first() == Some(&b'/') => (Anchor::Root, text),
        Flavor::Posix => (Anchor::Relative, text),
        Flavor::Windows => windows_anchor(text)?,
    };
    let mut components = Vec::new();
    for piece in rest.split(|byte| is_separator(*byte, flavor)) {
        match piece {
            b"" | b"." => {}
            b".." => components.push(Component::Parent),
            name => {
                if flavor == Flavor::Windows {
                    check_windows_name(name, text)?;
                }
                components.push(Component::Name(OsStr::from_bytes(name).to_owned()));
            }
        }
    }
    Ok(Split { anchor, components })
}

/// Returns how many of the path's steps spell `root`; none when it does not begin with it.
pub(super) fn prefix_len(root: &OsStr, path: &Split, flavor: Flavor) -> Option<usize> {
    let root = split(root.as_bytes(), flavor).ok()?;
    if root.anchor != path.anchor || root.components.len() > path.components.len() {
        return None;
    }
    let same = root.components.iter().zip(&path.components).all(|pair| match pair {
        (Component::Name(a), Component::Name(b)) => same_name(a, b, flavor),
        (Component::Parent, _) | (_, Component::Parent) => false,
    });
    same.then_some(root.components.len())
}

fn same_name(a: &OsStr, b: &OsStr, flavor: Flavor) -> bool {
    match flavor {
        Flavor::Posix => a == b,
        Flavor::Windows => a.to_string_lossy().to_lowercase() == b.to_string_lossy().to_lowercase(),
    }
}

fn is_separator(byte: u8, flavor: Flavor) -> bool {
    byte == b'/' || (byte == b'\\' && flavor == Flavor::Windows)
}

fn windows_anchor(text: &[u8]) -> Result<(Anchor, &[u8]), PathError> {
    let slash = |index: usize| text.get(index).is_some_and(|b| is_separator(*b, Flavor::Windows));
    let verbatim = slash(0) && slash(1) && text.get(2) == Some(&b'?') && slash(3);
    if verbatim {
        let rest = &text[4..];
        let unc = rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case(b"unc"));
        if unc && rest.get(3).is_some_and(|b| is_separator(*b, Flavor::Windows)) {
            return share(&rest[4..], text);
        }
        return match drive(rest) {
            Some((letter, rest)) if starts_with_separator(rest) => {
                Ok((Anchor::Drive(letter), rest))
            }
            Some(_) | None => Err(outside(text)),
        };
    }
    if slash(0) && slash(1) {
        return share(&text[2..], text);
    }
    if let Some((letter, rest)) = drive(text) {
        if !starts_with_separator(rest) {
            return Err(invalid("a drive letter needs a separator after it", text));
        }
        return Ok((Anchor::Drive(letter), rest));
    }
    if slash(0) {
        // Shells that imitate POSIX write drives as directories.
        let pieces: Vec<&[u8]> = text[1..].splitn(3, |byte| *byte == b'/').collect();
        let (letter, used) = match pieces.as_slice() {
            [b"mnt" | b"cygdrive", letter, ..] => (*letter, pieces[0].len() + 2),
            [letter, ..] => (*letter, 1),
            [] => (&b""[..], 1),
        };
        return match letter {
            [one] if one.is_ascii_alphabetic() => {
                Ok((Anchor::Drive(one.to_ascii_uppercase()), &text[used + 1..]))
            }
            _ => Err(outside(text)),
        };
    }
    Ok((Anchor::Relative, text))
}

fn drive(text: &[u8]) -> Option<(u8, &[u8])> {
    match text {
        [letter, b':', rest @ ..] if letter.is_ascii_alphabetic() => {
            Some((letter.to_ascii_uppercase(), rest))
        }
        _ => None,
    }
}

fn starts_with_separator(text: &[u8]) -> bool {
    text.first().is_some_and(|byte| is_separator(*byte, Flavor::Windows))
}

fn share<'a>(rest: &'a [u8], text: &[u8]) -> Result<(Anchor, &'a [u8]), PathError> {
    let mut pieces = rest.splitn(3, |byte| is_separator(*byte, Flavor::Windows));
    let server = pieces.next().unwrap_or_default();
    let share = pieces.next().unwrap_or_default();
    let special = |name: &[u8]| matches!(name, b"" | b"." | b".." | b"?");
    if special(server) || special(share) {
        return Err(invalid("a network path needs a server and a share", text));
    }
    let lower = |name: &[u8]| String::from_utf8_lossy(name).to_lowercase();
    Ok((Anchor::Share(lower(server), lower(share)), pieces.next().unwrap_or_default()))
}

fn check_windows_name(name: &[u8], text: &[u8]) -> Result<(), PathError> {
    if name.iter().any(|byte| *byte < 32 || b"<>:\"|?*".contains(byte)) {
        return Err(invalid("holds a character that names cannot have", text));
    }
    if matches!(name.last(), Some(b'.' | b' ')) {
        return Err(invalid("a name cannot end with a dot or a space", text));
    }
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default().to_ascii_uppercase();
    let numbered = matches!(stem.as_slice(), [b'C', b'O', b'M', b'1'..=b'9'])
        || matches!(stem.as_slice(), [b'L', b'P', b'T', b'1'..=b'9']);
    if numbered || matches!(stem.as_slice(), b"CON" | b"PRN" | b"AUX" | b"NUL") {
        return Err(invalid("is the name of a device", text));
    }
    Ok(())
}

/// Returns the path of a `file:` URL; none when the text is no such URL.
pub(super) fn from_file_url(text: &[u8], flavor: Flavor) -> Result<Option<Vec<u8>>, PathError> {
    let scheme = text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"file://"));
    if !scheme {
        return Ok(None);
    }
    let rest = &text[7..];
    let slash = rest.iter().position(|byte| *byte == b'/');
    let Some(slash) = slash else {
        return Err(invalid("a file URL needs a path", text));
    };
    let (host, path) = rest.split_at(slash);
    let decoded = percent_decoded(path, flavor).ok_or_else(|| invalid("bad percent code", text))?;
    let local = host.is_empty() || host.eq_ignore_ascii_case(b"localhost");
    match (flavor, local) {
        (Flavor::Posix, true) => Ok(Some(decoded)),
        (Flavor::Posix, false) => Err(outside(text)),
        (Flavor::Windows, true) if drive(&decoded[1..]).is_some() => {
            Ok(Some(decoded[1..].to_vec()))
        }
        (Flavor::Windows, true) => Ok(Some(decoded)),
        (Flavor::Windows, false) => Ok(Some([b"//", host, &decoded].concat())),
    }
}

/// Undoes `%HH`; none for a broken code or one that hides a separator.
fn percent_decoded(path: &[u8], flavor: Flavor) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(path.len());
    let mut bytes = path.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let code = super::names::hex_byte(bytes.next()?, bytes.next()?)?;
        if is_separator(code, flavor) {
            return None;
        }
        out.push(code);
    }
    Some(out)
}

/// Replaces a leading `~` by the home directory; other texts come back as they are.
pub(super) fn expand_home(text: &[u8], roots: &Roots) -> Result<Vec<u8>, PathError> {
    let rest = match text {
        [b'~'] => &text[1..],
        [b'~', next, ..] if is_separator(*next, roots.flavor) => &text[1..],
        _ => return Ok(text.to_vec()),
    };
    let home: &OsString =
        roots.home.as_ref().ok_or_else(|| invalid("there is no home directory here", text))?;
    let mut path = home.clone().into_vec();
    path.push(b'/');
    path.extend_from_slice(rest.get(1..).unwrap_or_default());
    Ok(path)
}
