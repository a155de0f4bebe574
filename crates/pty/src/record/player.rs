//! From a recording back to a screen.

use std::time::Duration;

use screen::{Mirror, Size};

use super::{Event, Keyframe, Reader, RecordingError, What};
use crate::{job::JobFiles, text};

/// A terminal that is told what was recorded.
#[derive(Debug, Default)]
pub(crate) struct Player {
    mirror: Option<Mirror>,
}

impl Player {
    /// Follows an event.
    pub(crate) fn follow(&mut self, event: &Event) {
        match (&event.what, &mut self.mirror) {
            (What::Keyframe(keyframe), _) if keyframe.is_jump => self.begin(keyframe),
            (What::Output(bytes), Some(mirror)) => mirror.feed(bytes),
            (What::Size { columns, lines }, Some(mirror)) => {
                mirror.resize(Size::clamped(*columns, *lines));
            }
            _ => return,
        }
        if let Some(mirror) = &mut self.mirror {
            // What it asked was answered long ago.
            mirror.take_answers();
            mirror.take_events();
        }
    }

    fn begin(&mut self, keyframe: &Keyframe) {
        let mut mirror = Mirror::new(Size::clamped(keyframe.columns, keyframe.lines));
        mirror.feed(&keyframe.snapshot);
        self.mirror = Some(mirror);
    }

    /// Lends the terminal as it is now; none before the first keyframe.
    pub(crate) fn mirror(&self) -> Option<&Mirror> {
        self.mirror.as_ref()
    }

    /// Returns the terminal as it is now; none before the first keyframe.
    pub(crate) fn into_mirror(self) -> Option<Mirror> {
        self.mirror
    }
}

impl Reader {
    /// Returns the terminal as it was at a moment, or at the end.
    pub(crate) fn mirror_at(&mut self, to: Duration) -> Result<Option<Mirror>, RecordingError> {
        self.seek(to)?;
        let mut player = Player::default();
        while let Some(event) = self.read()? {
            if to < event.at && player.mirror.is_some() {
                break;
            }
            player.follow(&event);
        }
        Ok(player.into_mirror())
    }

    /// Returns the text of the screen as it was at a moment, counted from the recording's beginning.
    ///
    /// # Errors
    /// When a file cannot be read, or is of an unknown version.
    pub fn screen_at(&mut self, to: Duration) -> Result<Option<String>, RecordingError> {
        Ok(self.mirror_at(to)?.map(|mirror| text::of(&mirror)))
    }
}

/// Returns what the screen showed last, for a job whose host has left no text of it: it was killed. Rows
/// that the terminal has broken are one line again.
#[must_use]
pub fn recover(files: &JobFiles) -> Option<String> {
    let mirror = Reader::open(files).ok()??.mirror_at(Duration::MAX).ok()??;
    Some(text::whole(&mirror))
}

/// Puts the lines of a screen's text together again that the terminal has broken; none where nothing that
/// was recorded ends with just this screen.
#[must_use]
pub fn mended(files: &JobFiles, screen: &str) -> Option<String> {
    let mirror = Reader::open(files).ok()??.mirror_at(Duration::MAX).ok()??;
    (text::of(&mirror) == screen).then(|| text::whole(&mirror))
}

/// Returns everything that the screen and its scrollback hold at the end, as text: lines as they were written,
/// however wide the terminal was.
///
/// # Errors
/// When a file cannot be read, or is of an unknown version.
pub fn text(reader: &mut Reader) -> Result<String, RecordingError> {
    let Some(mirror) = last(reader)? else { return Ok(String::new()) };
    Ok(text::text(mirror.whole_text()))
}

/// Returns the terminal as it is at the end, with its scrollback: the last file begins with all of it.
pub(crate) fn last(reader: &mut Reader) -> Result<Option<Mirror>, RecordingError> {
    reader.seek_last_segment()?;
    let mut player = Player::default();
    while let Some(event) = reader.read()? {
        player.follow(&event);
    }
    Ok(player.into_mirror())
}
