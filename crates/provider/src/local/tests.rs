//! Lists in every shape, and a real endpoint that is found.

use serde_json::json;
use testkit::model_server::{ModelServer, Plan};

use super::*;
use crate::goldens;

#[test]
fn lists_of_models_are_read_in_every_shape() {
    let config = ProviderConfig::new("local", Api::OpenAiChat, "http://127.0.0.1:1/v1");
    let check = |value: Value, expected: &[(&str, u32)]| {
        let read = models(&config, &value).expect("a list");
        let seen: Vec<_> = read.iter().map(|m| (m.id.as_str(), m.context_window)).collect();
        assert_eq!(seen, expected);
    };
    check(json!({ "object": "list", "data": [{ "id": "a" }] }), &[("a", 32_768)]);
    check(json!({ "data": [{ "id": "a", "max_model_len": 9 }] }), &[("a", 9)]);
    check(json!({ "data": [{ "id": "a", "meta": { "n_ctx_train": 7 } }] }), &[("a", 7)]);
    check(json!({ "data": [{ "id": "a", "context_length": 5 }, {}] }), &[("a", 5)]);
    check(
        json!({ "models": [{ "name": "qwen3:8b", "model": "qwen3:8b" }] }),
        &[("qwen3:8b", 32_768)],
    );
    check(json!([{ "id": "a" }]), &[("a", 32_768)]);
    assert!(models(&config, &json!({ "hello": 1 })).is_none());
}

#[tokio::test]
async fn a_local_endpoint_is_found_by_its_port() {
    let server = ModelServer::start(Plan::default()).expect("starts");
    let port = server.base_url().rsplit(':').next().and_then(|port| port.parse().ok());
    let port = port.expect("a port");
    let found = find_local(&Clock::system(), &[1, port]).await.expect("an endpoint");
    assert_eq!(found.models[0].id, "stand-in");
    assert!(found.resolve(&Clock::system()).is_ok());
    drop(server);
    assert!(find_local(&Clock::system(), &[1, port]).await.is_none());
}

#[tokio::test]
async fn a_list_of_models_is_read_only_so_far() {
    let list = async |head: &str, piece: Vec<u8>| {
        let url = goldens::serve_raw(head, piece);
        let config = ProviderConfig::new("acme", Api::OpenAiChat, url);
        let told = list_models(&Clock::system(), &config, Duration::from_secs(60)).await;
        told.map(|models| models.len()).map_err(|failure| failure.code)
    };
    let mut whole = br#"{"data":[{"id":"a"}]"#.to_vec();
    whole.resize(PROVIDER_MODELS_BYTES_MAX - 1, b' ');
    whole.push(b'}');
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", whole.len());
    assert_eq!(list(&head, whole).await, Ok(1));
    let endless = list("HTTP/1.1 200 OK\r\n\r\n{\"data\":[", br#"{"id":"a"},"#.to_vec()).await;
    assert_eq!(endless, Err("bad_answer".to_owned()));
}
