//! Recordings written and read back, and what is made of them.

#![expect(clippy::disallowed_methods, reason = "a test damages the files that it made")]

use std::time::Duration;

use screen::{Mirror, Size};
use stdx::clock::{Clock, Timestamp};
use vocab::ids::JobId;

use super::*;
use crate::job::JobFiles;

/// When the recordings of these tests begin.
pub(crate) const BEGAN: i64 = 1_700_000_000_000;

/// A recorder with a terminal, a clock that is moved by hand, and a job's directory.
pub(crate) struct Desk {
    _dir: tempfile::TempDir,
    pub(crate) files: JobFiles,
    pub(crate) clock: Clock,
    pub(crate) mirror: Mirror,
    pub(crate) recorder: Recorder,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let files = JobFiles::new(dir.path(), dir.path(), &JobId::generate());
        stdx::state_file::ensure_dir(files.dir()).unwrap();
        let clock = Clock::manual(Timestamp::from_millis(BEGAN));
        let recorder = Recorder::new(&files, &clock, true, None);
        Self { _dir: dir, files, clock, mirror: Mirror::new(Size::clamped(20, 4)), recorder }
    }

    /// Begins anew, as another host over the same files does.
    pub(crate) fn another_host(&mut self, began: Option<Began>) {
        self.recorder = Recorder::new(&self.files, &self.clock, true, began);
        if began.is_none() {
            self.mirror = Mirror::new(Size::clamped(20, 4));
        }
    }

    pub(crate) fn show(&mut self, bytes: impl AsRef<[u8]>) {
        self.recorder.put(&self.mirror, Told::Output(bytes.as_ref()));
        self.mirror.feed(bytes.as_ref());
    }

    pub(crate) fn resize(&mut self, columns: u16, lines: u16) {
        let size = Size::clamped(columns, lines);
        self.mirror.resize(size);
        self.recorder.put(&self.mirror, Told::Size(size));
    }

    /// Lets every write fail, as a full disk does, also for root: the directory is open to others, and is
    /// refused by another build that begins to write there.
    pub(crate) fn lose_the_disk(&mut self) {
        let began = self.recorder.hand_over();
        self.another_host(Some(began));
        rustix::fs::chmod(self.files.recording(), 0o755.into()).unwrap();
    }

    pub(crate) fn find_the_disk(&mut self) {
        rustix::fs::chmod(self.files.recording(), 0o700.into()).unwrap();
    }

    pub(crate) fn later(&mut self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::open(&self.files).unwrap().unwrap()
    }

    /// Returns all events, keyframes that are not needed left out, as `millisecond what`.
    pub(crate) fn told(&self) -> Vec<String> {
        let mut reader = self.reader();
        let mut told = Vec::new();
        while let Some(event) = reader.read().unwrap() {
            let what = match event.what {
                What::Keyframe(keyframe) if !keyframe.is_jump => continue,
                What::Keyframe(keyframe) if keyframe.is_fresh => "fresh".to_owned(),
                What::Keyframe(keyframe) => format!("jump {}x{}", keyframe.columns, keyframe.lines),
                What::Output(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                What::Size { columns, lines } => format!("size {columns}x{lines}"),
                What::Marker(text) => format!("mark {text}"),
                What::Exit(exit) => format!("exit {:?}", exit.code),
                What::Gap { n_bytes } => format!("gap {n_bytes}"),
            };
            told.push(format!("{} {what}", event.at.as_millis()));
        }
        told
    }

    /// Returns how many keyframes there are.
    pub(crate) fn n_keyframes(&self) -> usize {
        let mut reader = self.reader();
        std::iter::from_fn(|| reader.read().unwrap())
            .filter(|event| matches!(event.what, What::Keyframe(_)))
            .count()
    }

    /// Returns the files, the oldest first.
    pub(crate) fn segments(&self) -> Vec<(std::path::PathBuf, u64)> {
        let dir = self.files.recording();
        let segments = reader::segments(&dir).unwrap();
        segments.into_iter().map(|(number, size)| (dir.join(reader::name(number)), size)).collect()
    }
}

pub(crate) fn exit(code: i32) -> ExitRecord {
    ExitRecord { code: Some(code), signal: None, at: BEGAN, stopped: false, failure: None }
}

/// Bytes that do not get smaller.
pub(crate) fn noise(n_bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Letters, so that a terminal has little to do.
        b' ' + u8::try_from(state % 95).unwrap()
    };
    (0..n_bytes).map(|_| next()).collect()
}

