//! `stead logs`: what a job has shown, be it alive or not; of a session, what was said in it.

mod export;

use std::{
    io::{self, Write},
    os::fd::AsFd as _,
    process::ExitCode,
    time::Duration,
};

use pty::{
    ask, follow,
    guard::Guard,
    hello::{Control, Reply},
    job::{FilesError, JobFiles},
    record::{self, Reader, cast},
    replay,
};
use rustix::termios::isatty;
use serde::Serialize;
use stdx::state_file;
use vocab::{limits::FRAME_BYTES_MAX, outcome::Failure};

use self::export::Draft;
use crate::{
    args::{Export, Logs, Place},
    exit,
    print::{self, Look},
    role::{attach, jobs::Shown, view},
};

/// What `--json` prints.
#[derive(Serialize)]
struct Screen<'a> {
    id: &'a str,
    /// The job's host has told it just now.
    live: bool,
    text: &'a str,
}

/// Runs the command.
pub(crate) fn run(logs: &Logs) -> anyhow::Result<ExitCode> {
    // Before the daemon is asked: it holds what this process holds now, and no credential.
    let guard = guard(logs)?;
    let files = match super::jobs::shown(&logs.job)? {
        Shown::Job(files) => files,
        Shown::Session(row) => {
            drop(guard);
            return super::jobs::session::logs(&row, logs);
        }
    };
    if logs.follow {
        return follow(&files, guard.as_ref());
    }
    if logs.replay {
        return replay(&files, logs, guard.as_ref());
    }
    if let Some(format) = logs.export {
        return export(&files, format, &logs.place);
    }
    let (text, live) = screen(&files)?;
    if logs.json.json {
        return Ok(print::json(&Screen { id: files.id().as_str(), live, text: &text }));
    }
    let is_terminal = Look::of_process().out.terminal;
    Ok(print::out(&if is_terminal { print::clean::clean(&text) } else { text }))
}

/// Starts the guard of the terminal that a job is about to be shown in, if it is one.
fn guard(logs: &Logs) -> Result<Option<Guard>, Failure> {
    let (keys, out) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    if !(logs.follow || logs.replay) || !isatty(out) {
        return Ok(None);
    }
    // Keys are read by a replay alone.
    let input = if logs.replay && isatty(keys) { keys } else { out };
    Guard::start(input, out).map(Some).map_err(view::unguarded)
}

/// Returns the screen's text, and whether it is as new as can be.
fn screen(files: &JobFiles) -> anyhow::Result<(String, bool)> {
    match ask::ask(files.socket(), &Control::Snapshot { whole: true }) {
        Ok(Reply::Snapshot { text }) => return Ok((text, true)),
        Ok(_) | Err(ask::AskError::Gone(_)) => {}
        Err(error) => print::err(&format!("stead: {error}; this is what it has written before\n")),
    }
    if files.read_exit().map_err(Failure::from)?.is_none()
        && let Some(text) = record::recover(files)
    {
        // Its host had no time for the text, and what it recorded is younger.
        return Ok((text, false));
    }
    let bytes_max = u64::try_from(FRAME_BYTES_MAX).unwrap_or(u64::MAX);
    let text = match state_file::read(&files.screen(), bytes_max).map_err(FilesError::Io) {
        Ok(Some(bytes)) => {
            let rows = String::from_utf8_lossy(&bytes).into_owned();
            record::mended(files, &rows).unwrap_or(rows)
        }
        Ok(None) if files.read().is_ok_and(|job| !job.record) => return Err(unkept(files).into()),
        Ok(None) => String::new(),
        Err(error) => return Err(Failure::from(error).into()),
    };
    Ok((text, false))
}

/// Says of a job that has ended that it has left nothing, as was asked for.
fn unkept(files: &JobFiles) -> Failure {
    let why = format!("nothing that job {} showed was kept, as --no-record asked", files.id());
    Failure::not_started("not_recorded", why)
}

