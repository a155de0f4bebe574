//! The AI SDK's default requests.

use super::*;

fn body(id: &str, messages: Value) -> Value {
    json!({
        "id": id, "messages": messages, "trigger": "submit-message", "messageId": null, "extra": 1,
    })
}

fn says(text: &str) -> Value {
    json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}], "metadata": {}})
}

async fn post(stage: &Stage, body: &Value) -> Result<Response<Incoming>, ClientError> {
    stage.client().events(Endpoint::Chat, Target::default(), Some(body), None).await
}

#[tokio::test]
async fn a_chat_is_one_session_and_has_no_frame_of_ours() {
    let stage = Stage::new().await;
    let response = post(&stage, &body("my chat/1", json!([says("hi")]))).await.unwrap();
    assert_eq!(response.headers()["x-vercel-ai-ui-message-stream"], "v1");
    let session = response.headers()["x-stead-session"].to_str().unwrap().to_owned();
    let events = read_all(response).await;
    assert!(events.iter().all(|told| told.event.is_none()));
    assert_eq!(
        (events[0].kind().as_str(), events.last().unwrap().data.as_str()),
        ("start", "[DONE]")
    );
    // The SDK sends the whole conversation; only its last message is new.
    let more = json!([says("hi"), {"id": "a", "role": "assistant", "parts": []}, says("more")]);
    let response = post(&stage, &body("my chat/1", more)).await.unwrap();
    assert_eq!(response.headers()["x-stead-session"], session.as_str());
    read_all(response).await;
    let messages = stage.get(Endpoint::SessionMessages, Target::of(&session)).await;
    assert_eq!(messages.as_array().unwrap().len(), 4);
    let shown = stage.get(Endpoint::SessionShow, Target::of(&session)).await;
    assert_eq!(shown["alias"], "my chat/1");
}

#[tokio::test]
async fn a_chat_without_a_live_run_has_no_stream() {
    let stage = Stage::new().await;
    let look = async |chat: &str| {
        let target = Target::of(chat);
        let sent = stage.client().events::<()>(Endpoint::ChatStream, target, None, None).await;
        sent.unwrap().status().as_u16()
    };
    assert_eq!(look("unknown").await, 204);
    read_all(post(&stage, &body("c", json!([says("hi")]))).await.unwrap()).await;
    assert_eq!(look("c").await, 204);
    // A run that waits for a person is not live either: the messages show what it waits for.
    read_all(post(&stage, &body("d", json!([says("shell")]))).await.unwrap()).await;
    assert_eq!(look("d").await, 204);
}

#[tokio::test]
async fn what_is_not_offered_is_said() {
    let stage = Stage::new().await;
    let mut again = body("c", json!([says("hi")]));
    again["trigger"] = json!("regenerate-message");
    assert_eq!(problem(post(&stage, &again).await).code, "regenerate_unsupported");
    again["trigger"] = json!("sing");
    let told = problem(post(&stage, &again).await);
    assert_eq!((told.code.as_str(), told.field.as_deref()), ("invalid_field", Some("trigger")));
    let told = problem(post(&stage, &body("c", json!([says(" \n")]))).await);
    assert_eq!(told.code, "invalid_field");
    let page = stage.get(Endpoint::SessionList, Target::default()).await;
    assert_eq!(page["items"], json!([]));
    for (id, messages, field) in [
        ("", json!([says("hi")]), "id"),
        ("a\0b", json!([says("hi")]), "id"),
        ("c", json!([]), "messages"),
        ("c", json!([{"id": "s", "role": "system", "parts": []}]), "messages"),
        ("c", json!([{"id": "a", "role": "assistant", "parts": []}]), "messages"),
    ] {
        let told = problem(post(&stage, &body(id, messages)).await);
        assert_eq!((told.code.as_str(), told.field.as_deref()), ("invalid_field", Some(field)));
    }
}
