//! A configuration of somebody else's: read whole, replaced whole, with its mode, behind its link.

#![expect(
    clippy::disallowed_methods,
    reason = "the configuration of an agent, as the person asked"
)]

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use vocab::{
    limits::HOOKS_FILE_BYTES_MAX,
    outcome::{Effect, Failure},
};

/// The mode of a file that did not exist: it may come to hold keys.
const MODE_NEW: u32 = 0o600;

/// The file as it was read.
#[derive(Debug)]
pub(super) struct Foreign {
    /// Where it is, links resolved: people keep such files elsewhere.
    pub(super) path: PathBuf,
    /// None if there is none.
    pub(super) text: Option<String>,
    mode: u32,
}

impl Foreign {
    /// Reads it.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let missing = Self { path: path.to_owned(), text: None, mode: MODE_NEW };
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match fs::symlink_metadata(path) {
                    Ok(_) => Err(unusable(path, "is a link to nowhere")),
                    Err(_) => Ok(missing),
                };
            }
            Err(error) => return Err(unusable(path, &error.to_string())),
        };
        let said = |error: io::Error| unusable(&path, &error.to_string());
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(&path)
            .map_err(said)?;
        let meta = file.metadata().map_err(said)?;
        if !meta.is_file() {
            return Err(unusable(&path, "is no regular file"));
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(unusable(&path, &format!("belongs to uid {}", meta.uid())));
        }
        let mut bytes = Vec::new();
        file.take(HOOKS_FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(said)?;
        if HOOKS_FILE_BYTES_MAX < u64::try_from(bytes.len()).unwrap_or(u64::MAX) {
            return Err(unusable(&path, &format!("has more than {HOOKS_FILE_BYTES_MAX} bytes")));
        }
        let text = String::from_utf8(bytes).map_err(|error| unusable(&path, &error.to_string()))?;
        Ok(Self { path, text: Some(text), mode: meta.mode() & 0o7777 })
    }

    /// Puts another text in its place, unless somebody has changed it since.
    pub(super) fn replace(&self, text: &str) -> Result<(), Failure> {
        let said = |error: io::Error| unusable(&self.path, &error.to_string());
        let dir = self.path.parent().unwrap_or_else(|| Path::new("/"));
        fs::create_dir_all(dir).map_err(said)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = dir.join(format!(".{name}.stead-{}.tmp", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(MODE_NEW)
            .open(&temporary)
            .and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.set_permissions(fs::Permissions::from_mode(self.mode))?;
                file.sync_all()
            })
            .map_err(said)
            .and_then(|()| self.refuse_when_changed())
            .and_then(|()| fs::rename(&temporary, &self.path).map_err(said));
        if written.is_err() {
            // What was not renamed is of no use to anybody.
            fs::remove_file(&temporary).ok();
        }
        written
    }

    fn refuse_when_changed(&self) -> Result<(), Failure> {
        let is_same = Self::read(&self.path).is_ok_and(|now| now.text == self.text);
        if is_same {
            return Ok(());
        }
        let why = format!("{} was changed by somebody else meanwhile", self.path.display());
        Err(Failure::not_started("hooks_changed", why).with_hint("try again"))
    }
}

fn unusable(path: &Path, why: &str) -> Failure {
    let why = format!("{} cannot be used: {why}", path.display());
    Failure::new("hooks_unusable", Effect::NotStarted, why)
}
