//! `GET /events`.

use super::*;

fn is_end(told: &Told) -> bool {
    told.json()["body"]["kind"] == "run_ended"
}

async fn follow(stage: &Stage, after: Option<&str>) -> Response<Incoming> {
    let sent = stage.client().events::<()>(Endpoint::Events, Target::default(), None, after);
    sent.await.unwrap()
}

#[tokio::test]
async fn every_fact_is_told_once_and_in_order_from_any_cursor() {
    let stage = Stage::new().await;
    let mut live = follow(&stage, None).await;
    assert_eq!(live.headers()["content-type"], "text/event-stream");
    let hello = read_until(&mut live, |_| true).await;
    let begin = hello[0].id.clone().expect("a cursor before the first fact");
    read_all(stage.run(prompt("write")).await).await;
    let told = read_until(&mut live, is_end).await;
    assert!(told.iter().all(|one| one.event.as_deref() == Some("stead-fact")));
    let kinds: Vec<Value> = told.iter().map(|one| one.json()["body"]["kind"].clone()).collect();
    assert_eq!(kinds[0], "session_created");
    assert!(kinds.contains(&json!("call_started")) && kinds.contains(&json!("call_ended")));
    for one in &told {
        assert_eq!(one.json()["cursor"].as_str(), one.id.as_deref());
    }
    // From the cursor before everything, and from each one after.
    let replayed = read_until(&mut follow(&stage, Some(&begin)).await, is_end).await;
    assert_eq!(replayed[1..], told);
    for (idx, one) in told.iter().enumerate().take(told.len() - 1) {
        let rest = read_until(&mut follow(&stage, one.id.as_deref()).await, is_end).await;
        assert_eq!(rest[1..], told[idx + 1..]);
    }
    // The query says the same for those who cannot set a header.
    let query = format!("after={begin}");
    let target = Target { parameter: "", query: &query };
    let sent = stage.client().events::<()>(Endpoint::Events, target, None, None);
    assert_eq!(read_until(&mut sent.await.unwrap(), is_end).await[1..], told);
}

#[tokio::test]
async fn a_cursor_that_does_not_work_is_refused() {
    let stage = Stage::new().await;
    for (cursor, code) in [("nonsense", "invalid_query"), ("00000000.1", "cursor_expired")] {
        let target = Target::default();
        let sent = stage.client().events::<()>(Endpoint::Events, target, None, Some(cursor)).await;
        assert_eq!(problem(sent).code, code);
    }
    let newest = stage.services.daemon.store.cursor().await.unwrap();
    let ahead = ::daemon::hub::Cursor { seq: newest.seq + 1, ..newest }.to_string();
    let query = format!("after={ahead}");
    let target = Target { parameter: "", query: &query };
    let sent = stage.client().events::<()>(Endpoint::Events, target, None, None).await;
    let told = problem(sent);
    assert_eq!((told.code.as_str(), told.field.as_deref()), ("invalid_query", Some("after")));
    assert!(told.message.contains("ahead of this store"), "{}", told.message);
    let target = Target { parameter: "", query: "token=x" };
    let sent = stage.client().events::<()>(Endpoint::Events, target, None, None).await;
    assert_eq!(problem(sent).code, "invalid_query");
}

#[tokio::test]
async fn the_stream_ends_when_the_doors_close() {
    let stage = Stage::new().await;
    let mut live = follow(&stage, None).await;
    read_until(&mut live, |_| true).await;
    let Stage { house, .. } = stage;
    let drained = house.server.drain(std::time::Duration::from_secs(3_600));
    let (cut, rest) = tokio::join!(drained, read_all(live));
    assert_eq!((cut, rest), (0, Vec::new()));
}
