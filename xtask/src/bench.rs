//! The benchmark: measures the built program beside its peers and prints what it saw.
//!
//! Nothing is asserted here: a missed budget is printed and the exit code stays zero. Only what could
//! not be run at all makes it one.

use std::process::ExitCode;

use anyhow::{Context as _, bail};

use crate::output;

mod calls;
mod home;
mod http;
mod jobs;
mod lists;
mod machine;
mod memory;
mod report;
mod screen;
mod start;
mod stats;
mod tools;
mod tree;

use home::World;
use report::Measure;

/// A measure: its name, how it is taken, and what takes it. What comes back unfinished says so itself.
type Row = (&'static str, &'static str, fn(&World, &mut Measure) -> anyhow::Result<()>);

const MEASURES: &[Row] = &[
    ("version", "spawn to exit, the two programs by turns", start::version),
    (
        "cold-start",
        "no daemon to the first handshake answered on the socket, and until `daemon start` returns",
        start::cold,
    ),
    (
        "idle-memory",
        "smaps_rollup of a daemon that was just started, and after one run with tool calls",
        memory::idle,
    ),
    (
        "tool-calls",
        "POST /agent/run: 100 `bash true` calls, instant model on loopback; beside a bare keep-alive \
         client that sends the very same requests and spawns `bash -c true`; by turns",
        calls::overhead,
    ),
    (
        "run-memory",
        "peak of a daemon during a run of 100 calls: VmHWM, and PSS sampled every 5 ms",
        memory::peak,
    ),
    (
        "grep",
        "the tool as a whole process beside `rg -n --hidden` over a tree of 50,000 files, warm, by turns",
        tools::grep,
    ),
    ("read", "2,000 lines through the tool of an open workspace", tools::read),
    (
        "lists",
        "GET /sessions?limit=50 among 100,000 sessions, and the messages of a session of 10,000, over \
         the Unix socket on a kept connection",
        lists::lists,
    ),
    (
        "job-attach",
        "start of the client to the last cell of a full frame of 200×50, each after the one before was \
         hung up, by turns",
        jobs::attach,
    ),
    (
        "job-echo",
        "a key typed on the outer terminal until the program's echo is read from it, in blocks by turns",
        jobs::echo,
    ),
    (
        "job-output",
        "100 MiB of a listing in colors from a program that is kept, until the last byte is at the \
         terminal, or else written; by turns",
        jobs::output,
    ),
    (
        "job-memory",
        "private memory of 20 programs' keepers and PSS of 200, idle and with 10,000 lines of scrollback, \
         each looked at once at 200×50",
        jobs::memory,
    ),
    (
        "job-idle",
        "context switches of all threads in 10 s while 20 programs do nothing",
        jobs::idle,
    ),
    (
        "job-dispatch",
        "the request until the answer that a program runs in the background, with a server that is \
         there; by turns",
        jobs::dispatch,
    ),
    (
        "job-adopt",
        "200 jobs, their daemon killed: start of the next one until its list has all of them alive",
        jobs::adopt,
    ),
    (
        "job-day",
        "864,000 frames of an agent that repaints ten times a second, with a line of its answer every ten \
         seconds, as fast as it goes; recorded",
        jobs::day,
    ),
    ("screen", "the mirror of a terminal of 200×50 by itself, in this process", screen::screen),
];

/// Runs the measures named, or all of them.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    if let Some(("--tool", call)) =
        arguments.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        return tools::child(call);
    }
    if let Some(("--job", call)) =
        arguments.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        return jobs::program::run(call);
    }
    let (wanted, json) = options(arguments)?;
    let world = World::new()?;
    let header = machine::header(&world.scratch());
    output::line(&header.join("\n"));
    let mut measures = Vec::new();
    for (name, method, take) in MEASURES {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let mut measure = Measure::new(name, method);
        if let Err(error) = take(&world, &mut measure) {
            measure.not_run(format!("{error:#}"));
        }
        output::line(&measure.to_string());
        measures.push(measure);
    }
    if let Some(path) = json {
        let report = serde_json::json!({"machine": header, "measures": measures});
        machine::write(path.as_ref(), serde_json::to_string_pretty(&report)?.as_bytes())?;
    }
    let complete = measures.iter().all(Measure::is_complete);
    Ok(if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Splits the arguments into the names of measures and the file for JSON.
fn options(arguments: &[String]) -> anyhow::Result<(Vec<&str>, Option<&str>)> {
    let (mut wanted, mut json) = (Vec::new(), None);
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        if argument == "--json" {
            json = Some(rest.next().context("--json needs a file")?);
        } else if MEASURES.iter().any(|(name, ..)| *name == argument) {
            wanted.push(argument);
        } else {
            let names: Vec<&str> = MEASURES.iter().map(|(name, ..)| *name).collect();
            bail!("usage: ./dev bench [--json FILE] [NAME…], names: {}", names.join(", "));
        }
    }
    Ok((wanted, json))
}
