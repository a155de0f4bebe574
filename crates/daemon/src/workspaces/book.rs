//! The places that were added by requests: one private file, written whole.

use std::{path::PathBuf, sync::Arc};

use stdx::state_file;
use vocab::{
    limits::{STATE_FILE_BYTES_MAX, WORKSPACES_ADDED_MAX},
    outcome::Failure,
    place::{Kept, Named, Source},
};

use super::Registered;

/// The file; none where nothing can be added.
#[derive(Debug, Clone, Default)]
pub(super) struct Book(Option<Arc<PathBuf>>);

impl Book {
    pub(super) fn at(path: PathBuf) -> Self {
        Self(Some(Arc::new(path)))
    }

    pub(super) fn read(&self) -> Result<Vec<Registered>, Failure> {
        let Some(path) = &self.0 else { return Ok(Vec::new()) };
        let bytes = state_file::read(path, STATE_FILE_BYTES_MAX).map_err(|error| failed(&error))?;
        let Some(bytes) = bytes else { return Ok(Vec::new()) };
        let kept = Kept::read(&bytes).map_err(|error| {
            Failure::not_started("state_io", format!("{}: {error}", path.display()))
                .with_hint("mend the file, or remove it and add the workspaces again")
        })?;
        let rows = kept.workspaces.into_iter();
        Ok(rows
            .map(|Named { name, place }| Registered { name, place, source: Source::Added })
            .collect())
    }

    /// Writes a place in the stead of the one of its name, or for the first time.
    pub(super) fn put(&self, registered: &Registered) -> Result<(), Failure> {
        self.change(|rows| {
            rows.retain(|row| row.name != registered.name);
            rows.push(registered.clone());
        })
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), Failure> {
        self.change(|rows| rows.retain(|row| row.name != name))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Registered>)) -> Result<(), Failure> {
        let Some(path) = &self.0 else {
            return Err(Failure::not_started("forbidden", "no workspace can be added here"));
        };
        let mut rows = self.read()?;
        change(&mut rows);
        if rows.len() > WORKSPACES_ADDED_MAX {
            let why = format!("no more than {WORKSPACES_ADDED_MAX} workspaces can be added");
            return Err(Failure::not_started("too_many_workspaces", why));
        }
        rows.sort_by(|one, two| one.name.cmp(&two.name));
        let rows = rows.into_iter().map(|row| Named { name: row.name, place: row.place });
        let bytes = Kept { workspaces: rows.collect() }.write();
        let bytes = bytes.map_err(|error| Failure::not_started("internal", error.to_string()))?;
        state_file::publish(path, &bytes).map_err(|error| failed(&error))
    }
}

fn failed(error: &std::io::Error) -> Failure {
    let code = if state_file::is_full(error) { "disk_full" } else { "state_io" };
    Failure::not_started(code, format!("the list of workspaces: {error}"))
}
