//! How two sides agree: versions, capabilities, identity, catalog, limits, and taking up a lost line.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use vocab::{
    ids::WorkspaceId,
    tool::{Execution, Reach},
};

use super::tagged::message;

/// The versions a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionRange {
    /// The only major version.
    pub major: u32,
    /// The least minor version.
    pub minor_min: u32,
    /// The greatest minor version.
    pub minor_max: u32,
}

/// The version both sides speak from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

/// What a client wants of optional behavior.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wishes {
    /// Without these it does not work.
    pub required: Vec<String>,
    /// These it uses where they are.
    pub optional: Vec<String>,
}

/// A program, as logs name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// How a lost line is taken up again.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeRight {
    /// Proves that the one who comes back is the one who left.
    pub token: String,
    /// How long the connection is held, in milliseconds.
    pub grace_ms: u64,
}

impl std::fmt::Debug for ResumeRight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResumeRight").field("grace_ms", &self.grace_ms).finish_non_exhaustive()
    }
}

/// What is served; it never changes within a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The workspace's id.
    pub id: WorkspaceId,
    /// Its root as people write it there.
    pub root: String,
    /// Whose rules for paths apply.
    pub flavor: Flavor,
}

/// Whose rules for separators, anchors and case apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flavor {
    /// `/` separates, case matters.
    Posix,
    /// `\` separates too, case does not matter.
    Windows,
}

/// A tool of the catalog.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolRow {
    /// Its name.
    pub name: String,
    /// Whether calls may overlap.
    pub execution: Execution,
    /// How far it can reach.
    pub reach: Reach,
    /// The JSON schema of its arguments.
    pub schema: Box<RawValue>,
    /// The hash of name and schema.
    pub schema_hash: String,
}

/// What the workspace may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantsOf {
    /// Programs may be run.
    pub exec: bool,
}

/// What the server bears of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsOf {
    /// Bytes of one text message.
    pub text_bytes: u64,
    /// Bytes of one piece.
    pub piece_bytes: u64,
    /// Charge of pieces that may be under way before credit is given, per request.
    pub window_bytes: u64,
    /// The least that one piece is charged.
    pub charge_bytes_min: u64,
    /// Content of one `write`.
    pub write_bytes: u64,
    /// Requests at a time, transfers left out.
    pub calls: u64,
    /// Uploads at a time.
    pub uploads: u64,
    /// Downloads at a time.
    pub downloads: u64,
    /// How long nothing may come from a client before it counts as gone, in milliseconds.
    pub silence_ms: u64,
}

message! {
    /// The first message of a new connection.
    "hello" Hello {
        /// The versions the client speaks.
        protocol: VersionRange,
        /// The optional behavior it wants.
        capabilities: Wishes,
        /// Who it is.
        client: Program,
        /// Which workspace of a shared parent it means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
    }
}

message! {
    /// The first message on a new line that takes up an old connection.
    "resume" Resume {
        /// The connection.
        connection: String,
        /// What `welcome` gave for this.
        token: String,
        /// How many counted messages of the server the client has.
        received: u64,
    }
}

message! {
    /// The answer to `hello`.
    "welcome" Welcome {
        /// The version from here on.
        protocol: Version,
        /// The optional behavior both sides have.
        capabilities: Vec<String>,
        /// The connection's name.
        connection: String,
        /// How it is taken up again, where that was agreed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume: Option<ResumeRight>,
        /// What is served.
        workspace: Place,
        /// What it may do.
        grants: GrantsOf,
        /// What the server bears.
        limits: LimitsOf,
        /// Who serves.
        server: Program,
        /// The catalog.
        catalog: CatalogBody,
    }
}

message! {
    /// The answer to `resume`.
    "resumed" Resumed {
        /// How many counted messages of the client the server has.
        received: u64,
    }
}

/// The tools of one generation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogBody {
    /// Rises with every change.
    pub generation: u64,
    /// SHA-256 over the tools' names, execution, reach and schema hashes.
    pub catalog_hash: String,
    /// The tools, in the order in which models are told of them.
    pub tools: Vec<ToolRow>,
}

message! {
    /// Asks for the present catalog.
    "catalog" Catalog {
        /// The request.
        id: u64,
    }
}

message! {
    /// The answer to `catalog`.
    "catalog_of" CatalogOf {
        /// The request.
        id: u64,
        /// The catalog.
        catalog: CatalogBody,
    }
}

message! {
    /// A new generation was published.
    "catalog_changed" CatalogChanged {
        /// Its number.
        generation: u64,
        /// Its hash.
        catalog_hash: String,
    }
}
