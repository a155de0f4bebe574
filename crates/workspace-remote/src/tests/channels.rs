//! Several workspaces behind one server: who names one sees that one alone.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures_util::{StreamExt, future::BoxFuture, stream};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{REMOTE_CHANNEL_BYTES_MAX, REMOTE_CHANNELS_MAX},
    outcome::Failure,
};
use workspace::{
    fake::Fake,
    primitive::{Request, Shape, Upload, Wanted},
    source::{OwnedWorkspace, ToolSource as _, Workspace},
};

use super::rig;
use crate::{
    client::{ClientOptions, ConnectError, Connector, RemoteOwner, RemoteWorkspace},
    door::Admitted,
    server::{
        Serve, ServerOptions,
        shared::{Channels, SharedServer},
    },
    transport::memory::{self, Cut, Fate, Side},
};

/// Workspaces in memory, each made when it is asked for, and those that are closed.
#[derive(Clone, Default)]
struct Source {
    made: Arc<Mutex<HashMap<String, Fake>>>,
    closed: Arc<Mutex<Vec<String>>>,
}

struct Owner {
    name: String,
    fake: Fake,
    closed: Arc<Mutex<Vec<String>>>,
}

impl OwnedWorkspace for Owner {
    fn borrow(&self) -> Arc<dyn Workspace> {
        Arc::new(self.fake.clone())
    }

    fn is_busy(&self) -> bool {
        false
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        self.closed.lock().unwrap().push(self.name.clone());
        Box::pin(std::future::ready(()))
    }
}

