//! Cues between the benchmark and the programs that it has kept: born, start, done, each a pipe with a name.
//!
//! A program tells who it is and whose child, waits for the start, and tells its end. Nobody polls.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{CWD, FileType, Mode, OFlags, mknodat, open},
};

use super::PATIENCE;
use crate::bench::home::World;

/// The three pipes, as the benchmark holds them.
pub(super) struct Cues {
    dir: PathBuf,
    born: BufReader<File>,
    done: OwnedFd,
}

/// A program and who holds its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Born {
    pub(super) program: u32,
    pub(super) parent: u32,
}

impl Cues {
    pub(super) fn new(world: &World) -> anyhow::Result<Self> {
        let dir = world.dir()?;
        for name in ["born", "start", "done"] {
            mknodat(CWD, dir.join(name), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        }
        // Held at both ends, so that they do not end between two programs.
        let hold = |name| open(dir.join(name), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let (born, done) = (hold("born")?, hold("done")?);
        Ok(Self { born: BufReader::new(born.into()), done, dir })
    }

    pub(super) fn dir(&self) -> String {
        self.dir.display().to_string()
    }

    /// Waits for a program to be there.
    pub(super) fn born(&mut self) -> anyhow::Result<Born> {
        if self.born.buffer().is_empty() && !is_readable(self.born.get_ref())? {
            bail!("a program that was to be kept did not begin");
        }
        let mut line = String::new();
        self.born.read_line(&mut line)?;
        let mut numbers = line.split_whitespace().map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(program)), Some(Ok(parent))) => Ok(Born { program, parent }),
            _ => bail!("a program said {line:?}"),
        }
    }

    /// Lets all who wait begin.
    pub(super) fn start(&self) -> anyhow::Result<()> {
        open(self.dir.join("start"), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
            .map(drop)
            .context("nobody waits for the start")
    }

    /// Waits for so many to be done.
    pub(super) fn done(&self, n_programs: usize) -> anyhow::Result<()> {
        let mut buffer = [0; 256];
        let mut n_done = 0;
        while n_done < n_programs {
            if !is_readable(&self.done)? {
                bail!("{} of {n_programs} programs did not come to an end", n_programs - n_done);
            }
            n_done += rustix::io::read(&self.done, &mut buffer)?;
        }
        Ok(())
    }
}

/// Tells whether something comes before patience ends.
pub(super) fn is_readable(fd: impl std::os::fd::AsFd) -> anyhow::Result<bool> {
    let limit = Timespec::try_from(PATIENCE)?;
    Ok(poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit))? != 0)
}

/// Says that this program is there.
pub(super) fn tell_born(dir: &Path) -> anyhow::Result<()> {
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    say(dir, "born", format!("{} {parent}\n", std::process::id()).as_bytes())
}

/// Says that this program has done its work.
pub(super) fn tell_done(dir: &Path) -> anyhow::Result<()> {
    say(dir, "done", b".")
}

/// Waits for the start.
pub(super) fn wait_for_start(dir: &Path) -> anyhow::Result<()> {
    let pipe = open(dir.join("start"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::read(pipe, &mut [0; 1])?;
    Ok(())
}

fn say(dir: &Path, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let pipe = open(dir.join(name), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    // Short enough to be written as one piece.
    rustix::io::write(pipe, bytes)?;
    Ok(())
}
