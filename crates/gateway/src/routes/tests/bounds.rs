//! Every short text of every body: one that is too long and one that names nothing are refused alike,
//! before anything is stored.

use super::*;
use vocab::limits::{
    ANSWER_REASON_BYTES_MAX, IDEMPOTENCY_KEY_BYTES_MAX, REQUEST_NAME_BYTES_MAX,
    REQUEST_PATH_BYTES_MAX, REQUEST_TITLE_BYTES_MAX,
};

/// Sends a body with a text at a pointer that is longer than it may be, or holds a NUL.
async fn check(stage: &Stage, endpoint: Endpoint, body: &Value, (at, bytes_max): (&str, usize)) {
    let path = at.split('/').skip(1).fold(String::new(), |path, name| match name.parse::<u32>() {
        Ok(idx) => format!("{path}[{idx}]"),
        Err(_) if path.is_empty() => name.to_owned(),
        Err(_) => format!("{path}.{name}"),
    });
    for text in ["x".repeat(bytes_max + 1), "x\0".to_owned()] {
        let mut body = body.clone();
        match body.pointer_mut(at) {
            Some(place) => *place = json!(text),
            None => body[&at[1..]] = json!(text),
        }
        let target = Target::default();
        let sent = stage.client().json::<_, Value>(endpoint, target, Some(&body)).await;
        let told = problem(sent);
        let wanted = ("invalid_field", Some(path.as_str()));
        assert_eq!((told.code.as_str(), told.field.as_deref()), wanted, "{endpoint:?} {at}");
        assert!(told.message.len() < 200, "the text is not repeated: {}", told.message);
    }
}

#[tokio::test]
async fn every_text_of_a_request_is_bounded() {
    let stage = Stage::new().await;
    let (name, path) = (REQUEST_NAME_BYTES_MAX, REQUEST_PATH_BYTES_MAX);
    let key = ("/idempotency_key", IDEMPOTENCY_KEY_BYTES_MAX);
    let run = json!({"messages": [{"role": "user", "content": "hi"}]});
    for field in ["/session_id", "/model_id", "/provider_id", "/workspace_id"] {
        check(&stage, Endpoint::AgentRun, &run, (field, name)).await;
    }
    check(&stage, Endpoint::AgentRun, &run, ("/cwd", path)).await;
    check(&stage, Endpoint::AgentRun, &run, key).await;
    let file = json!({"type": "file", "url": "data:a/b;base64,QUJD", "mediaType": "a/b"});
    let picture = json!({"id": "c", "messages": [{"role": "user", "parts": [file]}]});
    let media = "/messages/0/parts/0/mediaType";
    check(&stage, Endpoint::Chat, &picture, (media, name)).await;
    let picture = json!({"messages": picture["messages"]});
    check(&stage, Endpoint::AgentRun, &picture, (media, name)).await;

    check(&stage, Endpoint::SessionCreate, &json!({}), ("/title", REQUEST_TITLE_BYTES_MAX)).await;
    for field in ["/workspace_id", "/model"] {
        check(&stage, Endpoint::SessionCreate, &json!({}), (field, name)).await;
    }
    check(&stage, Endpoint::SessionCreate, &json!({}), ("/cwd", path)).await;
    check(&stage, Endpoint::SessionCreate, &json!({}), key).await;

    check(&stage, Endpoint::AgentAbort, &json!({}), ("/session_id", name)).await;
    let answer = json!({"session_id": "ses_1", "block_id": "blk_1", "approved": false});
    for field in ["/session_id", "/block_id"] {
        check(&stage, Endpoint::AgentAnswer, &answer, (field, name)).await;
    }
    let reason = ANSWER_REASON_BYTES_MAX;
    check(&stage, Endpoint::AgentAnswer, &answer, ("/reason", reason)).await;

    let says = json!({"id": "c", "messages": [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}]});
    check(&stage, Endpoint::Chat, &says, ("/id", name)).await;
    let block = vocab::ids::BlockId::generate();
    let approval = json!({"id": block, "approved": false, "reason": ""});
    let part = json!({"type": "tool-x", "state": "approval-responded", "approval": approval});
    let answers = json!({"id": "c", "messages": [{"role": "assistant", "parts": [part]}]});
    let at = ("/messages/0/parts/0/approval/reason", reason);
    check(&stage, Endpoint::Chat, &answers, at).await;

    let page = stage.get(Endpoint::SessionList, Target::default()).await;
    assert_eq!(page["items"], json!([]));
}
