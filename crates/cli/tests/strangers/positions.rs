//! A run that says and does everything, read by many who come and go: whoever reads it, from wherever
//! and whenever, has the same message in the end.

use std::sync::Arc;

use api::client::Client;
use serde_json::json;
use testkit::{
    model_server::Plan,
    reduce::{Event, Events, Reduced},
};

use crate::{
    dice::Dice,
    reading::{DIALECTS, Gate, Place, Stream, reduce, start, stored, take, within},
};

const CUTS: usize = 200;
const HOPPERS: usize = 12;

/// Turns with words, thinking, several calls at once, failures, and a command that waits for the gate.
pub(crate) fn plan(gate: &Gate) -> Plan {
    let words = "Grüße aus dem Lauf. Ein 🦀 kommt vor, und \"Zitate\"\nüber Zeilen. ".repeat(12);
    let bash =
        |command: &str| json!({"type": "call", "tool": "bash", "input": {"command": command}});
    let call = |tool: &str, input| json!({"type": "call", "tool": tool, "input": input});
    let text = |text: &str| json!({"type": "text", "text": text});
    let thinks = json!({"type": "reasoning", "text": words, "signature": "c2lnbmVk"});
    let wait = gate.waits("waiting", "on");
    serde_json::from_value(json!({"piece_chars": 7, "turns": [
        {"blocks": [thinks, text(&words), bash("for i in $(seq 40); do echo \"Zeile $i ü\"; done")]},
        {"blocks": [text("Two at once, both fail."), call("read", json!({"path": "none.txt"})), bash("echo no; exit 3")]},
        {"blocks": [call("write", json!({"path": "a.txt", "content": words})), call("read", json!({"path": "a.txt"}))]},
        {"blocks": [thinks, text("I wait."), bash(&wait), bash("echo beside")]},
        {"blocks": [text(&words), call("unknown", json!({})), bash("echo end")]},
        {"blocks": [thinks, text(&words)]},
    ]}))
    .unwrap()
}

/// What one reader saw from the beginning, byte for byte.
pub(crate) struct Recording {
    pub(crate) bytes: Vec<u8>,
    known: Reduced,
    stream: Stream,
    read: Events,
}

impl Recording {
    /// Reads until the command that waits for the gate has said so.
    pub(crate) async fn until_it_waits(client: &Client, session: &str) -> Self {
        let waits =
            |event: &Event| event.data.contains("progress") && event.data.contains("waiting");
        let stream = Stream::open(client, session, None).await;
        let (bytes, read) = (Vec::new(), Events::default());
        let mut recording = Self { bytes, known: Reduced::default(), stream, read };
        while !recording.more().await.expect("not over yet").iter().any(waits) {}
        recording
    }

    async fn more(&mut self) -> Option<Vec<Event>> {
        let bytes = self.stream.bytes().await.unwrap()?;
        self.bytes.extend_from_slice(&bytes);
        let events = self.read.feed(&bytes);
        take(&mut self.known, &events);
        Some(events)
    }

    async fn until_the_end(mut self) -> (Vec<u8>, Reduced) {
        while self.more().await.is_some() {}
        assert!(self.known.done);
        (self.bytes, self.known)
    }
}

/// Reads a little, goes, comes back, until the run is over.
async fn hop(client: Client, session: String, mut dice: Dice) -> (Reduced, usize) {
    let (mut known, mut hops) = (Reduced::default(), 0);
    loop {
        let mut stream = Stream::open(&client, &session, known.last_id.as_deref()).await;
        hops += 1;
        for _ in 0..=dice.below(12) {
            match stream.events().await.unwrap() {
                Some(events) => take(&mut known, &events),
                None if known.done => return (known, hops),
                None => panic!("the stream ended before it was done"),
            }
        }
    }
}

/// Comes back after each of many random cuts of a recording; returns how many were told all anew.
pub(crate) async fn come_back(
    client: &Client,
    session: &str,
    bytes: &[u8],
    expected: &str,
    dice: &mut Dice,
) -> usize {
    let mut anew = 0;
    for _ in 0..CUTS {
        let known = reduce(&bytes[..dice.below(bytes.len())]);
        let (before, at) = (known.starts, known.last_id.clone());
        let Some(at) = at else { continue };
        let known = Stream::open(client, session, Some(&at)).await.finish(known).await;
        assert_eq!(known.canonical(), expected, "after {at}");
        anew += known.starts - before;
    }
    anew
}

