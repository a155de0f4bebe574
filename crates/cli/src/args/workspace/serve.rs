//! `stead workspace serve` as it was typed. Every flag has a twin in the environment, which is asked where the flag is
//! absent; what they mean together is not decided here.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// What `stead workspace serve --help` shows at its end.
const AFTER: &str = "Every flag has a twin: --allow-exec is STEAD_WORKSPACE_ALLOW_EXEC=true, and\n\
    lists are separated by commas. The token is read from STEAD_WORKSPACE_TOKEN.\n\n\
    SIGHUP reads the certificate and the language servers anew, SIGTERM ends it in\norder, and a second one without telling those who are connected.\n\n\
    Examples:\n  \
    stead workspace serve --root ~/src/project\n  \
    STEAD_WORKSPACE_TOKEN=… stead workspace serve --root /workspace --allow-exec \\\n    \
    --listen 0.0.0.0:8787 --tls-cert cert.pem --tls-key key.pem\n  \
    ssh host stead workspace serve --stdio --root /workspace";

/// `stead workspace serve`
#[derive(Debug, Default, Args)]
#[command(after_help = AFTER)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) wire: Wire,
    #[command(flatten)]
    pub(crate) permits: Permits,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// What is served.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What is served")]
pub(crate) struct Place {
    /// The directory; the current one when none is named
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: Option<PathBuf>,
    /// Serve the directories below this one, each to the clients that name it as their channel
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["root", "id"])]
    pub(crate) shared_parent: Option<PathBuf>,
    /// What it is known by; made of the machine and the directory when absent
    #[arg(long, value_name = "ID", value_hint = ValueHint::Other)]
    pub(crate) id: Option<String>,
    /// A second directory that file tools may reach, for scratch files
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) temp_root: Option<PathBuf>,
    /// Where the full outputs of tools are kept while it runs; the temporary directory when absent
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) artifact_dir: Option<PathBuf>,
    /// What runs commands; Bash or else sh
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) shell: Option<PathBuf>,
    /// A variable that programs may see besides the base ones; may be repeated
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    pub(crate) env: Vec<String>,
    /// The file that names language servers
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) lsp_config: Option<PathBuf>,
}

/// How it is reached.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "How it is reached")]
pub(crate) struct Wire {
    /// Where to listen, as ADDRESS:PORT or unix:/PATH; 127.0.0.1:8787 when absent
    #[arg(long, value_name = "ADDRESS", value_hint = ValueHint::Other)]
    pub(crate) listen: Option<String>,
    /// Speak over standard input and output instead: whoever started it is let in
    #[arg(long, conflicts_with_all = ["listen", "tls_cert", "tls_key", "origin"])]
    pub(crate) stdio: bool,
    /// The chain of certificates for TLS, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key for TLS, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tls_key: Option<PathBuf>,
    /// An origin of pages that may connect, exactly as browsers send it; may be repeated
    #[arg(long, value_name = "URL", value_hint = ValueHint::Other)]
    pub(crate) origin: Vec<String>,
}

/// What is allowed. Nothing of it is unless it is said.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What is allowed")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Permits {
    /// Let clients run programs: the bash tool, and language servers that are started
    #[arg(long)]
    pub(crate) allow_exec: bool,
    /// Serve as root
    #[arg(long)]
    pub(crate) allow_root: bool,
    /// Let file tools enter what is mounted below the directory
    #[arg(long)]
    pub(crate) allow_mounts: bool,
    /// Listen beyond this machine without TLS, because something in front of it speaks TLS
    #[arg(long)]
    pub(crate) allow_insecure_transport: bool,
    /// Let the project's own .stead/lsp.toml count, and show files to servers that are attached
    #[arg(long)]
    pub(crate) trust_project_lsp: bool,
}

/// How much at a time.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "How much at a time")]
pub(crate) struct Bounds {
    /// Connections, those included that wait for a lost line
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    pub(crate) max_connections: Option<u64>,
    /// Requests of one connection
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    pub(crate) max_calls: Option<u64>,
    /// Requests of all connections
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    pub(crate) max_total_calls: Option<u64>,
    /// Uploads of one connection, and as many downloads
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    pub(crate) max_transfers: Option<u64>,
    /// Uploads of all connections, and as many downloads
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    pub(crate) max_total_transfers: Option<u64>,
    /// Seconds that a connection without a line is held; 0 holds none
    #[arg(long, value_name = "SECONDS", value_hint = ValueHint::Other)]
    pub(crate) max_grace: Option<u64>,
    /// MiB of full outputs that are kept
    #[arg(long, value_name = "MIB", value_hint = ValueHint::Other)]
    pub(crate) max_artifacts: Option<u64>,
    /// Seconds that a command may take
    #[arg(long, value_name = "SECONDS", value_hint = ValueHint::Other)]
    pub(crate) max_command: Option<u64>,
}
