//! Writing a recording: events are gathered, compressed in blocks and appended to the youngest of the
//! job's files; the oldest files go when all together are too large.
//!
//! It has no timer. What is gathered is written when it is much or old, at the next event, or when the
//! host says that it is quiet. A write that fails stops it for a while: the host goes on in any case.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write as _},
    path::PathBuf,
    time::Duration,
};

use rustix::{fs::Mode, io::Errno};
use screen::{Depth, Mirror};
use stdx::{clock::Clock, state_file};
use vocab::{
    ids::JobId,
    limits::{
        HOST_SNAPSHOT_BYTES_MAX, RECORD_BLOCK_BYTES, RECORD_BLOCK_MS, RECORD_BYTES_MAX,
        RECORD_KEYFRAME_BYTES, RECORD_KEYFRAME_MS, RECORD_RETRY_MS, RECORD_SEGMENT_BYTES,
        RECORD_SEGMENTS_MAX,
    },
};

use super::{
    format::{self, Head, Told},
    reader,
};
use crate::job::{ExitRecord, JobFiles};

/// A keyframe after some time is worth its room only if so much has happened since the last one.
const KEYFRAME_WORTH_BYTES: u64 = 16 << 10;

/// Where times are counted from. A host that goes on as another build hands it over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Began {
    /// The time of day, in milliseconds since the Unix epoch.
    wall: i64,
    /// How much time had passed when this was written down.
    passed: Duration,
    /// Nothing is missing between what is on disk and now.
    continues: bool,
}

/// Writes one job's recording.
#[derive(Debug)]
pub(crate) struct Recorder {
    clock: Clock,
    job: JobId,
    dir: PathBuf,
    began: Began,
    /// When this process took over.
    base: Duration,
    room: Room,
    flow: Flow,
    block: Block,
    segment: Option<Segment>,
    /// The files that are done, the oldest first; none before it was looked which there are.
    done: Option<VecDeque<(u32, u64)>>,
    /// Nothing has been shown to the terminal yet.
    is_fresh: bool,
    /// Output since the last write that went well.
    n_unwritten: u64,
}

/// How much of a recording is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Room {
    segment_bytes: u64,
    bytes: u64,
}

impl Room {
    const USUAL: Self = Self { segment_bytes: RECORD_SEGMENT_BYTES, bytes: RECORD_BYTES_MAX };
}

/// Whether it is recorded.
#[derive(Debug)]
enum Flow {
    Off,
    On,
    /// A write failed.
    Paused {
        until: Duration,
        why: String,
    },
}

/// Events that are not written yet.
#[derive(Debug, Default)]
struct Block {
    body: Vec<u8>,
    start: Duration,
    last: Duration,
    /// The output among them.
    n_output: u64,
}

/// The file that is written.
#[derive(Debug)]
struct Segment {
    file: File,
    number: u32,
    n_bytes: u64,
    /// Without the keyframe that it begins with.
    n_event_bytes: u64,
    /// Output since the last keyframe, and when that was.
    n_since: u64,
    keyframe_at: Duration,
}

impl Recorder {
    /// Prepares to record; nothing is opened before there is something to be written.
    pub(crate) fn new(files: &JobFiles, clock: &Clock, is_on: bool, began: Option<Began>) -> Self {
        let usual =
            Began { wall: clock.now().as_millis(), passed: Duration::ZERO, continues: false };
        Self {
            clock: clock.clone(),
            job: files.id().clone(),
            dir: files.recording(),
            base: clock.monotonic(),
            flow: if is_on { Flow::On } else { Flow::Off },
            room: Room::USUAL,
            block: Block::default(),
            segment: None,
            done: None,
            is_fresh: began.is_none(),
            n_unwritten: 0,
            began: began.unwrap_or(usual),
        }
    }

    /// Says that the terminal has shown something before.
    pub(crate) fn is_not_fresh(&mut self) {
        self.is_fresh = false;
    }

