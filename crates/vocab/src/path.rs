//! Paths as a model or client wrote them, parsed once in the flavour of the machine that serves them.
//!
//! No file is looked at here. `..` stays a component, because behind a link it means something else
//! than the text says; whoever walks the path pops its own stack of handles.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use crate::limits::{PATH_COMPONENT_BYTES_MAX, PATH_COMPONENTS_MAX, PATH_TEXT_BYTES_MAX};

mod flavor;
mod names;
mod repair;

pub use flavor::Flavor;
pub use names::{decode, display_name};

/// Why a text is no path of this workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It leads out of the root, or is absolute and does not begin with it.
    #[error("path lies outside the workspace: {0}")]
    Outside(String),
    /// No file of this flavour can have that name.
    #[error("invalid path: {why}: {text}")]
    Invalid {
        /// What is wrong with it.
        why: &'static str,
        /// The text, printable.
        text: String,
    },
    /// It is longer, or has more parts, than any path served here.
    #[error("path is too long: {what} exceeds {max}")]
    TooLong {
        /// The measure that was exceeded.
        what: &'static str,
        /// The limit.
        max: usize,
    },
}

impl PathError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Outside(_) => "path_outside_root",
            Self::Invalid { .. } => "path_invalid",
            Self::TooLong { .. } => "path_too_long",
        }
    }

    /// Returns the next step, where somebody can take one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Outside(_) => Some("use a path relative to the workspace root"),
            Self::Invalid { .. } | Self::TooLong { .. } => None,
        }
    }
}

impl From<PathError> for crate::outcome::Failure {
    fn from(error: PathError) -> Self {
        let failure = Self::not_started(error.code(), error.to_string());
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

/// Which of a workspace's two roots a path lies below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RootKind {
    /// The registered directory.
    Workspace,
    /// The scratch directory beside it.
    Temp,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    /// `..`: back to where the walk came from.
    Parent,
    /// An entry of a directory: never empty, `.` or `..`, and without separator or NUL.
    Name(OsString),
}

/// A place below a root, in steps. It proves nothing about the disk; `confine` does.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspacePath {
    root: RootKind,
    components: Vec<Component>,
}

impl WorkspacePath {
    /// Returns the root itself.
    #[must_use]
    pub fn root_of(root: RootKind) -> Self {
        Self { root, components: Vec::new() }
    }

    /// Returns which root the path lies below.
    #[must_use]
    pub fn root(&self) -> RootKind {
        self.root
    }

    /// Returns the steps from the root.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Returns the last step's name; none for the root and after `..`.
    #[must_use]
    pub fn file_name(&self) -> Option<&OsStr> {
        match self.components.last() {
            Some(Component::Name(name)) => Some(name),
            Some(Component::Parent) | None => None,
        }
    }

    /// Returns the path without its last name; none for the root and after `..`.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.file_name()?;
        let components = self.components[..self.components.len() - 1].to_vec();
        Some(Self { root: self.root, components })
    }

    /// Returns the path of an entry in this directory.
    ///
    /// # Errors
    /// When `name` cannot be the name of an entry, or the path grows too long.
    pub fn child(&self, name: &OsStr) -> Result<Self, PathError> {
        let bytes = name.as_bytes();
        if matches!(bytes, b"" | b"." | b"..") || bytes.contains(&b'/') || bytes.contains(&0) {
            return Err(invalid("not the name of an entry", bytes));
        }
        let mut components = self.components.clone();
        components.push(Component::Name(name.to_owned()));
        check(self.root, components)
    }

    /// Returns the path of something below this directory, from a walk that began here.
    ///
    /// # Errors
    /// When `below` holds anything but names, or the path grows too long.
    pub fn join(&self, below: &std::path::Path) -> Result<Self, PathError> {
        below.iter().try_fold(self.clone(), |path, name| path.child(name))
    }
}

impl std::fmt::Display for WorkspacePath {
    /// Prints the path from its root with `/`, special bytes escaped as in [`display_name`].
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.components.is_empty() {
            return f.write_str(".");
        }
        for (index, component) in self.components.iter().enumerate() {
            if index > 0 {
                f.write_str("/")?;
            }
            match component {
                Component::Parent => f.write_str("..")?,
                Component::Name(name) => f.write_str(&display_name(name))?,
            }
        }
        Ok(())
    }
}

/// How the serving machine spells a root: as it was registered, and as the file system resolves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelling {
    /// As the workspace was registered.
    pub registered: OsString,
    /// Canonical.
    pub real: OsString,
}

