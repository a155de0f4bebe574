//! Calls for tests.

use serde_json::json;
use vocab::{
    ids::{CallId, RunId},
    outcome::Outcome,
};
use workspace::{
    call::{Call, CallContext, Envelope},
    catalog::Catalog,
    source::ToolSource,
};

pub(super) fn call(tool: &str, catalog: &Catalog) -> Call {
    Call {
        id: CallId("1".into()),
        run: RunId::generate(),
        tool: tool.to_owned(),
        arguments: json!({}),
        expected_generation: catalog.generation,
        schema_hash: catalog.find(tool).map_or_else(String::new, |spec| spec.schema_hash()),
        timeout_ms: None,
        idempotency_key: None,
        envelope: Envelope::default(),
    }
}

pub(super) async fn run(source: &dyn ToolSource, call: Call) -> Outcome {
    source.call(call, CallContext::detached()).await
}
