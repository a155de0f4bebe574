//! Colocated language servers as a source of tools: diagnostics, definitions, references, hovers, symbols and
//! renames of the files of one workspace.
//!
//! Servers are children of `sandbox` or sockets that somebody listens on; files are reached through `confine`
//! alone. No file that a server names outside the workspace is opened. Not here: who may have a server (grants
//! are handed in), the tools that write files (they call [`Lsp::changed`]), any wire besides the servers' own.

mod abilities;
mod beside;
mod board;
pub mod config;
mod diagnostics;
mod documents;
mod edit;
mod framing;
mod instance;
mod languages;
mod line;
mod open;
mod position;
mod process;
mod rpc;
mod serve;
mod site;
mod status;
mod tools;

pub use config::{ConfigError, PROJECT_LAYER, ProjectTrust};
pub use open::{OpenError, Options};
pub use serve::Lsp;
pub use site::Bounds;
pub use status::{State, Status};
pub use tools::specs;
