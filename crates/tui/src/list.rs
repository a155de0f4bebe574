//! The rows of the list: grouped by what needs a person, filtered, one of them selected.
//!
//! Pure. How a row is drawn is not known here, and neither are rows that the daemon does not tell.

use std::cmp::Reverse;

use api::job::{JobRow, RowKind};
use vocab::job::JobState;

/// What a row wants of a person. The order is that of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// It goes on once somebody has acted.
    NeedsYou,
    /// It works.
    Working,
    /// It has ended well, or its turn has.
    Done,
    /// It has ended otherwise.
    Failed,
}

impl Group {
    /// All groups in the order of the list.
    pub(crate) const ALL: [Self; 4] = [Self::NeedsYou, Self::Working, Self::Done, Self::Failed];

    /// Returns the group of a row.
    pub(crate) fn of(row: &JobRow) -> Self {
        match row.state {
            JobState::Blocked => Self::NeedsYou,
            JobState::Working => Self::Working,
            JobState::Done => Self::Done,
            JobState::Failed | JobState::Stopped => Self::Failed,
        }
    }

    /// Returns its heading.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::NeedsYou => "blocked, needs you",
            Self::Working => "working",
            Self::Done => "done",
            Self::Failed => "failed, stopped",
        }
    }
}

/// A line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The heading of a group, with how many rows it has.
    Heading(Group, usize),
    /// A row, by its place among all.
    Row(usize),
    /// Nothing, between two groups.
    Gap,
}

/// The list.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct List {
    rows: Vec<JobRow>,
    entries: Vec<Entry>,
    selected: Option<String>,
    filter: String,
    /// The first entry that is shown.
    top: usize,
}

impl List {
    /// Takes the rows as they are now.
    pub(crate) fn set_rows(&mut self, rows: Vec<JobRow>) {
        let place = self.place();
        self.rows = rows;
        self.arrange(place);
    }

    /// Shows only rows in which a text occurs.
    pub(crate) fn set_filter(&mut self, filter: &str) {
        let place = self.place();
        filter.clone_into(&mut self.filter);
        self.arrange(place);
    }

    /// Returns the filter; empty when all is shown.
    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    /// Returns all rows, as they were told.
    pub(crate) fn rows(&self) -> &[JobRow] {
        &self.rows
    }

    /// Returns the lines of the list.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the row of an entry.
    pub(crate) fn row(&self, idx: usize) -> Option<&JobRow> {
        self.rows.get(idx)
    }

    /// Returns a row by its id.
    pub(crate) fn find(&self, id: &str) -> Option<&JobRow> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// Returns the selected row.
    pub(crate) fn selected(&self) -> Option<&JobRow> {
        self.find(self.selected.as_deref()?)
    }

    /// Returns the first entry that is shown.
    pub(crate) fn top(&self) -> usize {
        self.top
    }

    /// Returns how many rows a group has, filtered or not.
    pub(crate) fn count(&self, group: Group) -> usize {
        self.rows.iter().filter(|row| Group::of(row) == group).count()
    }

    /// Selects the row that stands so many rows further down, or the outermost one.
    pub(crate) fn move_by(&mut self, n_rows: isize) {
        let shown = self.shown();
        let Some(last) = shown.len().checked_sub(1) else { return };
        let at = self.place().unwrap_or(0).saturating_add_signed(n_rows).min(last);
        self.selected = self.rows.get(shown[at]).map(|row| row.id.clone());
    }

    /// Scrolls as far as it takes to see the selected row in so many lines, with its heading where it is the
    /// first of its group.
    pub(crate) fn scroll_to(&mut self, n_lines: usize) {
        let at = self.entries.iter().position(|entry| match entry {
            Entry::Row(idx) => self.rows.get(*idx).map(|row| &row.id) == self.selected.as_ref(),
            Entry::Heading(..) | Entry::Gap => false,
        });
        let n_lines = n_lines.max(1);
        if let Some(at) = at {
            let above = at.saturating_sub(1);
            let first = match self.entries.get(above) {
                Some(Entry::Heading(..)) if 1 < n_lines => above,
                _ => at,
            };
            self.top = self.top.min(first).max((at + 1).saturating_sub(n_lines));
        }
        self.top = self.top.min(self.entries.len().saturating_sub(n_lines));
    }

