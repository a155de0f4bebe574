//! A vendor that repeats what it was sent: on no path does it become words of a failure.

use serde_json::json;
use stdx::secret::Secret;
use testkit::model_server::{ModelServer, Plan, plan::Fault};

use super::*;
use crate::{
    goldens,
    resolve::{Api, ProviderConfig},
};

/// Each holds a mark that only it has, so that a part of it is found as well.
const KEY: &str = "sk-live/9f3c77ab\"z";
const HEADER: &str = "Basic dGVhbTo0NDEx";

/// What a vendor makes of words: a status and a body.
type Path = fn(&str) -> (u16, String);

/// Every way in which a vendor's words become a failure.
const PATHS: [(&str, Path); 13] = [
    ("refused", |said| (401, json!({ "error": { "message": said } }).to_string())),
    ("refused, in short", |said| (400, json!({ "error": said }).to_string())),
    ("refused, by a gateway", |said| {
        let raw = json!({ "detail": said }).to_string().replace('/', "\\/");
        (429, json!({ "error": { "message": "x", "metadata": { "raw": raw } } }).to_string())
    }),
    ("refused, without words", |said| (422, json!({ "seen": [said] }).to_string())),
    ("a page", |said| (502, format!("<html><p>{said}</p>"))),
    ("a text", |said| (404, said.to_owned())),
    ("an error in place of an answer", |said| (200, json!({ "error": said }).to_string())),
    ("a page in place of an answer", |said| (200, format!("<html><p>{said}</p>"))),
    ("an event that is no JSON", |said| (200, format!("data: {said}\n\n"))),
    ("an error event of one dialect", |said| {
        let event = json!({ "type": "error", "error": { "message": said } });
        (200, format!("event: error\ndata: {event}\n\n"))
    }),
    ("an error event of the other", |said| {
        (200, format!("data: {}\n\n", json!({ "type": "error", "error": { "detail": said } })))
    }),
    ("an answer that is none", |said| (200, json!({ "seen": said }).to_string())),
    ("a list", |said| (403, json!([{ "error": { "message": said } }]).to_string())),
];

async fn check(api: Api, path: (&str, Path), said: &str) {
    let (status, body) = path.1(said);
    let fault = Fault::Status { status, headers: [].into(), body: Some(body), content_type: None };
    let plan = Plan { faults: vec![fault], ..Plan::default() };
    let server = ModelServer::start(plan).expect("starts");
    let mut config = ProviderConfig::new("acme", api, format!("{}/v1", server.base_url()));
    config.key = Some(Secret::new(KEY.into()));
    config.headers = vec![("x-team".into(), Secret::new(HEADER.into()))];
    let provider = config.resolve(&Clock::system()).expect("a provider");
    let prompt = goldens::prompt(vec![goldens::user("hi")]);
    let deltas: Vec<Delta> = provider.stream(prompt, CancellationToken::new()).collect().await;
    let [Delta::Failed(ProviderFailure { failure, .. })] = deltas.as_slice() else {
        panic!("{}: {said}: {deltas:?}", path.0)
    };
    let told = format!("{failure:?}");
    assert!(told.contains("[hidden]"), "{}: {said}: {told}", path.0);
    for part in ["9f3c77ab", "dGVhbTo0NDEx"] {
        assert!(!told.contains(part), "{}: {said}: {told}", path.0);
    }
}

#[tokio::test]
async fn what_a_vendor_repeats_of_our_secrets_is_told_to_nobody() {
    for api in [Api::OpenAiChat, Api::Anthropic] {
        for path in PATHS {
            for said in [
                format!("wrong key: {KEY}"),
                format!("authorization: Bearer {KEY}"),
                "asked for /?key=sk-live%2F9f3c77ab%22z".to_owned(),
                format!("x-team: {HEADER}"),
                "team dGVhbTo0NDEx is unknown".to_owned(),
            ] {
                check(api, path, &said).await;
            }
        }
    }
}
