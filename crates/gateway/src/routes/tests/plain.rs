//! Runs, sessions, secrets and the daemon itself.

use vocab::limits::STORE_CANDIDATES_MAX;

use super::*;
use crate::testing::{exchange, request};

#[tokio::test]
async fn a_run_is_streamed_and_can_be_read_again_from_anywhere() {
    let stage = Stage::new().await;
    let response = stage.run(prompt("hi")).await;
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("x-vercel-ai-ui-message-stream"), "v1");
    assert_eq!(header("content-type"), "text/event-stream");
    assert_eq!(header("cache-control"), "no-store");
    let (session, run) = (header("x-stead-session"), header("x-stead-run"));
    let events = read_all(response).await;
    assert_eq!(events[0].event.as_deref(), Some("stead-session"));
    assert_eq!(
        (&events[0].json()["session_id"], &events[0].json()["run_id"]),
        (&json!(session), &json!(run))
    );
    assert_eq!(events[1].kind(), "start");
    assert_eq!(events.last().unwrap().data, "[DONE]");
    let all = words(&events);
    assert_eq!(all, "Hello there, this is an answer of some length.");

    // From every position, what comes is exactly what is missing.
    for (idx, told) in events.iter().enumerate() {
        let Some(id) = &told.id else { continue };
        let target = Target::of(&session);
        let again = stage.client().events::<()>(Endpoint::AgentStream, target, None, Some(id));
        let again = read_all(again.await.unwrap()).await;
        assert_eq!(words(&events[..=idx]) + &words(&again), all, "{id}");
    }
    // A position nobody knows gets everything; without one there is nothing live to read.
    let foreign = format!("{}.1.0", vocab::ids::RunId::generate());
    let target = Target::of(&session);
    let again = stage.client().events::<()>(Endpoint::AgentStream, target, None, Some(&foreign));
    assert_eq!(words(&read_all(again.await.unwrap()).await), all);
    let none = stage.client().events::<()>(Endpoint::AgentStream, target, None, Some("nonsense"));
    assert_eq!(problem(none.await).code, "no_live_run");
}

