//! Questions and answers on a line in memory.

use tokio::io::duplex;

use super::*;

struct Deaf;

impl Handler for Deaf {
    fn asked(&self, method: &str, _: &Value) -> Result<Value, Refusal> {
        Err(Refusal::unknown(method))
    }

    fn told(&self, _: &str, _: &Value) {}
}

/// Returns a peer and what the other side reads and writes.
fn pair() -> (Peer, BufReader<impl AsyncRead>, impl AsyncWrite) {
    let (ours, theirs) = duplex(1 << 16);
    let (reading, writing) = tokio::io::split(ours);
    let peer = Peer::start(reading, writing, Arc::new(Deaf), Duration::from_secs(5));
    let (reading, writing) = tokio::io::split(theirs);
    (peer, BufReader::new(reading), writing)
}

#[tokio::test]
async fn answers_find_their_questions_in_any_order_and_late_ones_are_nobodys() {
    let (peer, mut reading, mut writing) = pair();
    let never = CancellationToken::new();
    let until = Instant::now() + Duration::from_secs(60);
    let one = peer.request(("one", &Value::Null), until, &never);
    let two = peer.request(("two", &Value::Null), until, &never);
    let other = async {
        let mut ids = Vec::new();
        for _ in 0..2 {
            let asked = framing::read(&mut reading).await.unwrap().unwrap();
            ids.push((asked["method"].clone(), asked["id"].clone()));
        }
        let late = json!({"jsonrpc": "2.0", "id": 99, "result": 1});
        writing.write_all(&framing::encode(&late)).await.unwrap();
        for (method, id) in ids.into_iter().rev() {
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": method});
            writing.write_all(&framing::encode(&answer)).await.unwrap();
        }
        let ask = json!({"jsonrpc": "2.0", "id": "x", "method": "who/knows"});
        writing.write_all(&framing::encode(&ask)).await.unwrap();
        framing::read(&mut reading).await.unwrap().unwrap()
    };
    let (one, two, refusal) = tokio::join!(one, two, other);
    assert_eq!((one, two), (Ok(json!("one")), Ok(json!("two"))));
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!("x"), &json!(-32601)));
    let nonsense = framing::encode(&json!({"jsonrpc": "2.0"}));
    writing.write_all(&nonsense).await.unwrap();
    peer.ended().await;
    assert!(peer.why().unwrap().contains("neither a request nor an answer"));
    let after = peer.request(("three", &Value::Null), until, &never).await;
    assert!(matches!(after, Err(PeerError::Ended(_))), "{after:?}");
}