impl Channels for Source {
    fn open(
        &self,
        channel: &str,
        generation: u64,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>> {
        let name = channel.to_owned();
        if name == "none" {
            let failure = Failure::not_started("not_found", "there is none");
            return Box::pin(std::future::ready(Err(failure)));
        }
        let mut made = self.made.lock().unwrap();
        let fake = made.entry(name.clone()).or_insert_with(|| Fake::new(&name)).clone();
        if generation > 1 {
            let tools = fake.catalog().tools().to_vec();
            fake.publish(tools);
        }
        let closed = Arc::clone(&self.closed);
        Box::pin(std::future::ready(Ok(Box::new(Owner { name, fake, closed }) as Box<_>)))
    }
}

fn connector(server: &impl Serve, cut: &Cut) -> Connector {
    let (server, cut) = (server.clone(), cut.clone());
    Arc::new(move || {
        let (client, served) = memory::breaking_pair(&cut);
        let server = server.clone();
        tokio::spawn(async move { server.serve_admitted(Admitted::from(served)).await });
        Box::pin(std::future::ready(Ok(client)))
    })
}

fn options(channel: Option<&str>) -> ClientOptions {
    let mut options = rig::options(&Fake::default());
    options.channel = channel.map(str::to_owned);
    options
}

async fn join(server: &SharedServer, channel: &str) -> RemoteOwner {
    let connector = connector(server, &Cut::never());
    RemoteWorkspace::connect(connector, options(Some(channel))).await.unwrap()
}

fn at(workspace: &dyn Workspace, path: &str) -> Request {
    let cancel = CancellationToken::new();
    Request { path: path.to_owned(), expected: workspace.id(), cancel }
}

fn shared(source: &Source) -> SharedServer {
    SharedServer::new(Arc::new(source.clone()), ServerOptions::new("test", "1"))
}

#[tokio::test]
async fn channels_do_not_see_each_other() {
    let source = Source::default();
    let server = shared(&source);
    let (one, two, again) =
        (join(&server, "one").await, join(&server, "two").await, join(&server, "one").await);
    let (one, two, again) = (one.borrow(), two.borrow(), again.borrow());
    assert_eq!((one.id().0.as_str(), two.id().0.as_str()), ("one", "two"));
    one.write(at(&*one, "a"), Bytes::from_static(b"of one")).await.unwrap();
    assert_eq!(again.read(at(&*again, "a"), 10).await, Ok(Bytes::from_static(b"of one")));
    assert_eq!(two.read(at(&*two, "a"), 10).await.unwrap_err().code, "not_found");
    // What was meant for one is refused by the other.
    assert_eq!(two.read(at(&*one, "a"), 10).await.unwrap_err().code, "wrong_workspace");
    // Transfers are not offered.
    let promise = Upload::of_file(1, "0".repeat(64), false);
    let bytes = stream::iter([Ok(Bytes::from_static(b"x"))]).boxed();
    let refused = one.upload(at(&*one, "u"), promise, bytes).await.unwrap_err();
    assert_eq!(refused.code, "method_not_supported");
    let refused = one.download(at(&*one, "a"), Wanted::file()).await.unwrap_err();
    assert_eq!(refused.code, "method_not_supported");
    let refused = one.held(at(&*one, "a"), Shape::File).await.unwrap_err();
    assert_eq!(refused.code, "method_not_supported");
}

#[tokio::test]
async fn a_channel_is_named_plainly_and_asked_for() {
    let server = shared(&Source::default());
    let check = async |options: ClientOptions, expected: &str| {
        let connected = RemoteWorkspace::connect(connector(&server, &Cut::never()), options).await;
        match connected {
            Ok(_) => assert_eq!(expected, "welcome"),
            Err(ConnectError::Refused { code, .. }) => assert_eq!(code, expected),
            Err(error) => panic!("{expected}: {error}"),
        }
    };
    check(options(Some("one")), "welcome").await;
    check(options(Some(&"x".repeat(REMOTE_CHANNEL_BYTES_MAX))), "welcome").await;
    check(options(None), "channel_required").await;
    check(options(Some("none")), "channel_not_found").await;
    let long = "x".repeat(REMOTE_CHANNEL_BYTES_MAX + 1);
    for name in ["", ".", "..", ".git", "a/b", "/a", "a\\b", "a\0b", "ä", "a b", &long] {
        check(options(Some(name)), "channel_invalid").await;
    }
    // A runtime of one workspace has none.
    let single = rig::server(rig::fake());
    let connected =
        RemoteWorkspace::connect(connector(&single, &Cut::never()), options(Some("one"))).await;
    let Err(ConnectError::Refused { code, .. }) = connected else { panic!("it was let in") };
    assert_eq!(code, "capability_not_supported");
}

#[tokio::test]
async fn a_channel_is_taken_up_again_where_it_was() {
    let source = Source::default();
    let server = shared(&source);
    let _other = join(&server, "two").await;
    let cut = Cut::every(Side::Second, 7, Fate::Lost);
    let remote = rig::connect(&connector(&server, &cut), &options(Some("one"))).await;
    let workspace = remote.borrow();
    for round in 0..40 {
        let path = format!("{round}");
        workspace.write(at(&*workspace, &path), Bytes::from(path.clone())).await.unwrap();
    }
    assert_eq!(workspace.readdir(at(&*workspace, ".")).await.unwrap().len(), 40);
    Box::new(remote).close().await;
}

#[tokio::test]
async fn channels_are_bounded_and_idle_ones_make_room() {
    let source = Source::default();
    let server = shared(&source);
    let mut all = Vec::new();
    for idx in 0..REMOTE_CHANNELS_MAX {
        all.push(join(&server, &format!("{idx}")).await);
    }
    let connector = connector(&server, &Cut::never());
    let connect = || RemoteWorkspace::connect(Arc::clone(&connector), options(Some("more")));
    let Err(ConnectError::Refused { code, .. }) = connect().await else { panic!("it was let in") };
    assert_eq!(code, "busy");
    Box::new(all.remove(3)).close().await;
    while server.status().connections == REMOTE_CHANNELS_MAX as u64 {
        tokio::task::yield_now().await;
    }
    while connect().await.is_err() {
        tokio::task::yield_now().await;
    }
    while source.closed.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(*source.closed.lock().unwrap(), ["3"]);
}

#[tokio::test]
async fn all_channels_are_reloaded_and_drained() {
    let source = Source::default();
    let server = shared(&source);
    let (one, two) = (join(&server, "one").await, join(&server, "two").await);
    assert_eq!(server.reload().await, Ok(2));
    for remote in [&one, &two] {
        let workspace = remote.borrow();
        while workspace.catalog().generation < 2 {
            // The next answer comes after what was published.
            workspace.stat(at(&*workspace, ".")).await.unwrap();
        }
    }
    server.drain().await;
    server.close().await;
    let mut closed = source.closed.lock().unwrap().clone();
    closed.sort();
    // Once for the generation before, and once for good.
    assert_eq!(closed, ["one", "one", "two", "two"]);
    assert_eq!(server.status().connections, 0);
    let refused = RemoteWorkspace::connect(connector(&server, &Cut::never()), options(Some("one")));
    assert!(matches!(refused.await, Err(ConnectError::Refused { code, .. }) if code == "draining"));
}