/// A position of another run, and ones that nobody stood at, get the whole message.
async fn strange_positions(client: &Client, session: &str, expected: &str) {
    let own = Stream::open(client, session, Some("run_00000000000000000000000000000000.3.0")).await;
    let own = own.finish(Reduced::default()).await;
    assert_eq!(own.canonical(), expected);
    let run = own.last_id.as_deref().unwrap().split('.').next().unwrap().to_owned();
    for at in ["1000000.0", "4.1000000", "18446744073709551615.18446744073709551615"] {
        let mut junk = Reduced::default();
        junk.parts.push(json!({"type": "text", "text": "old"}));
        let known =
            Stream::open(client, session, Some(&format!("{run}.{at}"))).await.finish(junk).await;
        assert_eq!((known.canonical().as_str(), known.starts), (expected, 1), "{at}");
    }
}

#[test]
fn stranger_a_reader_that_comes_back_anywhere_has_the_same_message() {
    for dialect in DIALECTS {
        let gate = Gate::new();
        let mut place = Place::new(plan(&gate));
        let (mut dice, mut kept) = (Dice::new(), None);
        within(async {
            let client = place.client();
            let session = start(&place, dialect, "do everything").await;
            let hoppers: Vec<_> = (0..HOPPERS)
                .map(|_| tokio::spawn(hop(client.clone(), session.clone(), dice.fork())))
                .collect();
            let recording = Recording::until_it_waits(&client, &session).await;
            let mut back = Vec::new();
            for _ in 0..CUTS {
                let known = reduce(&recording.bytes[..dice.below(recording.bytes.len())]);
                let at = known.last_id.clone();
                back.push((Stream::open(&client, &session, at.as_deref()).await, known));
            }
            gate.open();
            let back: Vec<_> = back
                .into_iter()
                .map(|(stream, known)| tokio::spawn(stream.finish(known)))
                .collect();
            let (bytes, whole) = recording.until_the_end().await;
            let expected = stored(&client, &session).await;
            assert_eq!(whole.canonical(), expected, "{dialect}: from the start");
            for reader in back {
                let known = reader.await.unwrap();
                assert_eq!(known.canonical(), expected, "{dialect}: back while it ran");
                assert_eq!(known.starts, 1, "{dialect}: nobody was told anything twice");
            }
            let mut hops = 0;
            for hopper in hoppers {
                let (known, more) = hopper.await.unwrap();
                assert_eq!(known.canonical(), expected, "{dialect}: hopping");
                hops += more;
            }
            let anew = come_back(&client, &session, &bytes, &expected, &mut dice).await;
            strange_positions(&client, &session, &expected).await;
            println!(
                "{dialect}: {} bytes, {hops} hops, {anew} of {CUTS} told anew after the end",
                bytes.len()
            );
            kept = Some((session, bytes, expected));
        });
        place.restart();
        let (session, bytes, expected) = kept.unwrap();
        within(async {
            let client = place.client();
            come_back(&client, &session, &bytes, &expected, &mut dice).await;
            strange_positions(&client, &session, &expected).await;
            assert_eq!(stored(&client, &session).await, expected);
        });
    }
}

#[test]
fn stranger_a_hundred_readers_have_the_same_message() {
    let gate = Gate::new();
    let place = Arc::new(Place::new(plan(&gate)));
    within(async {
        let client = place.client();
        let session = start(&place, "chat", "do everything").await;
        let mut streams = Vec::new();
        for _ in 0..100 {
            streams.push(Stream::open(&client, &session, None).await);
        }
        gate.open();
        let readers: Vec<_> = streams
            .into_iter()
            .map(|stream| tokio::spawn(stream.finish(Reduced::default())))
            .collect();
        let mut messages = Vec::new();
        for reader in readers {
            messages.push(reader.await.unwrap().canonical());
        }
        let expected = stored(&client, &session).await;
        assert!(messages.iter().all(|message| *message == expected));
    });
}
