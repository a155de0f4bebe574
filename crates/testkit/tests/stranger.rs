//! The vendors' own Python clients read what the model server answers.
//!
//! The interpreter that has them is named by `STEAD_TEST_PY`.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts an interpreter named by the caller"
)]

#[cfg(test)]
mod tests {
    use serde_json::json;
    use testkit::model_server::{ModelServer, Plan};

    fn plan() -> Plan {
        serde_json::from_value(json!({ "turns": [
            { "blocks": [
                { "type": "reasoning", "text": "where am I?", "signature": "c2lnbmVk" },
                { "type": "text", "text": "I look." },
                { "type": "call", "tool": "bash", "input": { "command": "ls" } } ],
              "usage": { "input": 11, "output": 7, "cache_read": 5, "cache_write": 2 } },
            { "blocks": [{ "type": "text", "text": "Done." }] } ] }))
        .expect("a plan")
    }

    #[test]
    fn stranger_the_vendors_own_clients_accept_every_answer() {
        let Some(python) = std::env::var_os("STEAD_TEST_PY") else {
            assert!(
                std::env::var_os("STEAD_TEST_REQUIRE").is_none(),
                "STEAD_TEST_PY must name an interpreter that has the packages openai and anthropic"
            );
            eprintln!("skipped: STEAD_TEST_PY names no interpreter");
            return;
        };
        let server = ModelServer::start(plan()).expect("starts");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/strangers/vendors.py");
        let end = std::process::Command::new(python)
            .args([script, &server.base_url()])
            .env("NO_PROXY", "127.0.0.1")
            .output()
            .expect("the interpreter starts");
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
    }
}
