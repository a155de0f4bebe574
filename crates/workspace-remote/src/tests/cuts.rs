//! Lines that break at every message: with resumption nothing is lost or repeated; without it every operation says
//! truly whether the world changed.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::{CallId, RunId},
    limits::REMOTE_WINDOW_BYTES,
    outcome::{Effect, Failure},
};
use workspace::{
    call::{Call, CallContext, Envelope},
    fake::Fake,
    law,
    primitive::{Request, Upload, Wanted},
    source::{OwnedWorkspace, Workspace},
};

use super::{
    rig::{self, Local, Wire},
    witness::Witness,
};
use crate::{
    client::RemoteWorkspace,
    offer::hex,
    transport::memory::{Cut, Fate, Side},
};

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
async fn a_line_that_breaks_again_and_again_loses_and_repeats_nothing() {
    let whole = asked(rig::fake(), &Cut::never()).await;
    for n_messages in [2, 3, 5, 11] {
        for side in [Side::First, Side::Second] {
            // Each line carries something: one that loses all it was given would never get anywhere.
            let cut = Cut::every(side, n_messages, Fate::Arrives);
            assert_eq!(asked(rig::fake(), &cut).await, whole, "{cut:?}");
        }
    }
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

type Asked = BoxFuture<'static, Result<(), Failure>>;

/// Something that can be asked, and whether the world shows that it was done.
struct Operation {
    name: &'static str,
    reads: bool,
    ask: fn(Arc<dyn Workspace>) -> Asked,
    done: fn(&Fake) -> bool,
}

fn at(workspace: &dyn Workspace, path: &str) -> Request {
    let cancel = CancellationToken::new();
    Request { path: path.to_owned(), expected: workspace.id(), cancel }
}

/// More than a window, so that credit has to be given.
const LONG_BYTES: u64 = REMOTE_WINDOW_BYTES + 1_000;

fn long() -> Bytes {
    Bytes::from(vec![b'x'; usize::try_from(LONG_BYTES).unwrap()])
}

fn long_hash() -> String {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| hex(&Sha256::digest(long()))).clone()
}

fn has(fake: &Fake, path: &str) -> bool {
    fake.stat(at(fake, path)).now_or_never().unwrap().is_ok()
}

fn called(workspace: Arc<dyn Workspace>, tool: &str) -> Asked {
    let catalog = workspace.catalog();
    let spec = catalog.find(tool).unwrap();
    let call = Call {
        id: CallId("1".into()),
        run: RunId::generate(),
        tool: tool.to_owned(),
        arguments: json!({}),
        expected_generation: catalog.generation,
        schema_hash: spec.schema_hash(),
        timeout_ms: None,
        idempotency_key: None,
        envelope: Envelope::default(),
    };
    let outcome = workspace.call(call, CallContext::detached());
    async move { outcome.await.failure.map_or(Ok(()), Err) }.boxed()
}

const OPERATIONS: &[Operation] = &[
    Operation {
        name: "write",
        reads: false,
        ask: |workspace| {
            let written = workspace.write(at(&*workspace, "new"), Bytes::from_static(b"x"));
            written.map(|written| written.map(drop)).boxed()
        },
        done: |fake| has(fake, "new"),
    },
    Operation {
        name: "long write",
        reads: false,
        ask: |workspace| {
            let written = workspace.write(at(&*workspace, "new"), long());
            written.map(|written| written.map(drop)).boxed()
        },
        done: |fake| has(fake, "new"),
    },
    Operation {
        name: "mkdir",
        reads: false,
        ask: |workspace| workspace.mkdir(at(&*workspace, "new"), false),
        done: |fake| has(fake, "new"),
    },
    Operation {
        name: "upload",
        reads: false,
        ask: |workspace| {
            let promise = Upload::of_file(LONG_BYTES, long_hash(), false);
            let bytes = stream::iter([Ok(long())]).boxed();
            let sent = workspace.upload(at(&*workspace, "new"), promise, bytes);
            sent.map(|written| written.map(drop)).boxed()
        },
        done: |fake| has(fake, "new"),
    },
    Operation {
        name: "call that writes",
        reads: false,
        ask: |workspace| called(workspace, "change"),
        done: |fake| !fake.calls().is_empty(),
    },
    Operation {
        name: "call that reads",
        reads: true,
        ask: |workspace| called(workspace, "look"),
        done: |_| false,
    },
    Operation {
        name: "read",
        reads: true,
        ask: |workspace| {
            workspace.read(at(&*workspace, "old"), 8 << 20).map(|read| read.map(drop)).boxed()
        },
        done: |_| false,
    },
    Operation {
        name: "download",
        reads: true,
        ask: |workspace| {
            let opened = workspace.download(at(&*workspace, "old"), Wanted::file());
            async move {
                let pieces: Vec<_> = opened.await?.bytes.collect().await;
                pieces.into_iter().collect::<Result<Vec<Bytes>, _>>().map(drop)
            }
            .boxed()
        },
        done: |_| false,
    },
];

/// Asks for something over a line that breaks and is not taken up again; false when it did not break.
async fn cut_off(operation: &Operation, cut: &Cut) -> bool {
    let fake = Fake::default();
    fake.put("old", long());
    let server = rig::server(Arc::new(fake.clone()));
    let options = rig::without_resume(rig::options(&fake));
    let connector = rig::connector(&server, &Wire::Memory(cut.clone()));
    let remote = rig::connect(&connector, &options).await;
    let workspace: RemoteWorkspace = remote.workspace();
    let answer = (operation.ask)(Arc::new(workspace.clone())).await;
    // The next request finds a new line.
    if cut.happened() {
        let there = workspace.stat(at(&workspace, "old")).await;
        assert_eq!(there.map(|stat| stat.size), Ok(LONG_BYTES));
    }
    server.drain().await;
    let name = operation.name;
    let status = server.status();
    assert_eq!((status.connections, status.calls, status.uploads, status.downloads), (0, 0, 0, 0));
    assert_eq!(status.gathered, 0, "{name} {cut:?}");
    let done = (operation.done)(&fake);
    match answer.map_err(|failure| failure.effect) {
        Ok(()) => assert!(done || operation.reads, "{name} {cut:?}"),
        Err(Effect::NotStarted) => assert!(!done, "{name} {cut:?}"),
        Err(Effect::Completed) => assert!(done, "{name} {cut:?}"),
        Err(Effect::Indeterminate) => assert!(!operation.reads, "{name} {cut:?}"),
    }
    cut.happened()
}

#[tokio::test]
async fn without_resumption_every_operation_says_truly_whether_the_world_changed() {
    let sides = [Side::First, Side::Second];
    let ways = sides.iter().flat_map(|&side| [(side, Fate::Arrives), (side, Fate::Lost)]);
    for (operation, (side, fate)) in
        OPERATIONS.iter().flat_map(|operation| ways.clone().map(move |way| (operation, way)))
    {
        let mut message_idx = 0;
        while cut_off(operation, &Cut::at(side, message_idx, fate)).await {
            message_idx += 1;
        }
        assert!(1 < message_idx, "{}", operation.name);
    }
}
