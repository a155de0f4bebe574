//! Copies over lines that break and cannot be taken up: each attempt goes on where the one before was.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;
use vocab::limits::{COPY_ATTEMPTS_MAX, COPY_PAUSE_MS};
use workspace::{
    copy::{self, Copied, End, Open, Opened, Options, Progress},
    source::OwnedWorkspace as _,
};

use super::{
    rig::{self, Local},
    sockets,
};
use crate::client::RemoteWorkspace;

/// Passes bytes on, and cuts every line after so many of them in one direction.
async fn cutting(to: SocketAddr, n_up: u64, n_down: u64) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let n_lines = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&n_lines);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            let mut server = TcpStream::connect(to).await.unwrap();
            tokio::spawn(async move {
                let (from_client, mut to_client) = client.split();
                let (from_server, mut to_server) = server.split();
                let (mut up, mut down) = (from_client.take(n_up), from_server.take(n_down));
                tokio::select! {
                    _ = tokio::io::copy(&mut up, &mut to_server) => {}
                    _ = tokio::io::copy(&mut down, &mut to_client) => {}
                }
            });
        }
    });
    (address, n_lines)
}

async fn copied(from: &End, to: &End) -> (Copied, Vec<Progress>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = {
        let told = Arc::clone(&told);
        Arc::new(move |one| told.lock().unwrap().push(one))
    };
    let options = Options { recursive: true, overwrite: false };
    let cancel = CancellationToken::new();
    let done = copy::copy((from, to), options, &cancel, tell).await;
    let told = told.lock().unwrap().clone();
    let done = done.unwrap_or_else(|failure| panic!("{failure:?}: {told:?}"));
    (done, told)
}

fn near(local: &Local) -> Open {
    let workspace = local.owner.borrow();
    Arc::new(move || {
        let workspace = Arc::clone(&workspace);
        Box::pin(async move { Ok(Opened { workspace, keep: Box::new(()) }) })
    })
}

/// Calls for each attempt anew, and takes no lost line up.
fn far(relay: SocketAddr, there: &Local) -> Open {
    let options = rig::without_resume(rig::options(&*there.owner.borrow()));
    Arc::new(move || {
        let dial = sockets::dial(&format!("ws://{relay}"));
        let options = options.clone();
        Box::pin(async move {
            let remote = RemoteWorkspace::connect(dial.connector(), options).await.unwrap();
            Ok(Opened { workspace: remote.borrow(), keep: Box::new(remote) })
        })
    })
}

#[tokio::test]
async fn a_copy_goes_on_where_it_broke_off() {
    const LEN: usize = 1_500_000;
    const CUT: u64 = 700_000;
    for (what, n_up, n_down) in [("there", CUT, u64::MAX), ("here", u64::MAX, CUT)] {
        let (here, there) = (Local::open(), Local::open());
        let server = rig::server(there.owner.borrow());
        let open = sockets::tcp(&server, None).await;
        let (relay, n_lines) = cutting(open.address, n_up, n_down).await;
        let near = near(&here);
        let far = far(relay, &there);
        let (source, target, behind) = if what == "there" {
            (near, far, there.owner.borrow())
        } else {
            (far, near, here.owner.borrow())
        };
        let origin = if what == "there" { here.owner.borrow() } else { there.owner.borrow() };
        let content: Vec<u8> = (0..LEN).map(|n| n.to_le_bytes()[1]).collect();
        for path in ["file", "tree/a"] {
            if path.starts_with("tree") {
                origin.mkdir(sockets::at(&*origin, "tree"), false).await.unwrap();
            }
            origin.write(sockets::at(&*origin, path), content.clone().into()).await.unwrap();
        }
        for path in ["file", "tree"] {
            let n_before = n_lines.load(Ordering::Relaxed);
            let from = End { open: Arc::clone(&source), path: path.into() };
            let to = End { open: Arc::clone(&target), path: "copy".into() };
            let began = tokio::time::Instant::now();
            let (done, told) = copied(&from, &to).await;
            assert!(began.elapsed() >= Duration::from_millis(COPY_PAUSE_MS), "a line has its time");
            assert!(n_lines.load(Ordering::Relaxed) > n_before + 1, "{what} {path}: lines broke");
            assert!(done.resumed_from > 0, "{what} {path}: {done:?}");
            assert!(told.iter().all(|one| one.attempt <= COPY_ATTEMPTS_MAX));
            assert!(
                told.windows(2).any(|two| two[0].attempt < two[1].attempt && two[1].n_bytes > 0)
            );
            assert_eq!(told.last().map(|one| one.n_bytes), Some(done.written.size));
            let inner = if path == "tree" { "copy/a" } else { "copy" };
            let read = behind.read(sockets::at(&*behind, inner), 2 * LEN as u64).await.unwrap();
            assert!(read == content, "{what} {path}: the same bytes");
            let gone = if path == "tree" { "copy-tree" } else { "copy-file" };
            there_and_here(&there, &here, gone);
        }
        server.drain().await;
    }
}

/// Moves what was copied out of the way.
fn there_and_here(there: &Local, here: &Local, gone: &str) {
    for local in [there, here] {
        local.rename("copy", gone);
    }
}
