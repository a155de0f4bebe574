//! The law of the seam, over every kind of line.

use workspace::{law, source::OwnedWorkspace};

use super::rig::{self, Local, Wire};
use crate::transport::memory::Cut;

async fn check(local: bool, wire: Wire) {
    let place = local.then(Local::open);
    let workspace = place.as_ref().map_or_else(rig::fake, |place| place.owner.borrow());
    let remote = rig::join(workspace, &wire).await;
    assert_eq!(law::broken(remote.borrow()).await, Vec::<String>::new());
    assert!(!remote.is_busy());
    Box::new(remote).close().await;
}

#[tokio::test]
async fn a_remote_workspace_in_memory_answers_like_the_one_served() {
    check(false, Wire::Memory(Cut::never())).await;
    check(true, Wire::Memory(Cut::never())).await;
}

#[tokio::test]
async fn a_remote_workspace_over_bytes_answers_like_the_one_served() {
    check(false, Wire::Bytes).await;
    check(true, Wire::Bytes).await;
}