/// What a parse needs to know of the serving machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Whose rules for separators, anchors and case apply.
    pub flavor: Flavor,
    /// The workspace's root.
    pub workspace: Spelling,
    /// The scratch root, if there is one.
    pub temp: Option<Spelling>,
    /// What `~` means, if anything.
    pub home: Option<OsString>,
}

/// Parses a text exactly as written: anchors, `~` and `file:` URLs are understood, nothing is repaired.
///
/// # Errors
/// When the text is no path, or none of this workspace.
pub fn parse(text: &str, roots: &Roots) -> Result<WorkspacePath, PathError> {
    parse_bytes(text.as_bytes(), roots)
}

/// Parses a text meant for a file that may not exist yet: one leading `@` is dropped and Unicode
/// spaces become plain ones, because no tool prints those for a file it is asked to make.
///
/// # Errors
/// When the text is no path, or none of this workspace.
pub fn parse_new(text: &str, roots: &Roots) -> Result<WorkspacePath, PathError> {
    parse(&repair::plain_spaces(repair::without_at(text)), roots)
}

/// Returns what a text may mean, in the order to try: as written first, then the repairs that differ
/// from it, then its escapes undone. Never empty.
///
/// # Errors
/// When no reading is a path of this workspace; the error is that of the text as written.
pub fn candidates(text: &str, roots: &Roots) -> Result<Vec<WorkspacePath>, PathError> {
    let raw = parse(text, roots);
    let mut found: Vec<WorkspacePath> = raw.iter().cloned().collect();
    let readings = repair::readings(text).into_iter().map(String::into_bytes);
    // A backslash separates in the other flavour, so there is nothing to undo.
    let escaped = (roots.flavor == Flavor::Posix)
        .then(|| [decode(text), decode(repair::without_at(text))])
        .into_iter()
        .flatten()
        .flatten()
        .map(OsString::into_vec);
    for reading in readings.chain(escaped) {
        if let Ok(path) = parse_bytes(&reading, roots)
            && !found.contains(&path)
        {
            found.push(path);
        }
    }
    if found.is_empty() { raw.map(|path| vec![path]) } else { Ok(found) }
}

fn parse_bytes(text: &[u8], roots: &Roots) -> Result<WorkspacePath, PathError> {
    if text.len() > PATH_TEXT_BYTES_MAX {
        return Err(PathError::TooLong { what: "text in bytes", max: PATH_TEXT_BYTES_MAX });
    }
    let spelled = match flavor::from_file_url(text, roots.flavor)? {
        Some(path) => path,
        None => flavor::expand_home(text, roots)?,
    };
    let split = flavor::split(&spelled, roots.flavor)?;
    if split.anchor == flavor::Anchor::Relative {
        return check(RootKind::Workspace, split.components);
    }
    let temp = roots.temp.iter().flat_map(|temp| [&temp.real, &temp.registered]);
    let workspace = [&roots.workspace.real, &roots.workspace.registered].into_iter();
    // A scratch directory may lie below the workspace or the other way round: the deeper root wins.
    let best = workspace
        .map(|spelling| (RootKind::Workspace, spelling))
        .chain(temp.map(|spelling| (RootKind::Temp, spelling)))
        .filter_map(|(kind, root)| Some((kind, flavor::prefix_len(root, &split, roots.flavor)?)))
        .reduce(|best, next| if next.1 > best.1 { next } else { best });
    match best {
        Some((kind, len)) => check(kind, split.components[len..].to_vec()),
        None => Err(outside(text)),
    }
}

fn check(root: RootKind, components: Vec<Component>) -> Result<WorkspacePath, PathError> {
    if components.len() > PATH_COMPONENTS_MAX {
        return Err(PathError::TooLong { what: "number of components", max: PATH_COMPONENTS_MAX });
    }
    let path = WorkspacePath { root, components };
    let mut depth = 0_usize;
    for component in &path.components {
        match component {
            Component::Parent => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return Err(PathError::Outside(path.to_string())),
            },
            Component::Name(name) if name.len() > PATH_COMPONENT_BYTES_MAX => {
                let max = PATH_COMPONENT_BYTES_MAX;
                return Err(PathError::TooLong { what: "component in bytes", max });
            }
            Component::Name(_) => depth += 1,
        }
    }
    Ok(path)
}

fn outside(text: &[u8]) -> PathError {
    PathError::Outside(display_name(OsStr::from_bytes(text)))
}

fn invalid(why: &'static str, text: &[u8]) -> PathError {
    PathError::Invalid { why, text: display_name(OsStr::from_bytes(text)) }
}

#[cfg(test)]
mod tests;
