//! The workspace as a whole: the law of the seam, admission, order, transfers, full disks.

use crate::bench::Bench;

pub(crate) mod bench;
mod calls;
mod disks;
mod transfers;
mod trees;

#[tokio::test(flavor = "multi_thread")]
async fn the_law_holds_for_a_directory() {
    let bench = Bench::new();
    assert_eq!(workspace::law::broken(bench.workspace.clone()).await, Vec::<String>::new());
    let bare = Bench::with(|options| options.grants = workspace::grant::Grants::default());
    assert_eq!(workspace::law::broken(bare.workspace.clone()).await, Vec::<String>::new());
}
