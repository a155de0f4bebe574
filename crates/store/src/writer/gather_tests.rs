//! How much of what waits one commit takes on.

use serde_json::json;
use tokio::sync::Semaphore;

use vocab::limits::STORE_GROUP_BYTES_MAX;

use super::*;
use crate::{batch::Batch, cursor::Epoch};

const PIECE_BYTES: usize = STORE_GROUP_BYTES_MAX / 8;

fn member(bytes: usize) -> Member {
    let epoch = Epoch { store_id: "12345678".into(), number: 1 };
    let (scope, token) = ("s".into(), "t".into());
    let answer = json!("x".repeat(bytes));
    let put = crate::Change::PutIdempotent { scope, token, answer };
    let sealed = Sealed::new(Batch::of_store(epoch).change(put)).unwrap();
    let room = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    Member { sealed, reply: oneshot::channel().0, room }
}

#[test]
fn a_commit_takes_on_only_so_much() {
    let (inbox, mut jobs) = mpsc::channel(32);
    for _ in 0..20 {
        inbox.try_send(Job::Append(Box::new(member(PIECE_BYTES)))).ok().unwrap();
    }
    let mut groups = Vec::new();
    while let Ok(Job::Append(first)) = jobs.try_recv() {
        let (group, other) = gather(*first, &mut jobs);
        assert!(other.is_none());
        let before_last = group.len() - 1;
        let bytes: usize = group[..before_last].iter().map(|member| member.sealed.bytes).sum();
        assert!(bytes < STORE_GROUP_BYTES_MAX);
        groups.push(group.len());
    }
    assert_eq!(groups, [8, 8, 4]);
    // One that is larger by itself is not held up by others.
    for bytes in [STORE_GROUP_BYTES_MAX, 1] {
        inbox.try_send(Job::Append(Box::new(member(bytes)))).ok().unwrap();
    }
    let Ok(Job::Append(large)) = jobs.try_recv() else { panic!("it waits") };
    assert_eq!(gather(*large, &mut jobs).0.len(), 1);
}
