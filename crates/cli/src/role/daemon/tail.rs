//! Prints the daemon's log: the end of it, and what comes.

#![expect(clippy::disallowed_methods, reason = "reads the daemon's own log")]

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::Path,
    process::ExitCode,
    time::Duration,
};

use vocab::{limits::LOG_FILE_BYTES_MAX, outcome::Failure};

use crate::{exit, print};

/// How often a followed log is looked at. It is read by people.
const FOLLOW_MS: u64 = 250;

/// Prints the last lines of a log.
pub(crate) fn run(path: &Path, lines: usize, follow: bool) -> anyhow::Result<ExitCode> {
    let mut file = File::open(path).map_err(|error| {
        Failure::not_started("not_found", format!("{}: {error}", path.display()))
            .with_hint("the log begins with the first start of the daemon")
    })?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(LOG_FILE_BYTES_MAX)))?;
    // From the middle of a line, perhaps of a character: what is damaged is shown as such.
    let mut bytes = Vec::new();
    file.by_ref().take(LOG_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let skip = text.lines().count().saturating_sub(lines);
    let shown: String = text.lines().skip(skip).flat_map(|line| [line, "\n"]).collect();
    match print::write_out(&shown).and_then(|()| if follow { watch(path, file) } else { Ok(()) }) {
        // Whoever closed the pipe has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        ended => ended?,
    }
    Ok(ExitCode::from(exit::OK))
}

/// Prints what is appended, until nobody reads it.
fn watch(path: &Path, file: File) -> io::Result<()> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        if reader.read_until(b'\n', &mut line)? == 0 {
            // Nobody may be there any more, although there is nothing to print.
            if print::nobody_reads() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(FOLLOW_MS));
            // A log that was set aside goes on in a new file.
            if replaced(path, reader.get_ref()) {
                reader = BufReader::new(File::open(path)?);
            }
            continue;
        }
        if line.ends_with(b"\n") {
            print::write_out(&String::from_utf8_lossy(&line))?;
            line.clear();
        }
    }
}

fn replaced(path: &Path, open: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (std::fs::metadata(path), open.metadata()) {
        (Ok(now), Ok(then)) => (now.dev(), now.ino()) != (then.dev(), then.ino()),
        _ => false,
    }
}
