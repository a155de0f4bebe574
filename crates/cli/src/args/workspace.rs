//! `stead workspace …` as it was typed.

mod serve;

use clap::Subcommand;

pub(crate) use serve::{Bounds, Permits, Place, Serve, Wire};

/// `stead workspace …`
#[derive(Debug, Subcommand)]
pub(crate) enum Workspace {
    /// Serves a directory of this machine as a workspace to sessions elsewhere
    Serve(Box<Serve>),
}
