//! Hyperlinks: each address is kept once, and all of them together stay within a limit.
//!
//! Cells hold the links; this table only knows which ones were handed out.

use alacritty_terminal::{
    grid::{Dimensions, Grid},
    index::{Column, Line},
    term::cell::{Cell, Hyperlink},
};
use vocab::limits::{SCREEN_LINK_BYTES_MAX, SCREEN_LINKS_BYTES_MAX};

/// How many links go without before it is looked again which ones are still in use. A look costs a
/// walk over all cells.
const REFUSED_PER_SWEEP: usize = 1_024;

/// The links handed out.
#[derive(Debug, Default)]
pub(crate) struct Links {
    known: Vec<Hyperlink>,
    n_bytes: usize,
    n_refused: usize,
}

impl Links {
    /// Returns the link for an address, or nothing where it is too long or there are too many.
    pub(crate) fn intern<'a>(
        &mut self,
        id: &str,
        address: &str,
        grids: impl Iterator<Item = &'a Grid<Cell>>,
    ) -> Option<Hyperlink> {
        let n_bytes = id.len() + address.len();
        if SCREEN_LINK_BYTES_MAX < n_bytes {
            return None;
        }
        // Programs open the link that they opened last, most of the time.
        let same = |link: &&Hyperlink| link.id() == id && link.uri() == address;
        if let Some(link) = self.known.iter().rev().take(64).find(same) {
            return Some(link.clone());
        }
        if SCREEN_LINKS_BYTES_MAX < self.n_bytes + cost(n_bytes) {
            self.n_refused += 1;
            if self.n_refused % REFUSED_PER_SWEEP != 1 {
                return None;
            }
            self.sweep(grids);
            if SCREEN_LINKS_BYTES_MAX < self.n_bytes + cost(n_bytes) {
                return None;
            }
        }
        let link = Hyperlink::new(Some(id), address.to_owned());
        self.n_bytes += cost(n_bytes);
        self.n_refused = 0;
        self.known.push(link.clone());
        Some(link)
    }

    /// Forgets the links that no cell holds any more.
    fn sweep<'a>(&mut self, grids: impl Iterator<Item = &'a Grid<Cell>>) {
        let mut used = std::collections::HashSet::new();
        for grid in grids {
            for pen in [&grid.cursor.template, &grid.saved_cursor.template] {
                used.extend(pen.hyperlink());
            }
            for line in 0..grid.screen_lines() {
                let row = &grid[Line::from(line)];
                used.extend((0..grid.columns()).filter_map(|at| row[Column(at)].hyperlink()));
            }
        }
        self.known.retain(|link| used.contains(link));
        self.known.shrink_to_fit();
        self.n_bytes = self.known.iter().map(|link| cost(link.id().len() + link.uri().len())).sum();
    }
}

/// What a link takes besides its letters: its own record and the place in the table.
fn cost(n_bytes: usize) -> usize {
    n_bytes + 96
}
