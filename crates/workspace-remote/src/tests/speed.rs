//! How fast a remote workspace is over the loopback device. Prints figures and asserts none; run with
//! `cargo test --release -p workspace-remote speed -- --ignored --nocapture`.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use workspace::{
    primitive::{ExecRequest, Request, Upload, Wanted},
    source::{OwnedWorkspace, Workspace},
};

use super::{
    rig::{self, Local},
    sockets,
};
use crate::{
    client::{Connector, RemoteWorkspace},
    offer::hex,
    transport,
};

const N_CALLS: usize = 5_000;
const FILE_BYTES: usize = 200 << 20;

fn at(workspace: &dyn Workspace, path: &str) -> Request {
    let cancel = CancellationToken::new();
    Request { path: path.to_owned(), expected: workspace.id(), cancel }
}

/// Opens lines over the loopback device.
fn over_loopback(server: crate::server::Server) -> Connector {
    Arc::new(move || {
        let server = server.clone();
        Box::pin(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let client = tokio::net::TcpStream::connect(listener.local_addr().unwrap());
            let (client, served) = tokio::join!(client, listener.accept());
            let end = |stream: tokio::net::TcpStream| {
                stream.set_nodelay(true).unwrap();
                stream.into_split()
            };
            let (reader, writer) = end(client.unwrap());
            let client = transport::stream::transport(reader, writer);
            let (reader, writer) = end(served.unwrap().0);
            let served = crate::door::Admitted::pipes(reader, writer);
            tokio::spawn(async move { server.serve(served).await });
            Ok(client)
        })
    })
}

fn rate(what: &str, n_bytes: usize, took: Duration) {
    let mb = f64::from(u32::try_from(n_bytes >> 10).unwrap()) / 1_000.0 * 1.024;
    println!("{what}: {:.0} MB/s ({took:?})", mb / took.as_secs_f64());
}

async fn small(what: &str, workspace: &dyn Workspace) {
    let mut took = Vec::with_capacity(N_CALLS);
    for _ in 0..N_CALLS {
        let start = Instant::now();
        workspace.read(at(workspace, "small"), 1_000).await.unwrap();
        took.push(start.elapsed());
    }
    took.sort_unstable();
    println!("{what}: read p50 {:?} p99 {:?}", took[N_CALLS / 2], took[N_CALLS * 99 / 100]);
}

async fn transfers(what: &str, workspace: &dyn Workspace, content: &Bytes) {
    let start = Instant::now();
    let sha256 = hex(&Sha256::digest(content));
    rate("hash alone", FILE_BYTES, start.elapsed());
    let start = Instant::now();
    let mut rest = content.clone();
    let pieces = std::iter::from_fn(move || {
        (!rest.is_empty()).then(|| Ok(rest.split_to(rest.len().min(256 << 10))))
    });
    let promise = Upload::of_file(FILE_BYTES as u64, sha256, true);
    workspace.upload(at(workspace, "big"), promise, stream::iter(pieces).boxed()).await.unwrap();
    rate(&format!("{what} upload"), FILE_BYTES, start.elapsed());
    let start = Instant::now();
    let mut download = workspace.download(at(workspace, "big"), Wanted::file()).await.unwrap();
    println!("{what} download begins after {:?}", start.elapsed());
    let mut n_come = 0;
    while let Some(piece) = download.bytes.next().await {
        n_come += piece.unwrap().len();
    }
    assert_eq!(n_come, FILE_BYTES);
    rate(&format!("{what} download"), FILE_BYTES, start.elapsed());
    let start = Instant::now();
    workspace.write(at(workspace, "w"), content.slice(..50 << 20)).await.unwrap();
    rate(&format!("{what} write"), 50 << 20, start.elapsed());
    let start = Instant::now();
    workspace.read(at(workspace, "w"), 60 << 20).await.unwrap();
    rate(&format!("{what} read"), 50 << 20, start.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints figures of a release build"]
async fn speed_over_loopback() {
    let place = Local::open();
    let local = place.owner.borrow();
    local.write(at(&*local, "small"), Bytes::from_static(b"some text")).await.unwrap();
    let connector = over_loopback(rig::server(Arc::clone(&local)));
    let remote = RemoteWorkspace::connect(connector, rig::options(&*local)).await.unwrap();
    let remote: Arc<dyn Workspace> = remote.borrow();
    let server = rig::server(Arc::clone(&local));
    let open = sockets::tcp(&server, None).await;
    let dial = sockets::dial(&format!("ws://{}", open.address));
    let framed = RemoteWorkspace::connect(dial.connector(), rig::options(&*local)).await.unwrap();
    let framed: Arc<dyn Workspace> = framed.borrow();
    let content = Bytes::from((0..=250_u8).cycle().take(FILE_BYTES).collect::<Vec<_>>());
    for (what, workspace) in [("local", &local), ("remote", &remote), ("websocket", &framed)] {
        small(what, &**workspace).await;
        transfers(what, &**workspace, &content).await;
        let exec = workspace.exec().unwrap();
        let mut took = Vec::new();
        for _ in 0..100 {
            let start = Instant::now();
            let what = ExecRequest { command: "/bin/true".into(), timeout_ms: 10_000 };
            exec.exec(at(&**workspace, "."), what).await.unwrap();
            took.push(start.elapsed());
        }
        took.sort_unstable();
        println!("{what}: exec p50 {:?} p95 {:?}", took[50], took[95]);
        let start = Instant::now();
        let line = ExecRequest {
            command: "head -c 100000000 /dev/zero | tr '\\0' x".into(),
            timeout_ms: 60_000,
        };
        exec.exec(at(&**workspace, "."), line).await.unwrap();
        rate(&format!("{what} output"), 100_000_000, start.elapsed());
    }
}