    /// Records an event. `mirror` is the terminal before it.
    pub(crate) fn put(&mut self, mirror: &Mirror, told: Told<'_>) {
        let n_output = match told {
            Told::Output(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Told::Size(_) | Told::Marker(_) | Told::Exit(_) | Told::Gap(_) => 0,
        };
        let is_fresh = self.is_fresh && n_output == 0;
        let goes_on = match &self.flow {
            Flow::Off => return,
            Flow::Paused { until, .. } => *until <= self.clock.monotonic(),
            Flow::On => true,
        };
        if goes_on && let Err(error) = self.try_to_put(mirror, told, n_output) {
            self.pause(&error);
        }
        self.n_unwritten = self.n_unwritten.saturating_add(n_output);
        if self.block.body.is_empty() && matches!(self.flow, Flow::On) {
            // It was written with all that came before.
            self.n_unwritten = 0;
        }
        self.is_fresh = is_fresh;
    }

    /// Writes what is gathered.
    pub(crate) fn flush(&mut self) {
        if let Err(error) = self.try_to_flush() {
            self.pause(&error);
        }
    }

    /// Records the program's end and closes the file. Returns whether that was written.
    pub(crate) fn finish(&mut self, mirror: &Mirror, exit: &ExitRecord) -> bool {
        if let Flow::Paused { until, .. } = &mut self.flow {
            // There is no later time.
            *until = Duration::ZERO;
        }
        self.put(mirror, Told::Exit(exit));
        self.flush();
        let is_written = matches!(self.flow, Flow::Off | Flow::On);
        if is_written {
            self.flow = Flow::Off;
            self.segment = None;
        }
        is_written
    }

    /// Writes what is gathered and tells the next build how to go on.
    pub(crate) fn hand_over(&mut self) -> Began {
        self.flush();
        let continues = matches!(self.flow, Flow::On);
        let passed = self.now();
        let began = Began { passed, continues, ..self.began };
        // Whoever goes on begins a file of its own, and so does this process if nobody does.
        self.close_segment();
        self.began.continues = continues;
        began
    }

    /// Returns why nothing is recorded, if that is not on purpose.
    pub(crate) fn trouble(&self) -> Option<&str> {
        match &self.flow {
            Flow::Paused { why, .. } => Some(why),
            Flow::Off | Flow::On => None,
        }
    }

    /// Tells whether it is recorded at all.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.flow, Flow::Off)
    }

    fn now(&self) -> Duration {
        self.began.passed + self.clock.monotonic().saturating_sub(self.base)
    }

    fn try_to_put(&mut self, mirror: &Mirror, told: Told<'_>, n_output: u64) -> io::Result<()> {
        let now = self.now();
        match &self.segment {
            None => self.begin_segment(mirror)?,
            Some(segment) if self.room.segment_bytes <= segment.n_event_bytes => {
                self.try_to_flush()?;
                self.close_segment();
                self.began.continues = true;
                self.begin_segment(mirror)?;
            }
            Some(segment) if segment.wants_keyframe(self.block.n_output, now) => {
                self.try_to_flush()?;
                self.keyframe(mirror, Depth::Screen)?;
            }
            Some(_) => {}
        }
        if let Flow::Paused { .. } = std::mem::replace(&mut self.flow, Flow::On) {
            self.block.add(now, &Told::Gap(self.n_unwritten), 0);
        }
        self.block.add(now, &told, n_output);
        let is_much = RECORD_BLOCK_BYTES <= self.block.body.len();
        let age = now.saturating_sub(self.block.start);
        if is_much || Duration::from_millis(RECORD_BLOCK_MS) <= age {
            self.try_to_flush()?;
        }
        Ok(())
    }

    fn try_to_flush(&mut self) -> io::Result<()> {
        if self.block.body.is_empty() {
            return Ok(());
        }
        let Some(segment) = &mut self.segment else { return Ok(()) };
        let bytes = format::packed(format::BLOCK, self.block.start, &self.block.body);
        segment.append(&bytes)?;
        segment.n_event_bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        segment.n_since += self.block.n_output;
        // Its room is given back: an idle host keeps none.
        self.block = Block::default();
        self.n_unwritten = 0;
        self.forget_the_oldest();
        Ok(())
    }

