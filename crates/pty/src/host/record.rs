//! What of a job is recorded, and when: everything it shows, at the moment it is shown.

use super::Host;
use crate::{hello::Recording, record::Told};

impl Host {
    /// Records an event, before the mirror has seen it.
    pub(super) fn record(&mut self, told: Told<'_>) {
        self.paper.recorder.put(&self.mirror, told);
    }

    /// Records that something happened which is worth finding again, and writes it down at once: it may be
    /// long until the program shows something more.
    pub(super) fn mark(&mut self, label: &str) {
        self.record(Told::Marker(label));
        self.paper.recorder.flush();
    }

    /// Tells whether it is recorded.
    pub(super) fn recording(&self) -> Recording {
        match self.paper.recorder.trouble() {
            Some(why) => Recording::Paused { why: why.to_owned() },
            None if self.paper.recorder.is_on() => Recording::On,
            None => Recording::Off,
        }
    }
}
