//! Which batches are committed together.

use tokio::sync::mpsc;
use vocab::limits::STORE_GROUP_BYTES_MAX;

use super::{Job, Member};

/// Takes what waits behind a batch, up to a size; a job of another kind ends the group.
pub(super) fn gather(first: Member, jobs: &mut mpsc::Receiver<Job>) -> (Vec<Member>, Option<Job>) {
    let mut bytes = first.sealed.bytes;
    let mut group = vec![first];
    while bytes < STORE_GROUP_BYTES_MAX {
        match jobs.try_recv() {
            Ok(Job::Append(member)) => {
                bytes += member.sealed.bytes;
                group.push(*member);
            }
            Ok(other) => return (group, Some(other)),
            Err(_) => break,
        }
    }
    (group, None)
}
