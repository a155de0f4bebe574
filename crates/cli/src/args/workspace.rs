//! `stead workspace …` as it was typed.

mod serve;

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueHint};

use super::Json;

pub(crate) use serve::{Bounds, Permits, Place, Serve, Wire};

/// `stead workspace …`
#[derive(Debug, Subcommand)]
pub(crate) enum Workspace {
    /// Adds a workspace under a name, for `stead run -w NAME`
    Add(Add),
    /// Lists the workspaces that have names, and how they are reached
    List(Json),
    /// Attaches a runtime to a workspace that was added with --deferred
    Attach(Attach),
    /// Lets the runtime of a workspace go
    Detach {
        /// Its name.
        #[arg(value_hint = ValueHint::Other)]
        name: String,
    },
    /// Stores the token of a workspace, from STEAD_REMOTE_TOKEN, a prompt or a pipe
    Token {
        /// Its name.
        #[arg(value_hint = ValueHint::Other)]
        name: String,
    },
    /// Removes a workspace that was added, and its token; what it stands for stays
    Rm {
        /// Its name.
        #[arg(value_hint = ValueHint::Other)]
        name: String,
    },
    /// Serves a directory of this machine as a workspace to sessions elsewhere
    Serve(Box<Serve>),
}

/// What `stead workspace add --help` shows at its end.
const ADD_EXAMPLES: &str = "The token is taken from STEAD_REMOTE_TOKEN, else from a prompt, and kept\n\
    as a secret; it never stands in an address or an argument.\n\n\
    Examples:\n  \
    stead workspace add site --path ~/src/site\n  \
    STEAD_REMOTE_TOKEN=… stead workspace add box --remote wss://box.example\n  \
    stead workspace add lab --ssh lab --root /home/me/project --allow-exec\n  \
    stead workspace add later --deferred --expect-root /workspace";

/// `stead workspace add`
#[derive(Debug, Args)]
#[command(after_help = ADD_EXAMPLES, override_usage = "stead workspace add [OPTIONS] <--path|--remote|--ssh|--deferred> <NAME>")]
#[command(group = ArgGroup::new("kind").required(true).args(["path", "remote", "ssh", "deferred"]))]
pub(crate) struct Add {
    /// How it is called from now on: letters, digits, '-', '_' and '.'
    #[arg(value_hint = ValueHint::Other)]
    pub(crate) name: String,
    /// A directory of this machine
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) path: Option<PathBuf>,
    /// A runtime that is called: wss://HOST:PORT, ws:// on this machine, or unix:/PATH
    #[arg(long, value_name = "URL", value_hint = ValueHint::Other)]
    pub(crate) remote: Option<String>,
    /// Which workspace is meant, where the runtime serves several below a parent
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, requires = "remote")]
    pub(crate) channel: Option<String>,
    /// A host for ssh: this program is put there where it is missing, and started for each line
    #[arg(long, value_name = "HOST", value_hint = ValueHint::Hostname, requires = "root")]
    pub(crate) ssh: Option<String>,
    /// The directory on that host
    #[arg(long, value_name = "DIR", value_hint = ValueHint::Other, requires = "ssh")]
    pub(crate) root: Option<String>,
    /// Let programs run on that host
    #[arg(long, requires = "ssh")]
    pub(crate) allow_exec: bool,
    /// No runtime yet: one is attached later
    #[arg(long, requires = "expect_root")]
    pub(crate) deferred: bool,
    /// The directory that a runtime must serve to be attached
    #[arg(long, value_name = "DIR", value_hint = ValueHint::Other, requires = "deferred")]
    pub(crate) expect_root: Option<String>,
    /// Authorities to trust with wss:, as PEM, in the place of this machine's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "remote")]
    pub(crate) ca: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// `stead workspace attach`
#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// Its name.
    #[arg(value_hint = ValueHint::Other)]
    pub(crate) name: String,
    /// The runtime: wss://HOST:PORT, ws:// on this machine, or unix:/PATH
    #[arg(value_name = "URL", value_hint = ValueHint::Other)]
    pub(crate) url: String,
    /// Authorities to trust with wss:, as PEM, in the place of this machine's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
}
