//! `stead cp` as it was typed.

use clap::{Args, ValueHint};

use super::Json;

/// What `stead cp --help` shows at its end.
const EXAMPLES: &str = "NAME:PATH is a path in a workspace, as stead workspace list names it; everything\n\
    else, and all behind local:, is a path of this machine. What comes is checked\n\
    before it has its name. A copy that breaks off goes on where it was, also when\n\
    it is asked for again. Links are not copied.\n\n\
    Examples:\n  \
    stead cp notes.md box:docs/\n  \
    stead cp -r box:build ./build\n  \
    stead cp -r box:data lab:data";

/// `stead cp`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Copy {
    /// What to copy: NAME:PATH, or a path of this machine
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    /// Where to: a new name, or a directory that takes it in
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) target: String,
    /// Copy a directory with all in it; one that is there is never replaced
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Replace a file that is there
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}
