//! The law over real sockets: WebSocket over TCP, over TLS and over a Unix socket, and what breaks on the way.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustls::ServerConfig;
use stdx::secret::Secret;
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream, UnixListener},
    sync::watch,
};
use tokio_util::sync::{CancellationToken, DropGuard};
use workspace::{
    law,
    primitive::Request,
    source::{OwnedWorkspace, Workspace},
};

use super::rig::{self, Local};
use crate::{
    client::{ConnectError, RemoteWorkspace},
    dial::{Address, Dial},
    door::{
        Door, Token,
        listen::{self, Listener},
    },
    server::Server,
    tls,
};

pub(super) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// An authority, and what it has signed for a name.
pub(crate) struct Trust {
    pub(super) authority: String,
    pub(crate) server: Arc<ServerConfig>,
}

impl Trust {
    pub(crate) fn of(name: &str) -> Self {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority_key = rcgen::KeyPair::generate().unwrap();
        let authority = params.self_signed(&authority_key).unwrap();
        let issuer = rcgen::Issuer::new(params, authority_key);
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let server = tls::server(certificate.pem().as_bytes(), key.serialize_pem().as_bytes());
        Self { authority: authority.pem(), server: server.unwrap() }
    }
}

/// A runtime behind a door on this machine, until it is dropped.
pub(super) struct Open {
    pub(super) address: SocketAddr,
    _closing: DropGuard,
}

pub(super) async fn tcp(server: &Server, tls: Option<Arc<ServerConfig>>) -> Open {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tls = tls.map(|config| watch::Sender::new(config).subscribe());
    let _closing = open(server, Listener::Tcp(listener, tls));
    Open { address, _closing }
}

fn open(server: &Server, listener: Listener) -> DropGuard {
    let closing = CancellationToken::new();
    let token = Token::new(&Secret::new(TOKEN.into())).unwrap();
    let door = Door::new(Some(token), Vec::new());
    tokio::spawn(listen::serve(listener, door, server.clone(), closing.clone()));
    closing.drop_guard()
}

pub(super) fn dial(address: &str) -> Dial {
    let address: Address = address.parse().unwrap();
    Dial { address, token: Some(Secret::new(TOKEN.into())), tls: None }
}

pub(super) fn at(workspace: &dyn Workspace, path: &str) -> Request {
    let cancel = CancellationToken::new();
    Request { path: path.to_owned(), expected: workspace.id(), cancel }
}

async fn check(server: &Server, dial: Dial, local: &Local) {
    let options = rig::options(&*local.owner.borrow());
    let remote = RemoteWorkspace::connect(dial.connector(), options).await.unwrap();
    assert_eq!(law::broken(remote.borrow()).await, Vec::<String>::new());
    Box::new(remote).close().await;
    server.drain().await;
}

#[tokio::test]
async fn a_remote_workspace_over_websocket_answers_like_the_one_served() {
    let local = Local::open();
    let server = rig::server(local.owner.borrow());
    let open = tcp(&server, None).await;
    check(&server, dial(&format!("ws://{}", open.address)), &local).await;
}

#[tokio::test]
async fn a_remote_workspace_over_tls_answers_like_the_one_served() {
    let (local, trust) = (Local::open(), Trust::of("localhost"));
    let server = rig::server(local.owner.borrow());
    let open = tcp(&server, Some(trust.server)).await;
    let mut dial = dial(&format!("wss://localhost:{}", open.address.port()));
    dial.tls = Some(tls::client(Some(trust.authority.as_bytes())).unwrap());
    check(&server, dial, &local).await;
}

#[tokio::test]
async fn a_remote_workspace_over_a_unix_socket_answers_like_the_one_served() {
    let (local, dir) = (Local::open(), tempfile::tempdir().unwrap());
    let server = rig::server(local.owner.borrow());
    let path = dir.path().join("s");
    let _closing = open(&server, Listener::Unix(UnixListener::bind(&path).unwrap()));
    check(&server, dial(&format!("unix:{}", path.display())), &local).await;
}

#[tokio::test]
async fn tls_is_agreed_on_with_whom_is_trusted_and_nobody_else() {
    let trust = Trust::of("localhost");
    let server = rig::server(rig::fake());
    let open = tcp(&server, Some(trust.server)).await;
    let check = async |address: String, authority: Option<&str>, expected: &str| {
        let mut dial = dial(&address);
        dial.tls = Some(tls::client(authority.map(str::as_bytes)).unwrap());
        let options = rig::options(&*rig::fake());
        let error = RemoteWorkspace::connect(dial.connector(), options).await.unwrap_err();
        assert!(matches!(error, ConnectError::Unreachable(_)), "{address}: {error}");
        assert!(error.to_string().contains(expected), "{address}: {error}");
    };
    let port = open.address.port();
    check(format!("wss://localhost:{port}"), None, "UnknownIssuer").await;
    let other = Trust::of("localhost").authority;
    check(format!("wss://localhost:{port}"), Some(&other), "BadSignature").await;
    check(format!("wss://127.0.0.1:{port}"), Some(&trust.authority), "not valid for name").await;
    // In the clear on the port of TLS: nobody answers.
    check(format!("ws://localhost:{port}"), None, "").await;
    let garbage = [tls::client(Some(b"none")).unwrap_err(), tls::server(b"", b"").unwrap_err()];
    assert!(garbage.iter().all(|error| error.code() == "tls_certificate_invalid"));
}

/// Passes bytes on, and cuts every line after so many of them.
async fn cutting(to: SocketAddr, n_bytes: u64, n_cuts: Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let n_cuts = Arc::clone(&n_cuts);
            tokio::spawn(async move {
                let server = TcpStream::connect(to).await.unwrap();
                if pass(client, server, n_bytes).await == n_bytes {
                    n_cuts.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    address
}

/// Passes bytes in both directions until one side ends or so many came from the server. Returns how many came.
async fn pass(mut client: TcpStream, mut server: TcpStream, n_bytes: u64) -> u64 {
    let (mut from_client, mut to_client) = client.split();
    let (from_server, mut to_server) = server.split();
    let mut from_server = from_server.take(n_bytes);
    tokio::select! {
        passed = tokio::io::copy(&mut from_server, &mut to_client) => passed.unwrap_or(0),
        _ = tokio::io::copy(&mut from_client, &mut to_server) => 0,
    }
}

#[tokio::test]
async fn a_socket_that_is_cut_again_and_again_is_taken_up_again() {
    let local = Local::open();
    let server = rig::server(local.owner.borrow());
    let open = tcp(&server, None).await;
    let n_cuts = Arc::new(AtomicUsize::new(0));
    let relay = cutting(open.address, 14_000, Arc::clone(&n_cuts)).await;
    let dial = dial(&format!("ws://{relay}"));
    let options = rig::options(&*local.owner.borrow());
    let remote = RemoteWorkspace::connect(dial.connector(), options).await.unwrap();
    assert_eq!(law::broken(remote.borrow()).await, Vec::<String>::new());
    let workspace = remote.borrow();
    for round in 0..400 {
        let at = Request {
            path: format!("{round}"),
            expected: workspace.id(),
            cancel: CancellationToken::new(),
        };
        workspace.write(at.clone(), "x".repeat(round).into()).await.unwrap();
        assert_eq!(workspace.read(at, 1_000).await.unwrap().len(), round);
    }
    Box::new(remote).close().await;
    server.drain().await;
    let n_cuts = n_cuts.load(Ordering::Relaxed);
    assert!(n_cuts > 3, "the line was cut {n_cuts} times");
}
