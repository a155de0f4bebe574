//! Both dialects against a vendor's peer over real sockets: conversations, and everything that breaks.

use std::net::TcpListener;

use futures_util::FutureExt as _;
use serde_json::json;
use stdx::{clock::Timestamp, secret::Secret};
use testkit::model_server::{ModelServer, Plan, plan::Fault};
use vocab::{ids::CallId, limits, message::ModelRef, outcome::Outcome};

use super::*;
use crate::{
    delta::Retry,
    goldens,
    prompt::{AssistantPart, Prompt, PromptMessage},
    resolve::{Api, ProviderConfig},
    seam::SharedProvider,
};

const APIS: [Api; 2] = [Api::OpenAiChat, Api::Anthropic];

fn config(api: Api, url: &str) -> ProviderConfig {
    let mut config = ProviderConfig::new("acme", api, format!("{url}/v1"));
    config.timeouts = Timeouts {
        headers: Duration::from_secs(20),
        idle: Duration::from_secs(20),
        error_body: Duration::from_millis(50),
    };
    config.key = Some(Secret::new("sk-secret".into()));
    config.key_variable = Some("ACME_API_KEY".into());
    config
}

fn provider(api: Api, url: &str) -> SharedProvider {
    config(api, url).resolve(&Clock::system()).expect("a provider")
}

fn plan(faults: Value) -> Plan {
    serde_json::from_value(json!({
        "key": "sk-secret",
        "piece_chars": 4,
        "turns": [
            { "blocks": [
                { "type": "reasoning", "text": "where am I?", "signature": "c2lnbmVk" },
                { "type": "text", "text": "I look 🌍." },
                { "type": "call", "tool": "bash", "input": { "command": "ls" } },
                { "type": "call", "tool": "bash", "input": { "command": "pwd" } } ],
              "usage": { "input": 11, "output": 7, "cache_read": 5 } },
            { "blocks": [{ "type": "text", "text": "Done." }] } ],
        "faults": faults,
    }))
    .expect("a plan")
}

async fn ask(provider: &SharedProvider, prompt: Prompt) -> Vec<Delta> {
    provider.stream(prompt, CancellationToken::new()).collect().await
}

fn retry(deltas: &[Delta]) -> Retry {
    let Some(Delta::Failed(failure)) = deltas.last() else { panic!("{deltas:?}") };
    failure.retry
}

fn hello() -> Prompt {
    goldens::prompt(vec![goldens::user("hi")])
}

/// The first turn of the plan as the dialect tells it.
fn first_turn(api: Api) -> String {
    let (signature, id, before, after) = match api {
        Api::Anthropic => ("c2lnbmVk", "toolu_0", "usage 11/1/0/5/0 ", "usage 11/7/0/5/0 "),
        Api::OpenAiChat | Api::Scripted => ("reasoning_content", "call_0", "", "usage 11/7/0/5/0 "),
    };
    format!(
        "{before}(where am I?)^{signature} \"I look 🌍.\" <{id}_2 bash {{\"command\":\"ls\"}}> \
         <{id}_3 bash {{\"command\":\"pwd\"}}> {after}ToolUse"
    )
}

/// Makes of an answer the messages that a loop would add.
fn answered(deltas: &[Delta]) -> [PromptMessage; 2] {
    let (mut parts, mut results) = (Vec::new(), Vec::new());
    let (mut text, mut call) = (String::new(), (CallId(String::new()), String::new()));
    for delta in deltas {
        match delta {
            Delta::TextStart | Delta::ReasoningStart => text.clear(),
            Delta::Text(more) | Delta::Reasoning(more) => text.push_str(more),
            Delta::TextEnd => parts.push(AssistantPart::Text(text.clone())),
            Delta::ReasoningEnd { signature, redacted } => parts.push(AssistantPart::Reasoning {
                text: text.clone(),
                signature: signature.clone(),
                redacted: *redacted,
            }),
            Delta::CallStart { id, tool } => call = (id.clone(), tool.clone()),
            Delta::CallEnd { input } => {
                let (id, tool) = call.clone();
                results.push((id.clone(), tool.clone(), Outcome::text("README.md")));
                parts.push(AssistantPart::Call { id, tool, input: input.clone() });
            }
            Delta::CallInput(_) | Delta::Usage(_) | Delta::Done(_) | Delta::Failed(_) => {}
        }
    }
    [goldens::assistant(parts), PromptMessage::Results(results)]
}