fn follow(files: &JobFiles, guard: Option<&Guard>) -> anyhow::Result<ExitCode> {
    let id = files.id();
    // Held for as long as it is shown here. What goes into a file or a pipe is shown nowhere.
    let _within = guard.map(|_| attach::within(files)).transpose()?;
    // Nobody knows how many: what was thrown away was not counted.
    let mut on_gap = || {
        print::err(&format!(
            "stead: what was written meanwhile is missing here, since it was not read in time; \
             stead logs {id} --replay has it\n"
        ));
    };
    let ended = match follow::run(files.socket(), io::stdout().as_fd(), guard, &mut on_gap) {
        Err(follow::FollowError::Host(ask::AskError::Gone(_))) => {
            // All that it will ever show.
            return Ok(print::out(&screen(files)?.0));
        }
        ended => ended.map_err(Failure::from)?,
    };
    Ok(ExitCode::from(match ended {
        follow::Ended::Job(_) | follow::Ended::Left => exit::OK,
        follow::Ended::Interrupted => exit::INTERRUPTED,
        follow::Ended::Host => {
            print::err(&format!("stead: the host of {id} is gone, and its program with it\n"));
            exit::FAILED
        }
    }))
}

fn replay(files: &JobFiles, logs: &Logs, guard: Option<&Guard>) -> anyhow::Result<ExitCode> {
    let mut reader = recording(files)?;
    let seconds = |limit| Duration::try_from_secs_f64(limit).unwrap_or(Duration::MAX);
    let options =
        replay::Options { speed: logs.speed.unwrap_or(1.0), idle: logs.idle_limit.map(seconds) };
    let (keys, out) = (io::stdin(), io::stdout());
    let ended = replay::run(&mut reader, options, keys.as_fd(), out.as_fd(), guard);
    Ok(ExitCode::from(match ended.map_err(Failure::from)? {
        replay::Ended::Whole | replay::Ended::Left => exit::OK,
        replay::Ended::Interrupted => exit::INTERRUPTED,
    }))
}

/// Opens what was recorded, up to now.
fn recording(files: &JobFiles) -> Result<Reader, Failure> {
    // A host that is gone has written all it could.
    ask::ask(files.socket(), &Control::Flush).ok();
    Reader::open(files)?.ok_or_else(|| {
        let id = files.id();
        Failure::not_started("not_recorded", format!("nothing of job {id} was recorded"))
    })
}

fn export(files: &JobFiles, format: Export, place: &Place) -> anyhow::Result<ExitCode> {
    let mut reader = recording(files)?;
    let job = files.read().map_err(Failure::from)?;
    let mut draft =
        place.output.as_deref().map(|path| Draft::begin(path, place.force)).transpose()?;
    let mut stdout = io::stdout().lock();
    let mut out = io::BufWriter::new(match &mut draft {
        Some(draft) => draft as &mut dyn Write,
        None => &mut stdout,
    });
    let whole = |text: Result<String, record::RecordingError>, out: &mut dyn Write| {
        out.write_all(text?.as_bytes())?;
        Ok(out.flush()?)
    };
    let is_watched = Look::of_process().err.terminal;
    let mut percent = 0;
    let mut watch = |reader: &Reader| {
        let (n_read, n_bytes) = reader.progress();
        let now = n_read * 100 / n_bytes.max(1);
        if is_watched && percent + 5 <= now {
            percent = now;
            print::err(&format!("\rstead: {percent} % exported"));
        }
    };
    let done = match format {
        Export::Cast3 | Export::Cast2 => {
            let is_v3 = format == Export::Cast3;
            let version = if is_v3 { cast::Version::V3 } else { cast::Version::V2 };
            cast::export(&mut reader, &job, version, &mut out, &mut watch)
        }
        Export::Txt => whole(record::text(&mut reader), &mut out),
        Export::Html => whole(record::page::page(&mut reader, &job), &mut out),
    };
    if 0 < percent {
        print::err("\r\x1b[K");
    }
    match done {
        // Whoever closed the pipe has seen enough.
        Err(cast::ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
        done => done.map_err(Failure::from)?,
    }
    drop(out);
    if let (Some(draft), Some(path)) = (draft, &place.output) {
        draft.finish()?;
        print::err(&format!("stead: written to {}\n", path.display()));
    }
    Ok(ExitCode::from(exit::OK))
}
