//! A daemon that lives and is registered nowhere: its registration was removed, or its state directory was.
//!
//! Not here: one that is registered, and starting another one.

use std::time::Duration;

use api::{
    client::{Address, Client, Target},
    daemon::{Hello, Registration, Status, Welcome},
    routes::{Endpoint, PROTOCOL},
};
use daemon::{paths::Paths, single};
use vocab::limits::HANDSHAKE_MS_MAX;

/// Returns the pid of a daemon that answers at our socket without being registered in our state. What
/// stays silent there is none.
pub(crate) async fn answering(paths: &Paths) -> Option<u32> {
    bounded(status(&at_socket(paths))).await.map(|status| status.pid)
}

/// Returns what the registration of our state's daemon would say, asked from whoever answers at our socket;
/// none unless that process holds the lock of our state.
pub(super) async fn ours(paths: &Paths) -> Option<Registration> {
    let client = at_socket(paths);
    let asked = async {
        let status = status(&client).await?;
        if !single::is_daemon(paths, status.pid) {
            return None;
        }
        let hello = Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() };
        let asked = client.json::<_, Welcome>(Endpoint::Handshake, Target::default(), Some(&hello));
        let id = asked.await.ok()?.id;
        let Status { pid, version, protocol, url, socket, .. } = status;
        Some(Registration { id, version, url, socket, pid, protocol })
    };
    bounded(asked).await
}

fn at_socket(paths: &Paths) -> Client {
    Client::new(Address::Socket(paths.socket()))
}

async fn status(client: &Client) -> Option<Status> {
    client.json::<(), Status>(Endpoint::DaemonStatus, Target::default(), None).await.ok()
}

/// Waits for an answer as long as for any daemon's.
async fn bounded<T>(asked: impl Future<Output = Option<T>>) -> Option<T> {
    let limit = Duration::from_millis(HANDSHAKE_MS_MAX);
    tokio::time::timeout(limit, asked).await.ok().flatten()
}
