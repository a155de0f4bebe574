//! What the program is this time, chosen before anything else starts.

pub(crate) mod attach;
pub(crate) mod completions;
mod copy;
pub(crate) mod daemon;
pub(crate) mod debug;
mod demo;
mod hooks;
pub(crate) mod host;
mod jobs;
mod logs;
mod models;
pub(crate) mod report;
mod run;
mod secrets;
mod sessions;
pub(crate) mod view;
mod workspace;

use std::process::ExitCode;

use crate::args::{Args, Command};

/// Hands over to the chosen role.
pub(crate) fn dispatch(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Demo(demo) => demo::run(&demo),
        Command::Run(run) => run::run(run),
        Command::Jobs(command) => jobs::run(command),
        Command::View(view) => view::run(&view),
        Command::Sessions(command) => sessions::run(command),
        Command::Attach(attach) => attach::run(&attach),
        Command::Logs(logs) => logs::run(&logs),
        Command::Daemon(command) => daemon::run(&command),
        Command::Secrets(command) => secrets::run(command),
        Command::Providers(json) => models::providers(json),
        Command::Models(models) => models::run(&models),
        Command::Report(report) => report::run(report),
        Command::Hooks(command) => hooks::run(command),
        Command::Workspace(command) => workspace::run(command),
        Command::Cp(copy) => copy::run(copy),
        Command::Debug(command) => debug::run(command),
        Command::Completions { shell } => completions::shell(shell),
        Command::Man { dir } => completions::man(&dir),
    }
}

/// Runs one future to its end, for a command that is a client: one thread, no more.
pub(crate) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}
