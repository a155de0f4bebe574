//! `stead workspace …`.

mod places;
mod serve;

use std::process::ExitCode;

use crate::args::Workspace;

/// Does what was asked of a workspace.
pub(crate) fn run(command: Workspace) -> anyhow::Result<ExitCode> {
    match command {
        Workspace::Serve(serve) => serve::run(*serve),
        Workspace::Add(add) => super::block_on(places::add(add)),
        Workspace::List(json) => super::block_on(places::list(json)),
        Workspace::Attach(attach) => super::block_on(places::attach(attach)),
        Workspace::Detach { name } => super::block_on(places::detach(name)),
        Workspace::Token { name } => super::block_on(places::token(name)),
        Workspace::Rm { name } => super::block_on(places::remove(name)),
    }
}
