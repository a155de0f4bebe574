//! What a tool is: its name, its arguments, what it can reach, and how its arguments are repaired.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::schema::{self, Schema};

/// How far a tool can reach; approvals are decided from this, never from a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// It only looks.
    Reads,
    /// It changes files of the workspace.
    Writes,
    /// It runs programs.
    Runs,
}

/// Whether calls of one batch may overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// It may run beside others.
    Parallel,
    /// A batch that holds it runs one call after another.
    Sequential,
}

/// A repair of arguments that models are known to write wrongly. Pure; runs once, before validation.
pub type Prepare = fn(Value) -> Value;

/// A tool as catalogs hold it.
#[derive(Clone)]
pub struct ToolSpec {
    /// Its name, as models call it.
    pub name: &'static str,
    /// What models read about it.
    pub description: &'static str,
    /// Its arguments.
    pub parameters: Schema,
    /// How far it can reach.
    pub reach: Reach,
    /// Whether calls may overlap.
    pub execution: Execution,
    /// The repair of its arguments, besides the coercions that the schema implies.
    pub prepare: Prepare,
}

impl std::fmt::Debug for ToolSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ToolSpec {
    /// Repairs arguments: the tool's own repair, then absent nulls and coerced scalars by schema.
    #[must_use]
    pub fn prepare(&self, arguments: Value) -> Value {
        schema::coerce(&self.parameters, (self.prepare)(arguments))
    }

    /// Checks prepared arguments; every problem is named with its path.
    ///
    /// # Errors
    /// When they do not fit the schema.
    pub fn validate(&self, prepared: &Value) -> Result<(), Vec<schema::Problem>> {
        schema::validate(&self.parameters, prepared)
    }

    /// Returns the JSON schema of the arguments, as models and catalogs get it.
    #[must_use]
    pub fn json_schema(&self) -> Value {
        self.parameters.to_json()
    }

    /// Hashes name and canonical schema, so that two sides can prove that they mean the same tool.
    #[must_use]
    pub fn schema_hash(&self) -> String {
        let text = format!("{}\n{}", self.name, self.json_schema());
        let digest = Sha256::digest(text.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
