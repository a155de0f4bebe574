//! Lines that break at every message: with resumption nothing is lost or repeated; without it every operation says
//! truly whether the world changed.

use std::sync::Arc;

use workspace::{
    law,
    source::{OwnedWorkspace, Workspace},
};

use super::{
    rig::{self, Local, Wire},
    witness::Witness,
};
use crate::transport::memory::{Cut, Fate, Side};

/// Runs the law over a line and returns what the workspace was asked.
async fn asked(workspace: Arc<dyn Workspace>, cut: &Cut) -> Vec<String> {
    let witness = Witness::new(workspace);
    let remote = rig::join(Arc::new(witness.clone()), &Wire::Memory(cut.clone())).await;
    assert_eq!(law::broken(remote.borrow()).await, Vec::<String>::new(), "{cut:?}");
    witness.seen()
}

/// Breaks the line at every so many messages of each side, both ways, until the run has no such message.
async fn check(workspace: impl Fn() -> Arc<dyn Workspace>, step: usize) {
    let whole = asked(workspace(), &Cut::never()).await;
    for side in [Side::First, Side::Second] {
        for fate in [Fate::Arrives, Fate::Lost] {
            let mut n_cuts = 0;
            for message_idx in (0..).step_by(step) {
                let cut = Cut::at(side, message_idx, fate);
                assert_eq!(asked(workspace(), &cut).await, whole, "{cut:?}");
                if !cut.happened() {
                    break;
                }
                n_cuts += 1;
            }
            assert!(whole.len() / step < n_cuts, "{n_cuts} of {}", whole.len());
        }
    }
}

#[tokio::test]
async fn a_line_that_breaks_at_any_message_loses_and_repeats_nothing() {
    check(rig::fake, 1).await;
}

#[tokio::test]
async fn programs_and_files_go_on_over_a_line_that_breaks() {
    // Each run is over another directory, which is kept until its workspace goes.
    let places = std::cell::RefCell::new(Vec::new());
    let open = || {
        let place = Local::open();
        let workspace = place.owner.borrow();
        places.borrow_mut().push(place);
        workspace
    };
    check(open, 9).await;
}
