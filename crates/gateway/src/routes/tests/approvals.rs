//! A run that waits for a person, answered from either face.

use super::*;

/// Finds the question in a stream.
fn question(events: &[Told]) -> (String, String) {
    let told =
        events.iter().find(|told| told.kind() == "tool-approval-request").expect("a question");
    let text = |name: &str| told.json()[name].as_str().unwrap().to_owned();
    (text("toolCallId"), text("approvalId"))
}

#[tokio::test]
async fn an_answer_resumes_the_run() {
    let stage = Stage::new().await;
    let events = read_all(stage.run(prompt("shell")).await).await;
    let (_, block_id) = question(&events);
    let session = events[0].json()["session_id"].as_str().unwrap().to_owned();
    let at =
        events.iter().rev().filter(|told| told.kind() != "finish").find_map(|told| told.id.clone());
    let answer = AnswerRequest {
        session_id: session.clone(),
        block_id,
        approved: true,
        reason: None,
        keys: Default::default(),
    };
    let target = Target::default();
    let done: AnswerDone =
        stage.client().json(Endpoint::AgentAnswer, target, Some(&answer)).await.unwrap();
    assert!(done.resumed);
    let target = Target::of(&session);
    let rest = stage.client().events::<()>(Endpoint::AgentStream, target, None, at.as_deref());
    let rest = read_all(rest.await.unwrap()).await;
    assert!(words(&rest).contains("seen-by-shell"), "{rest:?}");
    assert!(!rest.iter().any(|told| told.kind() == "start"));
    let repeated = stage
        .client()
        .json::<_, AnswerDone>(Endpoint::AgentAnswer, Target::default(), Some(&answer))
        .await;
    assert!(["already_answered", "unknown_block"].contains(&problem(repeated).code.as_str()));
}

#[tokio::test]
async fn a_chat_answers_with_its_assistant_message() {
    for approved in [true, false] {
        let stage = Stage::new().await;
        let chat = |messages: Value| json!({"id": "c", "messages": messages});
        let says = json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": "shell"}]});
        let sent = chat(json!([says]));
        let client = stage.client();
        let target = Target::default();
        let events = client.events(Endpoint::Chat, target, Some(&sent), None).await.unwrap();
        let events = read_all(events).await;
        let (call, block) = question(&events);
        let part = json!({
            "type": "tool-bash", "toolCallId": call, "state": "approval-responded",
            "input": {}, "approval": {"id": block, "approved": approved, "reason": "because"},
        });
        let message = json!({"id": "a", "role": "assistant", "parts": [part]});
        let sent = chat(json!([says, message]));
        let rest = client.events(Endpoint::Chat, target, Some(&sent), None).await.unwrap();
        let rest = read_all(rest).await;
        // The client goes on with the message it has: nothing of it is told again.
        for told in ["start", "tool-input-start", "tool-approval-request"] {
            assert!(!rest.iter().any(|event| event.kind() == told), "{told}: {rest:?}");
        }
        let wanted = if approved { "tool-output-available" } else { "tool-output-denied" };
        assert!(rest.iter().any(|event| event.kind() == wanted), "{rest:?}");
        assert_eq!(rest.last().unwrap().data, "[DONE]");
        let again = client.events(Endpoint::Chat, target, Some(&sent), None).await;
        assert!(matches!(again, Err(ClientError::Problem(_))), "{again:?}");
    }
}
