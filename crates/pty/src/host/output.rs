//! From the program to whoever looks: the clients first, since somebody waits there; then the recording and the
//! mirror, so that a snapshot and what follows it fit; then, once it is quiet, the screen's text into its file.

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

/// The kernel hands over no more at once.
const PIECE_BYTES: usize = 4 << 10;

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
        // All of a turn goes on as one frame: the system hands a terminal's output over in small pieces. The
        // room is given back with the turn, so that an idle host has none.
        let mut frame = frame::room(HOST_TURN_BYTES);
        while frame.len() + PIECE_BYTES <= frame.capacity() {
            let n_before = frame.len();
            match self.pty.read(&mut frame) {
                // So little is the echo of a key, and all there is.
                Output::Bytes if frame.len() < n_before + PIECE_BYTES / 8 => break,
                Output::Bytes => {}
                Output::Nothing => break,
                Output::End => {
                    self.program.end.drained();
                    break;
                }
            }
        }
        if let Some(n_bytes) = frame::seal(Kind::Data, &mut frame) {
            self.pass_on(&frame);
            self.show(&frame[frame.len() - n_bytes..]);
        }
    }

    /// Gives a frame of output to everyone who looks. What is taken at once is kept nowhere.
    fn pass_on(&mut self, frame: &[u8]) {
        let mut shared = None;
        for client in &mut self.crowd.clients {
            client.output(frame, &mut shared);
        }
    }

    fn show(&mut self, bytes: &[u8]) {
        // First, as it may begin with the screen as it is.
        self.record(Told::Output(bytes));
        self.mirror.feed(bytes);
        self.paper.dirty(self.clock.monotonic());
        self.program.watch.note(What::Wrote);
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
        // Whoever wants nothing recorded does not want its last screen to stay behind either.
        if self.paper.recorder.is_on() {
            // On a full disk the old text stands; the next one is tried again.
            state_file::replace(&self.files.screen(), text::of(&self.mirror).as_bytes()).ok();
        }
        memory::give_back();
    }
}