#[tokio::test]
async fn a_repeated_request_is_one_run() {
    let stage = Stage::new().await;
    let mut request = prompt("hi");
    request.idempotency_key = Some("once".into());
    let first = read_all(stage.run(request.clone()).await).await;
    let second = read_all(stage.run(request).await).await;
    assert_eq!(first[0].data, second[0].data);
    assert_eq!(words(&first), words(&second));
    let page = stage.get(Endpoint::SessionList, Target::default()).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn sessions_are_made_listed_shown_and_deleted() {
    let stage = Stage::new().await;
    let client = stage.client();
    let body = CreateSession {
        title: Some("first".into()),
        cwd: Some(stage.work.display().to_string()),
        model: Some("scripted/one".into()),
        ..CreateSession::default()
    };
    let made: SessionRow =
        client.json(Endpoint::SessionCreate, Target::default(), Some(&body)).await.unwrap();
    assert_eq!((made.title.as_str(), made.state.as_str()), ("first", "idle"));
    let mut request = prompt("write it");
    request.session_id = Some(made.id.clone());
    read_all(stage.run(request).await).await;
    let shown: SessionDetail =
        client.json::<(), _>(Endpoint::SessionShow, Target::of(&made.id), None).await.unwrap();
    assert_eq!((shown.row.messages, shown.row.state.as_str()), (2, "finished"));
    assert!(stage.work.join("a.txt").exists());
    let messages = stage.get(Endpoint::SessionMessages, Target::of(&made.id)).await;
    assert_eq!((&messages[0]["role"], &messages[1]["role"]), (&json!("user"), &json!("assistant")));

    // What is unique of an id is enough.
    let tail = &made.id[made.id.len() - 8..];
    let short = stage.get(Endpoint::SessionShow, Target::of(tail)).await;
    assert_eq!(short["id"], made.id.as_str());
    let target = Target { parameter: "", query: "q=fir&limit=1" };
    let page: SessionPage =
        client.json::<(), _>(Endpoint::SessionList, target, None).await.unwrap();
    assert_eq!((page.items.len(), page.next_cursor), (1, None));
    let target = Target { parameter: "", query: "cursor=zzz" };
    let refused = client.json::<(), Value>(Endpoint::SessionList, target, None).await;
    let refused = problem(refused);
    assert_eq!(
        (refused.code.as_str(), refused.field.as_deref()),
        ("invalid_query", Some("cursor"))
    );
    for query in ["limit=x", "limit=201", "unknown=1"] {
        let target = Target { parameter: "", query };
        let refused = client.json::<(), Value>(Endpoint::SessionList, target, None).await;
        assert_eq!(problem(refused).code, "invalid_query", "{query}");
    }
    let wrong = CreateSession { model: Some("x".into()), ..CreateSession::default() };
    let refused =
        client.json::<_, Value>(Endpoint::SessionCreate, Target::default(), Some(&wrong)).await;
    assert_eq!(problem(refused).field.as_deref(), Some("model"));

    client.json::<(), Done>(Endpoint::SessionDelete, Target::of(&made.id), None).await.unwrap();
    let gone = client.json::<(), Value>(Endpoint::SessionShow, Target::of(&made.id), None).await;
    assert_eq!(problem(gone).code, "session_not_found");
    let nobody = client.json::<(), Value>(Endpoint::SessionShow, Target::of("nobody"), None).await;
    assert_eq!(problem(nobody).code, "session_not_found");
}

#[tokio::test]
async fn an_ambiguous_session_lists_what_it_could_be() {
    let stage = Stage::new().await;
    for _ in 0..2 {
        let body = CreateSession { title: Some("twin".into()), ..CreateSession::default() };
        let target = Target::default();
        stage
            .client()
            .json::<_, Value>(Endpoint::SessionCreate, target, Some(&body))
            .await
            .unwrap();
    }
    let shown = stage.client().json::<(), Value>(Endpoint::SessionShow, Target::of("win"), None);
    let told = problem(shown.await);
    assert_eq!((told.code.as_str(), told.candidates.len()), ("ambiguous", 2));
    assert_eq!(told.message, "several sessions match");
    // Of many, so many are named, and it is said how many are not.
    for _ in 2..STORE_CANDIDATES_MAX + 3 {
        let body = CreateSession { title: Some("twin".into()), ..CreateSession::default() };
        let made = stage.client().json::<_, Value>(
            Endpoint::SessionCreate,
            Target::default(),
            Some(&body),
        );
        made.await.unwrap();
    }
    let shown = stage.client().json::<(), Value>(Endpoint::SessionShow, Target::of("twin"), None);
    let told = problem(shown.await);
    assert_eq!(told.candidates.len(), STORE_CANDIDATES_MAX);
    assert_eq!(told.message, "several sessions match, 3 more than are listed");
}

#[tokio::test]
async fn keys_are_taken_over_the_unix_socket_alone() {
    let stage = Stage::new().await;
    let mut request = prompt("hi");
    request.model_id = Some("keyed".into());
    request.keys = [("scripted".to_owned(), "sk-canary".to_owned().into())].into();
    request.cwd = Some(stage.work.display().to_string());
    let target = Target::default();
    let refused = stage.remote().events(Endpoint::AgentRun, target, Some(&request), None).await;
    let refused = problem(refused);
    assert_eq!(
        (refused.code.as_str(), refused.field.as_deref()),
        ("keys_need_socket", Some("keys"))
    );
    let answer = AnswerRequest {
        session_id: vocab::ids::SessionId::generate().to_string(),
        block_id: vocab::ids::BlockId::generate().to_string(),
        approved: true,
        reason: None,
        keys: request.keys.clone(),
    };
    let refused =
        stage.remote().json::<_, Value>(Endpoint::AgentAnswer, target, Some(&answer)).await;
    assert_eq!(problem(refused).code, "keys_need_socket");
    let events = read_all(stage.run(request).await).await;
    assert!(!words(&events).is_empty());
}

#[tokio::test]
async fn keys_of_a_request_are_bounded_like_stored_ones() {
    let stage = Stage::new().await;
    let long = "x".repeat(vocab::limits::SECRET_BYTES_MAX + 1);
    for (name, key) in
        [("../x", "k"), ("", "k"), ("a b", "k"), ("a", ""), ("a", "k\nl"), ("a", &long)]
    {
        let mut request = prompt("hi");
        request.keys = [(name.to_owned(), key.to_owned().into())].into();
        let sent =
            stage.client().events(Endpoint::AgentRun, Target::default(), Some(&request), None);
        let told = problem(sent.await);
        assert_eq!((told.code.as_str(), told.field.as_deref()), ("invalid_field", Some("keys")));
        let answer = AnswerRequest {
            session_id: vocab::ids::SessionId::generate().to_string(),
            block_id: vocab::ids::BlockId::generate().to_string(),
            approved: true,
            reason: None,
            keys: request.keys,
        };
        let target = Target::default();
        let sent = stage.client().json::<_, Value>(Endpoint::AgentAnswer, target, Some(&answer));
        assert_eq!(problem(sent.await).field.as_deref(), Some("keys"));
    }
}

#[tokio::test]
async fn queries_of_nothing_are_refused() {
    let stage = Stage::new().await;
    for route in TABLE.iter().filter(|route| route.method == Method::Get) {
        if route.endpoint == Endpoint::ChatStream {
            continue;
        }
        let path = route.endpoint.path_with("ses_");
        let text = request(&format!("GET {path}?nobody=1"), "", "");
        let answer = exchange(&mut stage.house.tcp().await, text.as_bytes()).await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_query"), "{path}");
    }
}

#[tokio::test]
async fn a_key_is_stored_and_no_route_tells_it() {
    let stage = Stage::new().await;
    let client = stage.client();
    let (name, target) = (SecretName { provider_id: "local".into() }, Target::default());
    let has = async || {
        let has: HasSecret = client.json(Endpoint::SecretHas, target, Some(&name)).await.unwrap();
        has.has
    };
    assert!(!has().await);
    let set = SetSecret { provider_id: "local".into(), key: "sk-canary".to_owned().into() };
    client.json::<_, Done>(Endpoint::SecretSet, target, Some(&set)).await.unwrap();
    assert!(has().await);
    read_all(stage.run(prompt("hi")).await).await;
    for route in TABLE.iter().filter(|route| route.method == Method::Get) {
        if route.answers == Answers::Events {
            continue;
        }
        let path = route.endpoint.path_with("ses_");
        let text = request(&format!("GET {path}"), "", "");
        let answer = exchange(&mut stage.house.tcp().await, text.as_bytes()).await.unwrap();
        let body = String::from_utf8(answer.body).unwrap();
        assert!(!body.contains("sk-canary") && !answer.head.contains("sk-canary"), "{path}");
    }
    client.json::<_, Done>(Endpoint::SecretDelete, target, Some(&name)).await.unwrap();
    assert!(!has().await);
    let wrong = SetSecret { provider_id: "../x".into(), key: "sk-canary".to_owned().into() };
    let refused = client.json::<_, Done>(Endpoint::SecretSet, target, Some(&wrong)).await;
    let refused = problem(refused);
    assert_eq!(refused.code, "invalid_field");
    assert!(!refused.message.contains("sk-canary"));
}

#[tokio::test]
async fn the_daemon_tells_how_it_is_and_stops_when_asked() {
    let stage = Stage::new().await;
    let client = stage.client();
    let hello = Hello { protocol: PROTOCOL + 1, version: "x".into() };
    let welcome: Welcome =
        client.json(Endpoint::Handshake, Target::default(), Some(&hello)).await.unwrap();
    assert_eq!((welcome.protocol, welcome.id.as_str()), (PROTOCOL, "claim"));
    assert!(welcome.supports.contains(&"agent@1".to_owned()));
    read_all(stage.run(prompt("hi")).await).await;
    let status: Status =
        client.json::<(), _>(Endpoint::DaemonStatus, Target::default(), None).await.unwrap();
    assert_eq!((status.pid, status.sessions.total), (std::process::id(), 1));
    assert!(status.memory.pss > 0 && status.memory.private > 0);
    let stop = StopRequest::default();
    client.json::<_, Done>(Endpoint::DaemonStop, Target::default(), Some(&stop)).await.unwrap();
    stage.services.stop.cancelled().await;
}

#[tokio::test]
async fn a_wrong_body_is_refused_by_every_row_before_anything_happens() {
    let stage = Stage::new().await;
    for route in TABLE.iter().filter(|route| route.method == Method::Post) {
        let path = route.endpoint.path_with("x");
        let text = request(&format!("POST {path}"), "", "{");
        let answer = exchange(&mut stage.house.tcp().await, text.as_bytes()).await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (400, "malformed_body"), "{path}");
        // Two rows take bodies of others and let them have fields of their own.
        if matches!(route.endpoint, Endpoint::Handshake | Endpoint::Chat) {
            continue;
        }
        let text = request(&format!("POST {path}"), "", r#"{"nobody_knows": 1}"#);
        let answer = exchange(&mut stage.house.tcp().await, text.as_bytes()).await.unwrap();
        let told = answer.problem();
        assert_eq!((answer.status, told.code.as_str()), (400, "unknown_field"), "{path}");
        assert_eq!(told.field.as_deref(), Some("nobody_knows"));
    }
    assert!(!stage.services.stop.is_cancelled());
    let page = stage.get(Endpoint::SessionList, Target::default()).await;
    assert_eq!(page["items"], json!([]));
}

#[tokio::test]
async fn a_prompt_ends_with_what_a_user_says() {
    let stage = Stage::new().await;
    let file = |url: &str| json!({"role": "user", "parts": [{"type": "file", "mediaType": "image/png", "url": url}]});
    for (messages, field) in [
        (json!([]), "messages"),
        (json!([{"role": "user"}]), "messages[0]"),
        (json!([{"role": "user", "content": "a", "parts": []}]), "messages[0]"),
        (
            json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]),
            "messages[1]",
        ),
        (json!([file("https://site.example/a.png")]), "messages[0].parts[0].url"),
        (json!([file("file:///etc/passwd")]), "messages[0].parts[0].url"),
        (json!([file("data:image/png;base64,no!!")]), "messages[0].parts[0].url"),
        (json!([file("data:image/png,plain")]), "messages[0].parts[0].url"),
    ] {
        let body = json!({"messages": messages});
        let sent = stage.client().events(Endpoint::AgentRun, Target::default(), Some(&body), None);
        let told = problem(sent.await);
        assert_eq!((told.code.as_str(), told.field.as_deref()), ("invalid_field", Some(field)));
    }
    let body = json!({"messages": [file("data:image/png;base64,AAAA")], "cwd": stage.work});
    let sent = stage.client().events(Endpoint::AgentRun, Target::default(), Some(&body), None);
    assert_eq!(read_all(sent.await.unwrap()).await.last().unwrap().data, "[DONE]");
}

