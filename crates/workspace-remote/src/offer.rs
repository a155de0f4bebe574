//! What one generation of a workspace offers, as both sides count it.

use std::sync::Arc;

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use vocab::tool::{Reach, ToolSpec};
use workspace::catalog::Catalog;

use crate::protocol::hello::{CatalogBody, ToolRow};

/// Lists a catalog's tools as the wire has them.
#[must_use]
pub fn body(catalog: &Catalog) -> CatalogBody {
    let tools: Vec<ToolRow> = catalog.tools().iter().filter_map(|spec| row(spec)).collect();
    let catalog_hash = hash(&tools);
    CatalogBody { generation: catalog.generation, catalog_hash, tools }
}

fn row(spec: &ToolSpec) -> Option<ToolRow> {
    Some(ToolRow {
        name: spec.name.to_owned(),
        execution: spec.execution,
        reach: spec.reach,
        schema: RawValue::from_string(spec.json_schema().to_string()).ok()?,
        schema_hash: spec.schema_hash(),
    })
}

/// Hashes the rows of a catalog: one line each of name, execution, reach and schema hash.
#[must_use]
pub fn hash(tools: &[ToolRow]) -> String {
    let mut hasher = Sha256::new();
    for tool in tools {
        let ToolRow { name, execution, reach, schema_hash, .. } = tool;
        hasher.update(format!("{name}\t{execution:?}\t{reach:?}\t{schema_hash}\n").to_lowercase());
    }
    hex(&hasher.finalize())
}

/// Returns the tools that both sides mean: those of the body whose name and hash a known one has.
#[must_use]
pub fn agreed(body: &CatalogBody, known: &[Arc<ToolSpec>]) -> Catalog {
    let of_row = |row: &ToolRow| {
        known.iter().find(|spec| spec.name == row.name && spec.schema_hash() == row.schema_hash)
    };
    Catalog::new(body.generation, body.tools.iter().filter_map(of_row).cloned())
}

/// How far a tool of a catalog can reach; as far as any where it is unknown.
#[must_use]
pub fn reach(body: &CatalogBody, tool: &str) -> Reach {
    body.tools.iter().find(|row| row.name == tool).map_or(Reach::Runs, |row| row.reach)
}

/// Writes bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let written = write!(text, "{byte:02x}");
        debug_assert!(written.is_ok(), "a string takes every digit");
        text
    })
}
