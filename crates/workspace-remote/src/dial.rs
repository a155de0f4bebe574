//! Opens lines to a runtime: the address as people write it, TLS, the handshake.
//!
//! Credentials go into one header and nowhere else: an address that carries any is refused.

mod address;
mod shake;

use std::{sync::Arc, time::Duration};

use rustls::{ClientConfig, pki_types::ServerName};
use stdx::secret::Secret;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use vocab::limits::REMOTE_HANDSHAKE_MS;

pub use self::address::{Address, AddressError};
use crate::{
    client::{ConnectError, Connector},
    door::listen::Line,
    transport::Transport,
};

/// Whom to call, and how.
#[derive(Clone)]
pub struct Dial {
    /// Where.
    pub address: Address,
    /// What lets us in.
    pub token: Option<Secret>,
    /// Whom to trust with `wss:`.
    pub tls: Option<Arc<ClientConfig>>,
}

impl std::fmt::Debug for Dial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dial").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Dial {
    /// Returns what opens a line whenever it is asked to.
    #[must_use]
    pub fn connector(self) -> Connector {
        let dial = Arc::new(self);
        Arc::new(move || {
            let dial = Arc::clone(&dial);
            Box::pin(async move {
                let limit = Duration::from_millis(REMOTE_HANDSHAKE_MS);
                let opened = tokio::time::timeout(limit, dial.open()).await;
                opened.unwrap_or_else(|_| Err(unreachable("it did not answer in time")))
            })
        })
    }

    async fn open(&self) -> Result<Transport, ConnectError> {
        let failed = |error: std::io::Error| unreachable(&error.to_string());
        let (line, host): (Line, String) = match &self.address {
            Address::Unix(path) => {
                (Box::new(UnixStream::connect(path).await.map_err(failed)?), "localhost".to_owned())
            }
            Address::Tcp { host, port, is_tls } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                let line: Line = if *is_tls {
                    let config = self.tls.clone().ok_or_else(|| unreachable("there is no TLS"))?;
                    let name = ServerName::try_from(host.clone());
                    let name = name.map_err(|error| unreachable(&error.to_string()))?;
                    let agreed = TlsConnector::from(config).connect(name, stream).await;
                    Box::new(agreed.map_err(failed)?)
                } else {
                    Box::new(stream)
                };
                (line, self.address.authority())
            }
        };
        shake::hands(line, &host, self.token.as_ref()).await
    }
}

pub(super) fn unreachable(why: &str) -> ConnectError {
    ConnectError::Unreachable(why.to_owned())
}

#[cfg(test)]
mod tests;