    fn keyframe(&mut self, mirror: &Mirror, depth: Depth) -> io::Result<()> {
        let (now, wall) = (self.now(), self.clock.now().as_millis());
        let mut snapshot = mirror.snapshot(depth);
        if HOST_SNAPSHOT_BYTES_MAX < snapshot.len() {
            snapshot = mirror.snapshot(Depth::Screen);
        }
        let body = format::keyframe(mirror.size(), wall, self.is_fresh, &snapshot);
        let Some(segment) = &mut self.segment else { return Ok(()) };
        segment.append(&format::packed(format::KEYFRAME, now, &body))?;
        (segment.n_since, segment.keyframe_at) = (0, now);
        Ok(())
    }

    /// Begins the next file. It can be read without those before it.
    fn begin_segment(&mut self, mirror: &Mirror) -> io::Result<()> {
        let done = match self.done.take() {
            Some(done) => done,
            None => {
                // Made below the job's directory only, which somebody may have removed with the job.
                match rustix::fs::mkdir(&self.dir, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => state_file::ensure_dir(&self.dir)?,
                    Err(errno) => return Err(errno.into()),
                }
                reader::segments(&self.dir)?.into()
            }
        };
        let number = done.back().map_or(1, |(number, _)| number.saturating_add(1));
        self.done = Some(done);
        let file = state_file::open_to_append(&self.dir.join(reader::name(number)))?;
        let keyframe_at = self.now();
        let segment =
            Segment { file, number, n_bytes: 0, n_event_bytes: 0, n_since: 0, keyframe_at };
        self.segment = Some(segment);
        let Began { wall: began, continues, .. } = self.began;
        let begin = format::begin(&Head { job: self.job.clone(), began, continues });
        if let Some(segment) = &mut self.segment {
            segment.append(&begin)?;
        }
        self.keyframe(mirror, Depth::Replace)?;
        self.forget_the_oldest();
        Ok(())
    }

    fn close_segment(&mut self) {
        let Some(segment) = self.segment.take() else { return };
        if let Some(done) = &mut self.done {
            done.push_back((segment.number, segment.n_bytes));
        }
    }

    /// Removes the oldest files until what is left is within its limits.
    fn forget_the_oldest(&mut self) {
        let Some(done) = &mut self.done else { return };
        let now = self.segment.as_ref().map_or(0, |segment| segment.n_bytes);
        let mut n_bytes = now + done.iter().map(|(_, n_bytes)| n_bytes).sum::<u64>();
        while self.room.bytes < n_bytes || RECORD_SEGMENTS_MAX <= done.len() {
            let Some((number, n_segment_bytes)) = done.pop_front() else { return };
            n_bytes -= n_segment_bytes;
            // One that cannot be removed is found again by whoever begins the next recording.
            state_file::remove(&self.dir.join(reader::name(number))).ok();
        }
    }

    /// Stops for a while. What was gathered is lost, and so is what comes meanwhile.
    fn pause(&mut self, error: &io::Error) {
        self.block = Block::default();
        let until = self.clock.monotonic() + Duration::from_millis(RECORD_RETRY_MS);
        self.flow = Flow::Paused { until, why: error.to_string() };
        self.began.continues = false;
        if let Some(segment) = &self.segment {
            // Whoever reads it stops at what is cut anyway.
            segment.file.set_len(segment.n_bytes).ok();
            if segment.n_event_bytes == 0 {
                // It holds nothing that happened, and on a full disk its room is somebody's.
                state_file::remove(&self.dir.join(reader::name(segment.number))).ok();
                self.segment = None;
            }
        }
        self.close_segment();
    }
}

impl Block {
    fn add(&mut self, now: Duration, told: &Told<'_>, n_output: u64) {
        if self.body.is_empty() {
            (self.start, self.last) = (now, now);
        }
        format::add(&mut self.body, now.saturating_sub(self.last), told);
        self.last = now;
        self.n_output += n_output;
    }
}

impl Segment {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.n_bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    fn wants_keyframe(&self, n_gathered: u64, now: Duration) -> bool {
        let n_since = self.n_since + n_gathered;
        let age = now.saturating_sub(self.keyframe_at);
        RECORD_KEYFRAME_BYTES <= n_since
            || (Duration::from_millis(RECORD_KEYFRAME_MS) <= age && KEYFRAME_WORTH_BYTES <= n_since)
    }
}

#[cfg(test)]
mod tests;
