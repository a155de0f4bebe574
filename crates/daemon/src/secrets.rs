//! Keys of providers: one private file each. They can be stored, asked about and forgotten; reading one
//! takes the [`Unsealer`], which composition hands out.

use std::{io, path::PathBuf, sync::Arc};

use stdx::{secret::Secret, state_file};
use vocab::{
    limits::{SECRET_BYTES_MAX, SECRET_NAME_BYTES_MAX, STATE_FILE_BYTES_MAX},
    outcome::{Effect, Failure},
};

/// How names of tokens begin: of workspaces, not of providers.
const WORKSPACE: &str = "workspace/";

/// The store of keys. It cannot read one.
#[derive(Debug, Clone)]
pub struct Secrets(Arc<PathBuf>);

/// Reads keys, for the calls to their providers alone.
#[derive(Debug, Clone)]
pub struct Unsealer(Arc<PathBuf>);

/// Opens the store; the two halves go to different owners.
#[must_use]
pub fn open(dir: PathBuf) -> (Secrets, Unsealer) {
    let dir = Arc::new(dir);
    (Secrets(Arc::clone(&dir)), Unsealer(dir))
}

impl Secrets {
    /// Tells whether a key is stored under that name.
    ///
    /// # Errors
    /// When the name is none, or the file is not ours alone.
    pub fn has(&self, name: &str) -> Result<bool, Failure> {
        let path = file_of(&self.0, name)?;
        Ok(state_file::read(&path, STATE_FILE_BYTES_MAX)
            .map_err(|error| io_failure(&error))?
            .is_some())
    }

    /// Stores a key.
    ///
    /// # Errors
    /// When name or key are out of bounds, or the file cannot be written.
    pub fn set(&self, name: &str, key: &Secret) -> Result<(), Failure> {
        check(name, key)?;
        let path = file_of(&self.0, name)?;
        state_file::publish(&path, key.expose().trim().as_bytes())
            .map_err(|error| io_failure(&error))
    }

    /// Forgets a key; tells whether there was one.
    ///
    /// # Errors
    /// When the name is none, or the file cannot be removed.
    pub fn forget(&self, name: &str) -> Result<bool, Failure> {
        state_file::remove(&file_of(&self.0, name)?).map_err(|error| io_failure(&error))
    }
}

impl Unsealer {
    /// Reads the key of that name, if one is stored.
    ///
    /// # Errors
    /// When the file is not ours alone or cannot be read.
    pub fn unseal(&self, name: &str) -> Result<Option<Secret>, Failure> {
        let bytes = state_file::read(&file_of(&self.0, name)?, STATE_FILE_BYTES_MAX)
            .map_err(|error| io_failure(&error))?;
        Ok(bytes.map(Secret::from_bytes))
    }
}

/// Checks a provider's name and its key, also where they are not stored.
///
/// # Errors
/// When name or key are out of bounds.
pub fn check(name: &str, key: &Secret) -> Result<(), Failure> {
    check_name(name)?;
    let text = key.expose().trim();
    if text.is_empty() || text.len() > SECRET_BYTES_MAX || text.chars().any(char::is_control) {
        let why = format!("a key is one line of 1 to {SECRET_BYTES_MAX} bytes");
        return Err(Failure::not_started("invalid_field", why));
    }
    Ok(())
}

/// Returns the file of a name. Names become file names, so only plain characters are taken.
fn file_of(dir: &std::path::Path, name: &str) -> Result<PathBuf, Failure> {
    check_name(name)?;
    // The one slash that a name may have is that of a kind; no other name has what stands for it in the file's.
    Ok(dir.join(name.replace('/', "~")))
}

fn check_name(name: &str) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = name.strip_prefix(WORKSPACE).unwrap_or(name);
    if name.is_empty()
        || name.len() > SECRET_NAME_BYTES_MAX
        || name.starts_with('.')
        || !name.chars().all(plain)
    {
        return Err(Failure::not_started(
            "invalid_field",
            "a provider's name is made of letters, digits, '-', '_' and '.'",
        ));
    }
    Ok(())
}

fn io_failure(error: &io::Error) -> Failure {
    let code = if state_file::is_full(error) {
        "disk_full"
    } else if error.kind() == io::ErrorKind::PermissionDenied {
        "state_refused"
    } else {
        "state_io"
    };
    Failure::new(code, Effect::NotStarted, format!("the key store: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_stored_asked_about_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let (secrets, unsealer) = open(dir.path().to_path_buf());
        assert!(!secrets.has("local").unwrap());
        secrets.set("local", &Secret::new(" key \n".into())).unwrap();
        assert!(secrets.has("local").unwrap());
        assert!(unsealer.unseal("local").unwrap().unwrap().matches(b"key"));
        assert!(secrets.forget("local").unwrap());
        assert!(!secrets.forget("local").unwrap());
    }

    #[test]
    fn a_name_cannot_leave_the_directory_and_a_key_is_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let (secrets, _) = open(dir.path().to_path_buf());
        let long = "x".repeat(SECRET_NAME_BYTES_MAX + 1);
        for bad in ["", ".", "..", "../x", "a/b", ".hidden", "a b", long.as_str()] {
            assert_eq!(secrets.has(bad).unwrap_err().code, "invalid_field", "{bad:?}");
        }
        let key = "k".repeat(SECRET_BYTES_MAX + 1);
        for bad in ["", "two\nlines", key.as_str()] {
            assert!(secrets.set("local", &Secret::new(bad.into())).is_err());
        }
    }
}
