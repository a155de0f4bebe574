//! Content that its client does not take, though it says that it lives.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;
use vocab::limits::{REMOTE_PING_MS, REMOTE_WINDOW_BYTES, TRANSFER_IDLE_MS};
use workspace::{fake::Fake, source::Workspace};

use super::{
    lines::{greeted, hear, ms, say},
    rig,
};

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_has_its_place_for_a_while_only() {
    let fake = Fake::default();
    fake.put("big", vec![0; 2 * usize::try_from(REMOTE_WINDOW_BYTES).unwrap()]);
    let server = rig::server(Arc::new(fake.clone()));
    let (mut line, _) = greeted(&server).await;
    let start = Instant::now();
    for (id, kind) in [(1, "download"), (2, "read")] {
        let mut asked = json!({"type": kind, "id": id, "workspace": fake.id(), "path": "big"});
        if kind == "read" {
            asked["bytes_max"] = json!(1_u64 << 40);
        }
        say(&mut line, &asked).await;
    }
    // It answers and says that it lives, and gives no credit.
    let mut ended = Vec::new();
    while ended.len() < 2 {
        let heard = tokio::time::timeout(ms(REMOTE_PING_MS), hear(&mut line)).await;
        match heard {
            Ok(told) => {
                let told = told.unwrap();
                if told["type"] == "error" {
                    assert_eq!(
                        (&told["code"], &told["effect"]),
                        (&json!("timeout"), &json!("not_started"))
                    );
                    ended.push(told["id"].clone());
                }
            }
            Err(_silent) => say(&mut line, &json!({"type": "ping"})).await,
        }
    }
    // Looked at whenever the client says that it lives.
    let (took, limit) = (start.elapsed(), ms(TRANSFER_IDLE_MS));
    assert!(limit <= took && took <= limit + ms(REMOTE_PING_MS), "{took:?}");
    assert_eq!((server.status().downloads, server.status().calls), (0, 0));
    assert_eq!(server.status().connections, 1, "the connection goes on");
}
