//! `stead workspace …`.

mod serve;

use std::process::ExitCode;

use crate::args::Workspace;

/// Does what was asked of a workspace.
pub(crate) fn run(command: Workspace) -> anyhow::Result<ExitCode> {
    match command {
        Workspace::Serve(serve) => serve::run(*serve),
    }
}