#[test]
fn what_was_shown_is_read_back_with_its_times() {
    let mut desk = Desk::new();
    desk.show("one");
    desk.later(250);
    desk.show("two\r\n");
    desk.resize(30, 5);
    desk.later(1);
    desk.recorder.put(&desk.mirror, Told::Marker("blocked"));
    assert!(desk.recorder.finish(&desk.mirror, &exit(3)));
    let expected = [
        "0 fresh",
        "0 one",
        "250 two\r\n",
        "250 size 30x5",
        "251 mark blocked",
        "251 exit Some(3)",
    ];
    assert_eq!(desk.told(), expected);
    assert_eq!(desk.reader().began(), BEGAN);
    // What comes after the end is nobody's.
    desk.show("late");
    desk.recorder.flush();
    assert_eq!(desk.told(), expected);
}

#[test]
fn nothing_is_written_where_it_is_switched_off_or_nothing_was_shown() {
    let mut desk = Desk::new();
    desk.recorder.flush();
    assert!(!desk.files.recording().exists());
    assert!(Reader::open(&desk.files).unwrap().is_none());
    assert_eq!(recover(&desk.files), None);
    desk.recorder = Recorder::new(&desk.files, &desk.clock, false, None);
    desk.show("secret");
    assert!(desk.recorder.finish(&desk.mirror, &exit(0)));
    assert!(!desk.files.recording().exists());
    // The directory of a job that was removed does not come back.
    let mut desk = Desk::new();
    desk.files.remove().unwrap();
    desk.show("gone");
    assert!(desk.recorder.trouble().is_some() && !desk.files.dir().exists());
}

#[test]
fn the_screen_at_any_moment_is_as_it_was() {
    let mut desk = Desk::new();
    let mut screens = Vec::new();
    for n in 0..400_u32 {
        desk.later(1_000);
        desk.show(format!("\x1b[3{}mline {n}\x1b[m\r\n{}", n % 8, " ".repeat(200)));
        if n % 150 == 149 {
            desk.resize(20 + u16::try_from(n % 7).unwrap(), 4);
        }
        screens.push(crate::text::of(&desk.mirror));
    }
    desk.recorder.flush();
    assert!(1 < desk.n_keyframes());
    let mut reader = desk.reader();
    for (n, screen) in screens.iter().enumerate().step_by(37) {
        let at = Duration::from_secs(u64::try_from(n).unwrap() + 1);
        assert_eq!(reader.screen_at(at).unwrap().as_ref(), Some(screen), "{n}");
    }
    assert_eq!(recover(&desk.files).as_ref(), screens.last());
    // Scrollback too, and in one piece.
    let text = text(&mut reader).unwrap();
    assert_eq!(text.matches("line ").count(), 400);
}

#[test]
fn a_file_may_be_cut_anywhere() {
    let mut desk = Desk::new();
    for n in 0..30 {
        desk.show(format!("line {n}\r\n"));
        desk.recorder.flush();
    }
    let (path, _) = desk.segments().remove(0);
    let whole = std::fs::read(&path).unwrap();
    let mut n_before = 0;
    for n_bytes in 0..whole.len() {
        std::fs::write(&path, &whole[..n_bytes]).unwrap();
        let Some(mut reader) = Reader::open(&desk.files).unwrap() else { continue };
        let n_events = std::iter::from_fn(|| reader.read().unwrap()).count();
        assert!(n_before <= n_events, "{n_bytes}");
        n_before = n_events;
    }
    assert_eq!(n_before, 30, "a keyframe and all lines but the last");
    // As after a loss of power.
    let zeros = [&whole[..], &[0; 4096]].concat();
    std::fs::write(&path, zeros).unwrap();
    assert_eq!(desk.told().len(), 31);
    // A host that begins again says that something may be missing.
    std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    desk.later(5_000);
    desk.another_host(None);
    desk.show("again");
    desk.recorder.flush();
    let told = desk.told();
    assert_eq!(told[told.len() - 2..], ["5000 fresh", "5000 again"]);
    assert_eq!(recover(&desk.files).unwrap(), "again\n");
}

#[test]
fn another_build_goes_on_where_one_left_off() {
    let mut desk = Desk::new();
    desk.show("before ");
    desk.later(40);
    let began = desk.recorder.hand_over();
    desk.another_host(Some(began));
    desk.later(2);
    desk.show("after");
    desk.recorder.flush();
    assert_eq!(desk.told(), ["0 fresh", "0 before ", "42 after"]);
    assert_eq!(desk.segments().len(), 2);
    assert_eq!(recover(&desk.files).unwrap(), "before after\n");
    // Who fails to hand over goes on alone.
    desk.recorder.hand_over();
    desk.show("!");
    desk.recorder.flush();
    assert_eq!(desk.told(), ["0 fresh", "0 before ", "42 after", "42 !"]);
}
