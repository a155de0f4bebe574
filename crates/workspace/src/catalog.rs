//! An immutable list of tools; a change publishes the next generation.

use std::sync::Arc;

use vocab::tool::ToolSpec;

/// The tools of one generation.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// Rises with every change.
    pub generation: u64,
    tools: Vec<Arc<ToolSpec>>,
}

impl Catalog {
    /// Builds a catalog; of two tools with one name the first stays.
    #[must_use]
    pub fn new(generation: u64, tools: impl IntoIterator<Item = Arc<ToolSpec>>) -> Self {
        let mut unique: Vec<Arc<ToolSpec>> = Vec::new();
        for tool in tools {
            if !unique.iter().any(|known| known.name == tool.name) {
                unique.push(tool);
            }
        }
        Self { generation, tools: unique }
    }

    /// Returns the tool of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns all tools, in the order in which models are told of them.
    #[must_use]
    pub fn tools(&self) -> &[Arc<ToolSpec>] {
        &self.tools
    }
}