#[tokio::test]
async fn a_conversation_with_tools_is_accepted_by_both_vendors() {
    for api in APIS {
        let server = ModelServer::start(plan(json!([]))).expect("starts");
        let provider = provider(api, &server.base_url());
        let first = ask(&provider, hello()).await;
        assert_eq!(goldens::told(&first), first_turn(api));
        let mut prompt = hello();
        prompt.messages.extend(answered(&first));
        let last = ask(&provider, prompt.clone()).await;
        assert!(goldens::told(&last).contains("\"Done.\""), "{last:?}");
        // Another model gets the same conversation, without the signatures of the first.
        prompt.model = ModelRef { provider: "acme".into(), model: "other".into() };
        let last = ask(&provider, prompt).await;
        assert!(goldens::told(&last).contains("\"Done.\""), "{last:?}");
        let asked = server.requests();
        assert!(!asked[2].body.to_string().contains("where am I?"));
        assert!(asked[1].body.to_string().contains("where am I?"));
        assert_eq!(server.connections(), 1, "connections are kept");
    }
}

#[tokio::test]
async fn every_fault_becomes_a_failure_or_does_no_harm() {
    let whole = |api| first_turn(api);
    type Expected = (&'static str, Retry);
    let broken: [(Value, Expected); 13] = [
        (json!({ "kind": "status", "status": 401 }), ("auth_failed", Retry::Never)),
        (json!({ "kind": "status", "status": 403 }), ("auth_failed", Retry::Never)),
        (json!({ "kind": "status", "status": 404 }), ("model_not_found", Retry::Never)),
        (json!({ "kind": "status", "status": 429 }), ("rate_limited", Retry::Backoff)),
        (
            json!({ "kind": "status", "status": 429, "headers": { "retry-after": "7" } }),
            ("rate_limited", Retry::After { wait_ms: 7_000 }),
        ),
        (
            json!({ "kind": "status", "status": 529, "headers": { "retry-after": "3600" } }),
            ("overloaded", Retry::After { wait_ms: 3_600_000 }),
        ),
        (json!({ "kind": "status", "status": 503 }), ("overloaded", Retry::Backoff)),
        (json!({ "kind": "status", "status": 500 }), ("server_error", Retry::Backoff)),
        (json!({ "kind": "html", "status": 502 }), ("server_error", Retry::Backoff)),
        (json!({ "kind": "html", "status": 200 }), ("bad_answer", Retry::Never)),
        (
            json!({ "kind": "status", "status": 302, "headers": { "location": "/v1/models" } }),
            ("bad_answer", Retry::Never),
        ),
        (json!({ "kind": "no_end" }), ("stream_cut", Retry::Never)),
        (
            json!({ "kind": "error_event", "after_events": 3, "error": "overloaded_error" }),
            ("overloaded", Retry::Backoff),
        ),
    ];
    let harmless = [
        json!({ "kind": "dribble", "pause_ms": 0 }),
        json!({ "kind": "split" }),
        json!({ "kind": "content_type", "value": "text/plain" }),
        json!({ "kind": "content_type", "value": "application/json" }),
        json!({ "kind": "interleave" }),
    ];
    for api in APIS {
        let faults: Vec<Value> =
            broken.iter().map(|(fault, _)| fault.clone()).chain(harmless.clone()).collect();
        let server = ModelServer::start(plan(json!(faults))).expect("starts");
        let provider = provider(api, &server.base_url());
        for (fault, (code, retry)) in &broken {
            let deltas = ask(&provider, hello()).await;
            let Some(Delta::Failed(failure)) = deltas.last() else { panic!("{fault}: {deltas:?}") };
            assert_eq!((failure.failure.code.as_str(), failure.retry), (*code, *retry), "{fault}");
            assert!(!failure.failure.message.contains('<'), "{}", failure.failure.message);
            goldens::told(&deltas);
        }
        for fault in &harmless {
            assert_eq!(goldens::told(&ask(&provider, hello()).await), whole(api), "{fault}");
        }
        assert_eq!(server.requests().len(), faults.len(), "no redirect is followed");
    }
}

#[tokio::test]
async fn whole_answers_to_streaming_requests_are_taken() {
    for api in APIS {
        let server = ModelServer::start(plan(json!([{ "kind": "whole" }]))).expect("starts");
        let told = goldens::told(&ask(&provider(api, &server.base_url()), hello()).await);
        assert!(told.contains("\"I look 🌍.\" <"), "{told}");
        assert!(told.ends_with("ToolUse"), "{told}");
    }
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_is_told_and_never_garbled() {
    for api in APIS {
        let cuts: Vec<Value> =
            (0..4_000).map(|at| json!({ "kind": "cut", "after_bytes": at })).collect();
        let plan = Plan { piece_chars: 64, ..plan(json!(cuts)) };
        let server = ModelServer::start(plan).expect("starts");
        let provider = provider(api, &server.base_url());
        let whole = first_turn(api);
        let mut complete = false;
        for at in 0..4_000 {
            let deltas = ask(&provider, hello()).await;
            let told = goldens::told(&deltas);
            if told == whole {
                complete = true;
                assert!(at > 500, "{at}");
                break;
            }
            if api == Api::OpenAiChat && told == whole.replace("usage 11/7/0/5/0 ", "") {
                // The reason came and the usage did not.
                continue;
            }
            assert!(told.ends_with("!stream_cut"), "{at}: {told}");
            assert_eq!(retry(&deltas), Retry::Never, "{at}: it was asked");
            // Words may be cut; what was ended before stands as it is.
            let stands = told.split(['…', '!']).next().unwrap_or_default();
            assert!(whole.starts_with(stands), "{at}: {told}");
        }
        assert!(complete, "the stream is longer than the cuts");
    }
}

/// Asks, and stops the call once the request is there.
async fn ask_and_stop(api: Api, server: &ModelServer) -> Vec<Delta> {
    let cancel = CancellationToken::new();
    let stream = provider(api, &server.base_url()).stream(hello(), cancel.clone());
    let stop = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let ((), deltas) = tokio::join!(stop, stream.collect());
    deltas
}

#[tokio::test]
async fn a_stopped_call_ends_at_once_wherever_it_is() {
    for api in APIS {
        for fault in [json!({ "kind": "hang" }), json!({ "kind": "silence", "after_bytes": 1_300 })]
        {
            let server = ModelServer::start(plan(json!([fault]))).expect("starts");
            let deltas = ask_and_stop(api, &server).await;
            let Some(Delta::Failed(failure)) = deltas.last() else { panic!("{deltas:?}") };
            assert_eq!(failure.failure.code, "aborted");
            assert_eq!(failure.failure.effect, Effect::Indeterminate);
        }
        let cancel = CancellationToken::new();
        cancel.cancel();
        let unsent: Vec<Delta> =
            provider(api, "http://127.0.0.1:1").stream(hello(), cancel).collect().await;
        let Some(Delta::Failed(failure)) = unsent.last() else { panic!("{unsent:?}") };
        assert_eq!(failure.failure.effect, Effect::NotStarted);
    }
}

#[tokio::test]
async fn silence_has_limits() {
    let usual = Timeouts::default();
    assert_eq!(usual.headers.as_secs(), limits::PROVIDER_HEADER_SECONDS_MAX);
    assert_eq!(usual.idle.as_secs(), limits::PROVIDER_IDLE_SECONDS_MAX);
    assert_eq!(usual.error_body.as_secs(), limits::PROVIDER_ERROR_BODY_SECONDS_MAX);
    for api in APIS {
        let faults = json!([{ "kind": "hang" }, { "kind": "silence", "after_bytes": 200 }]);
        let server = ModelServer::start(plan(faults)).expect("starts");
        let mut config = config(api, &server.base_url());
        config.timeouts.headers = Duration::from_millis(50);
        let deltas = ask(&config.resolve(&Clock::system()).expect("one"), hello()).await;
        assert_eq!(goldens::told(&deltas), "!header_timeout");
        assert_eq!(retry(&deltas), Retry::Never, "it may have been asked");
        config.timeouts.headers = Duration::from_secs(20);
        config.timeouts.idle = Duration::from_millis(50);
        let deltas = ask(&config.resolve(&Clock::system()).expect("one"), hello()).await;
        let told = goldens::told(&deltas);
        assert!(told.ends_with("!stream_idle"), "{told}");
        assert_eq!(retry(&deltas), Retry::Never, "it was asked");
    }
    // An error whose body never ends is told by its status.
    let url = goldens::serve_raw(b"HTTP/1.1 500 x\r\ncontent-length: 99\r\n\r\n{", Vec::new());
    let told = goldens::told(&ask(&provider(Api::OpenAiChat, &url), hello()).await);
    assert_eq!(told, "!server_error");
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: begin\n\n";
    let comments = [b": ".as_slice(), &[b'x'; 65_536], b"\n\n"].concat();
    let cases = [
        (comments, limits::PROVIDER_ANSWER_BYTES_MAX),
        (b"data: endless".to_vec(), limits::SSE_LINE_BYTES_MAX),
    ];
    for (piece, limit) in cases {
        let url = goldens::serve_raw(head, piece);
        let deltas = ask(&provider(Api::OpenAiChat, &url), hello()).await;
        assert_eq!(goldens::told(&deltas), "!answer_too_large");
        // It names the limit that was met.
        let [Delta::Failed(failure)] = deltas.as_slice() else { panic!("{deltas:?}") };
        let message = &failure.failure.message;
        assert!(message.contains(&format!("({limit} bytes)")), "{message}");
    }
}

#[tokio::test]
async fn a_long_error_page_is_read_only_so_far() {
    let head = b"HTTP/1.1 500 x\r\ncontent-type: text/html\r\n\r\n<p>";
    let url = goldens::serve_raw(head, b"sorry ".to_vec());
    let deltas = ask(&provider(Api::OpenAiChat, &url), hello()).await;
    let [Delta::Failed(failure)] = deltas.as_slice() else { panic!("{deltas:?}") };
    assert_eq!(failure.failure.code, "server_error");
    assert!(failure.failure.message.contains("sorry sorry"));
    assert!(failure.failure.message.len() < 400);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_takes_no_connection_is_given_up() {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("binds");
    let listener = socket.listen(1).expect("listens");
    let at = listener.local_addr().expect("an address");
    // Nobody accepts, so a few fill the queue, and whoever comes then waits.
    let mut crowd: Vec<_> = (0..8).map(|_| Box::pin(tokio::net::TcpStream::connect(at))).collect();
    for one in &mut crowd {
        assert!(one.now_or_never().is_none_or(|joined| joined.is_ok()));
    }
    let begun = tokio::time::Instant::now();
    let mut config = config(Api::OpenAiChat, &format!("http://{at}"));
    config.timeouts = Timeouts::default();
    let deltas = ask(&config.resolve(&Clock::system()).expect("one"), hello()).await;
    assert_eq!(goldens::told(&deltas), "!connect_failed");
    assert_eq!(begun.elapsed().as_secs(), limits::PROVIDER_CONNECT_SECONDS_MAX);
}

#[tokio::test]
async fn a_wait_until_a_moment_is_counted_from_now() {
    for api in APIS {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let fault = json!({ "kind": "status", "status": 429, "headers": { "retry-after": date } });
        let server = ModelServer::start(plan(json!([fault]))).expect("starts");
        let clock = Clock::manual(Timestamp::parse("1994-11-06T08:49:30Z").expect("a time"));
        let provider = config(api, &server.base_url()).resolve(&clock).expect("a provider");
        assert_eq!(retry(&ask(&provider, hello()).await), Retry::After { wait_ms: 7_000 });
    }
}

#[tokio::test]
async fn a_closed_port_is_told_with_its_address() {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let url = format!("http://127.0.0.1:{port}");
    let deltas = ask(&provider(Api::Anthropic, &url), hello()).await;
    let [Delta::Failed(failure)] = deltas.as_slice() else { panic!("{deltas:?}") };
    assert_eq!(failure.failure.code, "connect_failed");
    assert_eq!((failure.retry, failure.failure.effect), (Retry::Never, Effect::NotStarted));
    assert!(failure.failure.message.contains(&url), "{}", failure.failure.message);
}

#[tokio::test]
async fn keys_go_to_the_server_and_nowhere_else() {
    for api in APIS {
        let fault = Fault::Status {
            status: 401,
            headers: std::collections::BTreeMap::new(),
            body: Some(r#"{"error":{"message":"wrong key: sk-secret"}}"#.into()),
            content_type: None,
        };
        let server =
            ModelServer::start(Plan { faults: vec![fault], ..Plan::default() }).expect("starts");
        let config = config(api, &server.base_url());
        assert!(!format!("{config:?}").contains("sk-secret"));
        let deltas = ask(&config.resolve(&Clock::system()).expect("one"), hello()).await;
        assert!(!format!("{deltas:?}").contains("sk-secret"), "{deltas:?}");
        assert!(format!("{deltas:?}").contains("set ACME_API_KEY"), "{deltas:?}");
        let name = if api == Api::Anthropic { "x-api-key" } else { "authorization" };
        assert!(server.requests()[0].header(name).is_some_and(|it| it.contains("sk-secret")));
    }
}
