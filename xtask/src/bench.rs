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
mod lists;
mod machine;
mod memory;
mod report;
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
];

/// Runs the measures named, or all of them.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    if let Some(("--tool", call)) =
        arguments.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        return tools::child(call);
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
