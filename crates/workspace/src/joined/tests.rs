//! Two workspaces in memory as one.

use serde_json::json;
use vocab::{
    ids::CallId,
    schema::Schema,
    tool::{Execution, Reach, ToolSpec},
};

use super::*;
use crate::{call::Envelope, fake::Fake, law};

fn tool(name: &'static str) -> Arc<ToolSpec> {
    Arc::new(ToolSpec {
        name,
        description: "",
        parameters: Schema::Object(Vec::new()),
        reach: Reach::Reads,
        execution: Execution::Parallel,
        prepare: |arguments| arguments,
    })
}

fn call(joined: &impl ToolSource, name: &str) -> Call {
    let catalog = joined.catalog();
    Call {
        id: CallId("1".into()),
        run: RunId::generate(),
        tool: name.to_owned(),
        arguments: json!({}),
        expected_generation: catalog.generation,
        schema_hash: catalog.find(name).map_or_else(String::new, |spec| spec.schema_hash()),
        timeout_ms: None,
        idempotency_key: None,
        envelope: Envelope::default(),
    }
}

#[tokio::test]
async fn the_law_holds_for_a_workspace_with_more_tools() {
    let joined = Joined::new(Arc::new(Fake::default()), Arc::new(Fake::new("other")));
    assert_eq!(law::broken(Arc::new(joined)).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_call_goes_to_the_source_that_has_the_tool_and_a_change_of_either_is_seen() {
    let (first, second) = (Fake::default(), Fake::new("other"));
    second.publish([tool("look"), tool("more")]);
    let joined = Joined::new(Arc::new(first.clone()), Arc::new(second.clone()));
    let names: Vec<_> = joined.catalog().tools().iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["look", "change", "more"]);
    for name in ["look", "more"] {
        let outcome = joined.call(call(&joined, name), CallContext::detached()).await;
        assert_eq!(outcome.failure, None, "{name}");
    }
    let told = [&first, &second].map(|fake| fake.calls().len());
    assert_eq!(told, [1, 1]);
    let old = call(&joined, "more");
    for changed in [&first, &second] {
        changed.publish([tool("more")]);
        let outcome = joined.call(old.clone(), CallContext::detached()).await;
        assert_eq!(outcome.failure.unwrap().code, "stale_generation");
    }
}
