//! From the program to whoever looks: the mirror first, so that a snapshot and what follows it fit; then
//! the clients; then, once it is quiet, the screen's text into its file.

use std::time::Duration;

use arbiter::fact::What;
use screen::{Event, FOCUS_OUT};
use stdx::{memory, state_file};
use vocab::limits::{HOST_INPUT_BYTES_MAX, HOST_QUIET_MS, HOST_SCREEN_AGE_MS_MAX, HOST_TURN_BYTES};

use super::{Host, terminal::Output};
use crate::{
    frame::{self, Kind},
    record::{Recorder, Told},
    text,
};

/// What goes to disk: the recording at once, the screen's text when it is quiet.
#[derive(Debug)]
pub(super) struct Paper {
    pub(super) recorder: Recorder,
    /// When the oldest and the youngest output came that it does not hold.
    unwritten: Option<(Duration, Duration)>,
}

impl Paper {
    pub(super) fn new(recorder: Recorder) -> Self {
        Self { recorder, unwritten: None }
    }

    pub(super) fn dirty(&mut self, now: Duration) {
        let oldest = self.unwritten.map_or(now, |(oldest, _)| oldest);
        self.unwritten = Some((oldest, now));
    }

    pub(super) fn due(&self) -> Option<Duration> {
        let (oldest, youngest) = self.unwritten?;
        let quiet = youngest + Duration::from_millis(HOST_QUIET_MS);
        Some(quiet.min(oldest + Duration::from_millis(HOST_SCREEN_AGE_MS_MAX)))
    }
}

impl Host {
    /// Reads what the program wrote, up to a turn of it.
    pub(super) fn read_output(&mut self) {
        // All of a turn goes on as one piece: the system hands a terminal's output over in small ones. The
        // room is given back with the turn, so that an idle host has none.
        let mut bytes = Vec::with_capacity(HOST_TURN_BYTES);
        while bytes.len() < HOST_TURN_BYTES {
            match self.pty.read(&mut bytes) {
                Output::Bytes => {}
                Output::Nothing => break,
                Output::End => {
                    self.program.end.drained();
                    break;
                }
            }
        }
        if !bytes.is_empty() {
            self.show(&bytes);
        }
    }

    fn show(&mut self, bytes: &[u8]) {
        // First, as it may begin with the screen as it is.
        self.record(Told::Output(bytes));
        self.mirror.feed(bytes);
        self.paper.dirty(self.clock.monotonic());
        self.program.watch.note(What::Wrote);
        if self.crowd.clients.iter().any(super::client::Client::watches) {
            let frame = frame::encode(Kind::Data, bytes).into();
            for client in &mut self.crowd.clients {
                client.output(&frame);
            }
        }
        let answers = self.mirror.take_answers();
        self.answer(&answers);
        for event in self.mirror.take_events() {
            if matches!(event, Event::Asked(_)) {
                self.crowd.is_asked = true;
            } else if event == Event::Focus(true) && !self.crowd.is_attended() {
                // Whoever begins to ask is told how it is.
                self.answer(FOCUS_OUT);
            }
            self.program.watch.hear(event);
        }
    }

    /// Types into the program's terminal, as soon as it takes it. The writer is not listened to while
    /// too much waits, so that there is never more than that and one frame.
    pub(super) fn type_in(&mut self, bytes: &[u8]) {
        self.input.extend(bytes);
    }

    /// Types what the program has asked for. One that asks on and reads nothing gets no more.
    fn answer(&mut self, bytes: &[u8]) {
        if self.input.len() < HOST_INPUT_BYTES_MAX {
            self.type_in(bytes);
        }
    }

    pub(super) fn write_paper_when_due(&mut self) {
        if self.paper.due().is_some_and(|due| due <= self.clock.monotonic()) {
            self.write_paper();
        }
    }

    pub(super) fn write_paper(&mut self) {
        self.paper.unwritten = None;
        self.paper.recorder.flush();
        // On a full disk the old text stands; the next one is tried again.
        state_file::replace(&self.files.screen(), text::of(&self.mirror).as_bytes()).ok();
        memory::give_back();
    }
}
