//! A reader that does not read: it costs nobody anything, is cut when it is too far behind, and comes
//! back at its position.

use serde_json::json;
use testkit::{model_server::Plan, reduce::Reduced};
use vocab::limits::READER_BEHIND_BYTES_MAX;

use crate::reading::{Gate, Place, Stream, start, stored, take, within};

/// Answers that are together much longer than a reader may be behind, and than sockets hold.
fn plan(gate: &Gate) -> Plan {
    let wait = gate.waits("", "");
    let words = "All work and no play. ".repeat(READER_BEHIND_BYTES_MAX / 8 / 22);
    let bash =
        |command: &str| json!({"type": "call", "tool": "bash", "input": {"command": command}});
    let long = json!({"blocks": [{"type": "text", "text": words}, bash("true")]});
    let mut turns = vec![json!({"blocks": [bash(&wait)]})];
    turns.extend(std::iter::repeat_n(long, 20));
    turns.push(json!({"blocks": [{"type": "text", "text": "done"}]}));
    serde_json::from_value(json!({"piece_chars": 16384, "turns": turns})).unwrap()
}

#[test]
fn stranger_a_reader_that_does_not_read_slows_nobody_and_comes_back() {
    let gate = Gate::new();
    let place = Place::new(plan(&gate));
    within(async {
        let client = place.client();
        let session = start(&place, "messages", "tell a lot").await;
        let mut slow = Stream::open(&place.socket_client(), &session, None).await;
        let fast: Vec<_> = [
            Stream::open(&client, &session, None).await,
            Stream::open(&client, &session, None).await,
        ]
        .into_iter()
        .map(|stream| tokio::spawn(stream.finish(Reduced::default())))
        .collect();
        gate.open();
        // The run ends while the slow one has not read a byte.
        let mut expected = String::new();
        for reader in fast {
            expected = reader.await.unwrap().canonical();
        }
        assert_eq!(expected, stored(&client, &session).await);
        let mut known = Reduced::default();
        let broken = loop {
            match slow.events().await {
                Ok(Some(events)) => take(&mut known, &events),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        assert!(broken && !known.done, "it was cut in the middle");
        let at = known.last_id.clone().expect("it stands somewhere");
        assert_ne!(known.canonical(), expected);
        let known = Stream::open(&client, &session, Some(&at)).await.finish(known).await;
        assert_eq!((known.canonical() == expected, known.starts), (true, 1), "after {at}");
    });
}
