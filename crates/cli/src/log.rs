//! The daemon's log: structured lines in a bounded file. Ids of runs and calls, never a payload: of a
//! panic it tells where it was, not its words, which may quote what somebody said.

use std::{
    fs::File,
    io::{self, Read as _, Seek, Write},
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
    /// Whether the file ends in the middle of a record.
    cut: bool,
}

impl Log {
    /// Opens the log and appends to it.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let mut file = state_file::open_or_create(&path)?;
        let size = file.seek(io::SeekFrom::End(0))?;
        let mut last = [b'\n'];
        if 0 < size {
            file.seek(io::SeekFrom::Start(size - 1))?;
            file.read_exact(&mut last)?;
        }
        let cut = last != [b'\n'];
        Ok(Self(Arc::new(Mutex::new(State { path, file, size, cut }))))
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

/// Lets warnings go to standard error, for a process that has no file of its own.
pub(crate) fn to_stderr(level: LevelFilter) {
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(io::stderr);
    tracing_subscriber::registry().with(lines).with(level).try_init().ok();
    std::panic::set_hook(Box::new(tell_panic));
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

/// Writes one record whole. After one that a full disk cut, the next begins on a line of its own.
fn put(file: &mut impl Write, record: &[u8], size: &mut u64, cut: &mut bool) -> io::Result<()> {
    let end: &[u8] = if *cut { b"\n" } else { b"" };
    for mut rest in [end, record] {
        while !rest.is_empty() {
            let n = match file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            *cut = rest[n - 1] != b'\n';
            *size += u64::try_from(n).unwrap_or(0);
            rest = &rest[n..];
        }
    }
    Ok(())
}

impl Write for &Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.size >= LOG_FILE_BYTES_MAX {
            let path = state.path.clone();
            state_file::set_aside(&path, &path.with_extension("log.1"))?;
            state.file = state_file::open_or_create(&path)?;
            state.size = 0;
            state.cut = false;
        }
        let State { file, size, cut, .. } = &mut *state;
        put(file, bytes, size, cut)?;
        Ok(bytes.len())
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
mod tests;
