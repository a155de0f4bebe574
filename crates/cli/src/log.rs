//! The daemon's log: structured lines in a bounded file. Ids of runs and calls, never a payload: of a
//! panic it tells where it was, not its words, which may quote what somebody said.

use std::{
    fs::File,
    io::{self, Seek, Write},
    panic::PanicHookInfo,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use stdx::state_file;
use tracing_subscriber::{
    filter::LevelFilter, fmt::MakeWriter, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};
use vocab::limits::{ERRORS_FILE_BYTES_MAX, LOG_FILE_BYTES_MAX};

/// A private file that is set aside once when it is full; the one before that goes.
#[derive(Debug, Clone)]
pub(crate) struct Log(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    path: PathBuf,
    file: File,
    size: u64,
}

impl Log {
    /// Opens the log and appends to it.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let mut file = state_file::open_or_create(&path)?;
        let size = file.seek(io::SeekFrom::End(0))?;
        Ok(Self(Arc::new(Mutex::new(State { path, file, size }))))
    }

    /// Makes it the target of all log lines of this process, and of what is told of its panics.
    pub(crate) fn install(self, level: LevelFilter) {
        // A second installation only happens in tests; the first one stays.
        self.subscriber(level).try_init().ok();
        std::panic::set_hook(Box::new(tell_panic));
    }

    /// Builds what writes the lines. The innermost span stands on each, so that every span names all
    /// the ids of its line itself.
    fn subscriber(self, level: LevelFilter) -> impl tracing::Subscriber + Send + Sync {
        let lines = tracing_subscriber::fmt::layer()
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .with_target(true)
            .with_writer(self);
        tracing_subscriber::registry().with(lines).with(level)
    }
}

/// Opens the file of the daemon's standard error, the old one set aside once it is over its bound.
///
/// What is written there is written by the process itself, past this module: so the bound is looked at
/// when a daemon starts and in its hourly chores, and not at every line.
///
/// # Errors
/// When it cannot be opened, or is not ours alone.
pub(crate) fn errors(path: &Path) -> io::Result<File> {
    if state_file::size(path)?.is_some_and(|size| size > ERRORS_FILE_BYTES_MAX) {
        state_file::set_aside(path, &path.with_extension("err.1"))?;
    }
    state_file::open_to_append(path)
}

fn tell_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    tracing::error!(place, thread = thread.name(), "a panic");
}

impl Write for &Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.size >= LOG_FILE_BYTES_MAX {
            let path = state.path.clone();
            state_file::set_aside(&path, &path.with_extension("log.1"))?;
            state.file = state_file::open_or_create(&path)?;
            state.size = 0;
        }
        let n = state.file.write(bytes)?;
        state.size += u64::try_from(n).unwrap_or(0);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = &'a Log;
    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_by_its_place_and_with_its_ids() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        let subscriber = Log::open(path.clone()).unwrap().subscriber(LevelFilter::ERROR);
        let _guard = tracing::subscriber::set_default(subscriber);
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(tell_panic));
        let span = tracing::error_span!("call", session = "s1", run = "r1", call = "c1");
        let fell = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            span.in_scope(|| panic!("PAYLOAD"))
        }));
        std::panic::set_hook(before);
        assert!(fell.is_err());
        let text = String::from_utf8(state_file::read(&path, LOG_FILE_BYTES_MAX).unwrap().unwrap())
            .unwrap();
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(line["place"].as_str().is_some_and(|place| place.contains("log.rs:")), "{line}");
        assert_eq!(line["span"]["call"], "c1");
        assert_eq!(line["span"]["run"], "r1");
        assert!(!text.contains("PAYLOAD"), "{text}");
    }

    #[test]
    fn standard_error_is_set_aside_once_it_is_over_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.err");
        let chunk = vec![b'x'; usize::try_from(ERRORS_FILE_BYTES_MAX).unwrap()];
        let size = |path: &Path| state_file::size(path).unwrap();
        errors(&path).unwrap().write_all(&chunk).unwrap();
        errors(&path).unwrap().write_all(b"y").unwrap();
        assert_eq!(size(&path), Some(ERRORS_FILE_BYTES_MAX + 1));
        errors(&path).unwrap().write_all(b"z").unwrap();
        assert_eq!(size(&path), Some(1));
        assert_eq!(size(&path.with_extension("err.1")), Some(ERRORS_FILE_BYTES_MAX + 1));
    }

    #[test]
    fn a_full_log_is_set_aside_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        let log = Log::open(path.clone()).unwrap();
        let line = vec![b'x'; 1 << 20];
        for _ in 0..=2 * (LOG_FILE_BYTES_MAX >> 20) {
            (&log).write_all(&line).unwrap();
        }
        let size = |path: PathBuf| state_file::size(&path).unwrap();
        assert_eq!(size(path.clone()), Some(1 << 20));
        assert_eq!(size(path.with_extension("log.1")), Some(LOG_FILE_BYTES_MAX));
    }
}
