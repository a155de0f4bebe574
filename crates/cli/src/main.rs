//! The program: chooses a role, reads flags and environment, builds the graph of objects, prints.
//!
//! It alone reads the environment and writes to stdout, and only here implementations meet seams. No
//! logic that a face could want lives here.

mod args;
mod client;
mod compose;
mod config;
mod env;
mod exit;
mod hosts;
mod log;
mod models;
mod notify;
mod place;
mod print;
mod role;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser as _;
use vocab::ids::JobId;

fn main() -> ExitCode {
    // The fast path: scripts ask for the version often, and nothing else need start for that.
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match words.split_first() {
        Some((first, [])) if first == "--version" || first == "-V" => {
            return print::out(&format!("stead {}\n", env!("CARGO_PKG_VERSION")));
        }
        // There are as many hosts as jobs, and each stays as small as it starts.
        Some((first, rest)) if first == role::host::WORD => return role::host::run(rest),
        // People wait for it, and all other commands' flags take longer to set up than the rest of it.
        Some((first, [job])) if first == role::attach::WORD => {
            if let Some(id) = job.to_str().filter(|job| job.parse::<JobId>().is_ok()) {
                let shown = role::attach::run(&args::Attach::to(id));
                return shown.unwrap_or_else(|error| exit::report(&error));
            }
        }
        Some((first, [kind])) if first == role::completions::NAMES => {
            return role::completions::names(kind);
        }
        // An agent waits for its hooks, and takes a refusal of their words for one of its own act.
        Some((first, [second, rest @ ..])) if [first, second] == role::report::HOOK_WORDS => {
            return role::report::from_hook(rest);
        }
        _ => {}
    }
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => return args::refuse(&error, &words),
    };
    match role::dispatch(args) {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}