    /// Returns the rows that are shown, in order.
    fn shown(&self) -> Vec<usize> {
        let row = |entry: &Entry| match entry {
            Entry::Row(idx) => Some(*idx),
            Entry::Heading(..) | Entry::Gap => None,
        };
        self.entries.iter().filter_map(row).collect()
    }

    /// Returns where the selected row stands among those shown.
    fn place(&self) -> Option<usize> {
        let selected = self.selected.as_deref()?;
        self.shown()
            .iter()
            .position(|idx| self.rows.get(*idx).is_some_and(|row| row.id == selected))
    }

    /// Sorts the rows into groups. What was selected stays so; where it is gone, its place is taken.
    fn arrange(&mut self, place: Option<usize>) {
        let needle = self.filter.to_lowercase();
        let is_shown = |idx: &usize| self.rows.get(*idx).is_some_and(|row| matches(row, &needle));
        let mut order: Vec<usize> = (0..self.rows.len()).filter(is_shown).collect();
        order.sort_by_cached_key(|idx| self.rows.get(*idx).map(key));
        self.entries.clear();
        let mut last = None;
        for idx in &order {
            let Some(row) = self.rows.get(*idx) else { continue };
            let group = Group::of(row);
            if last != Some(group) {
                let of_group =
                    |idx: &&usize| self.rows.get(**idx).is_some_and(|row| Group::of(row) == group);
                let n_rows = order.iter().filter(of_group).count();
                self.entries.extend(last.map(|_| Entry::Gap));
                self.entries.push(Entry::Heading(group, n_rows));
                last = Some(group);
            }
            self.entries.push(Entry::Row(*idx));
        }
        if self.place().is_none() {
            let at = place.unwrap_or(0).min(order.len().saturating_sub(1));
            let row = order.get(at).and_then(|idx| self.rows.get(*idx));
            self.selected = row.map(|row| row.id.clone());
        }
    }
}

/// Sorts rows as the list does: what needs a person first.
pub fn sort(rows: &mut [JobRow]) {
    rows.sort_by_cached_key(key);
}

/// Says how a session is by what is told of its last run, in the words of the list.
#[must_use]
pub fn session_state(run: &str) -> String {
    JobState::of_run(run).map_or_else(|| run.to_owned(), |state| state.to_string())
}

/// Returns the place of a row: its group, pinned ones first, then what changed last.
fn key(row: &JobRow) -> (Group, bool, Reverse<String>, String) {
    (Group::of(row), !row.pinned, Reverse(since(row).to_owned()), row.id.clone())
}

/// Returns when a row began to be as it is, as far as that is told.
pub(crate) fn since(row: &JobRow) -> &str {
    row.ended_at.as_deref().unwrap_or(&row.started_at)
}

/// Tells whether a program runs, or a run is at work or waits. How it ended may be told before when it did.
pub(crate) fn is_live(row: &JobRow) -> bool {
    row.ended_at.is_none() && !matches!(row.state, JobState::Failed | JobState::Stopped)
}

/// Tells whether a text in lower case occurs in what a row shows.
fn matches(row: &JobRow, needle: &str) -> bool {
    if needle.is_empty() {
        return true;
    }
    let kind = match row.kind {
        RowKind::Job => "job",
        RowKind::Session => "session",
    };
    let fixed = [row.name.as_str(), row.id.as_str(), row.cwd.as_str(), row.state.as_str(), kind];
    let more = [&row.status, &row.waiting_for].into_iter().flatten().chain(&row.command);
    let mut all = fixed.into_iter().chain(more.map(String::as_str));
    all.any(|text| text.to_lowercase().contains(needle))
}

#[cfg(test)]
mod tests;
