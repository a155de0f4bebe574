//! Where a link's target continues the walk: from its own directory, from the root, or nowhere.
//!
//! Only text is compared; the steps that remain are walked like any others.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use vocab::path::Component;

use crate::error::{Reason, Result};

/// A link's target in steps.
#[derive(Debug)]
pub(crate) enum Target {
    /// Steps from the directory that holds the link.
    Here(Vec<Component>),
    /// Steps from the root, because the target spells it.
    FromRoot(Vec<Component>),
}

/// Reads a link's target. An absolute one that does not begin with one of the root's `spellings`
/// escapes.
pub(crate) fn target(text: &[u8], spellings: [&Path; 2]) -> Result<Target> {
    let steps = split(text);
    if text.first() != Some(&b'/') {
        return Ok(Target::Here(steps));
    }
    let matching = spellings.into_iter().find_map(|root| {
        let root = split(root.as_os_str().as_bytes());
        steps.strip_prefix(root.as_slice()).map(<[Component]>::to_vec)
    });
    matching.map(Target::FromRoot).ok_or(Reason::Outside)
}

fn split(text: &[u8]) -> Vec<Component> {
    text.split(|byte| *byte == b'/')
        .filter(|piece| !matches!(*piece, b"" | b"."))
        .map(|piece| match piece {
            b".." => Component::Parent,
            name => Component::Name(OsStr::from_bytes(name).to_owned()),
        })
        .collect()
}

/// Makes a path absolute without looking at links, from the directory the process stands in.
pub(crate) fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    std::path::absolute(path)
}