#[tokio::test]
async fn the_client_says_what_went_wrong() {
    let stage = Stage::new().await;
    let status = async |client: &Client| {
        client.json::<(), Value>(Endpoint::DaemonStatus, Target::default(), None).await
    };
    assert!(status(stage.remote()).await.is_ok());
    assert_eq!(problem(status(&stage.tcp("wrong")).await).code, "unauthorized");
    let nobody = Client::new(Address::Socket(stage.work.join("nobody")));
    assert!(matches!(status(&nobody).await, Err(ClientError::Unreachable(_))));
    let refused: Failure = status(&stage.tcp("wrong")).await.unwrap_err().into();
    assert_eq!(refused.effect, vocab::outcome::Effect::NotStarted);
    let abort = AbortRequest { session_id: "nobody".into() };
    let sent =
        stage.client().json::<_, Done>(Endpoint::AgentAbort, Target::default(), Some(&abort));
    assert_eq!(problem(sent.await).code, "session_not_found");
}

#[tokio::test]
async fn a_waiting_run_can_be_stopped() {
    let stage = Stage::new().await;
    let events = read_all(stage.run(prompt("shell")).await).await;
    let session = events[0].json()["session_id"].as_str().unwrap().to_owned();
    let abort = AbortRequest { session_id: session.clone() };
    let target = Target::default();
    stage.client().json::<_, Done>(Endpoint::AgentAbort, target, Some(&abort)).await.unwrap();
    let shown = stage.get(Endpoint::SessionShow, Target::of(&session)).await;
    assert_eq!(shown["state"], "aborted");
    let answer = AnswerRequest {
        session_id: session,
        block_id: "nonsense".into(),
        approved: true,
        reason: None,
        keys: Default::default(),
    };
    let sent = stage.client().json::<_, AnswerDone>(Endpoint::AgentAnswer, target, Some(&answer));
    assert_eq!(problem(sent.await).code, "unknown_block");
}
