//! A job's screen on a terminal of another size. While the sizes are equal, which is the usual case, the
//! program's own bytes go to the terminal; while they differ, these would damage the picture, so a mirror reads
//! them and the terminal is painted.
//!
//! Whoever types gives the size, so that only who looks comes here. Not here: how a part is painted.

use screen::{Audience, Depth, Mirror, Size, Window};
use serde::Deserialize;

/// Of STATE and RESYNC, what matters here: the rest may be of a newer host's kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    writer: bool,
    cols: u16,
    rows: u16,
    bytes: usize,
}

/// What is known of the sizes, and the picture while they differ.
#[derive(Debug, Default)]
pub(super) struct Crop {
    /// The screen's size, and whether this client gives it.
    told: Option<(Size, bool)>,
    picture: Option<Picture>,
}

#[derive(Debug)]
struct Picture {
    mirror: Mirror,
    window: Window,
    /// So much of the snapshot is still to come.
    n_awaited: usize,
    is_new: bool,
    /// The client has become the writer: from here on the terminal has the screen's size.
    is_last: bool,
}

impl Crop {
    /// Hears what the host says of the size and of who gives it.
    pub(super) fn hear(&mut self, state: &[u8]) {
        let Ok(Told { writer, cols, rows, .. }) = serde_json::from_slice(state) else { return };
        let size = Size::clamped(cols, rows);
        self.told = Some((size, writer));
        if let Some(picture) = self.picture.as_mut().filter(|_| writer) {
            picture.mirror.resize(size);
            (picture.is_last, picture.is_new) = (true, true);
        }
    }

    /// Begins anew with a snapshot, on a terminal of that size. Tells whether it is painted.
    pub(super) fn begin(&mut self, resync: &[u8], terminal: (u32, u32)) -> bool {
        self.picture = None;
        let n_awaited = serde_json::from_slice::<Told>(resync).unwrap_or_default().bytes;
        if let (Some((size, false)), Some(own)) = (self.told, known(terminal))
            && (u32::from(size.columns()), u32::from(size.lines())) != terminal
        {
            let mut mirror = Mirror::new(size);
            // Who types has the terminal that answers.
            mirror.set_audience(Audience::Client);
            let window = Window::new(own);
            self.picture =
                Some(Picture { mirror, window, n_awaited, is_new: true, is_last: false });
        }
        self.picture.is_some()
    }

    /// Reads what the program wrote; false where it goes to the terminal as it is.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> bool {
        let Some(picture) = &mut self.picture else { return false };
        picture.mirror.feed(bytes);
        picture.mirror.take_answers();
        picture.mirror.take_events();
        picture.n_awaited = picture.n_awaited.saturating_sub(bytes.len());
        picture.is_new = true;
        true
    }

    /// Takes the terminal's new size. The host knows it too, and sends a snapshot.
    pub(super) fn resize(&mut self, terminal: (u32, u32)) {
        if let (Some(picture), Some(size)) = (&mut self.picture, known(terminal)) {
            picture.window = Window::new(size);
            picture.is_new = true;
        }
    }

    /// Returns what the terminal has to be told, if anything.
    pub(super) fn paint(&mut self) -> Option<Vec<u8>> {
        let picture = self.picture.as_mut().filter(|picture| picture.is_new)?;
        if picture.is_last {
            // The snapshot that comes next is of the same; older hosts send none.
            let mut whole = screen::retitle();
            whole.extend(picture.mirror.snapshot(Depth::Screen));
            self.picture = None;
            return Some(whole);
        }
        if 0 < picture.n_awaited {
            return None;
        }
        picture.is_new = false;
        Some(picture.window.paint(&picture.mirror)).filter(|bytes| !bytes.is_empty())
    }
}

/// Returns a terminal's size; none where it does not know it.
fn known((columns, lines): (u32, u32)) -> Option<Size> {
    let number = |told: u32| (told != 0).then(|| u16::try_from(told).unwrap_or(u16::MAX));
    Some(Size::clamped(number(columns)?, number(lines)?))
}

#[cfg(test)]
mod tests;
