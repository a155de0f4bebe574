//! The HTTP clients of the process: made on first use, kept for their connections.
//!
//! One for loopback without TLS, which needs no certificates and passes no proxy, one for everything
//! else. No dialect is known here.

use std::{sync::OnceLock, time::Duration};

use reqwest::{Certificate, Client, ClientBuilder, Url, redirect::Policy};
use vocab::limits::PROVIDER_CONNECT_SECONDS_MAX;

static LOOPBACK: OnceLock<Result<Client, String>> = OnceLock::new();
static OPEN: OnceLock<Result<Client, String>> = OnceLock::new();

/// Returns the client for an address.
pub(crate) fn for_url(url: &Url) -> Result<&'static Client, &'static str> {
    let client = if url.scheme() == "http" && is_loopback(url) {
        LOOPBACK.get_or_init(|| {
            let builder = builder().no_proxy().tls_certs_only([]);
            builder.build().map_err(|error| error.to_string())
        })
    } else {
        OPEN.get_or_init(open)
    };
    client.as_ref().map_err(String::as_str)
}

/// Tells whether an address is this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

fn open() -> Result<Client, String> {
    // A machine without certificates of its own still reaches the vendors.
    builder().build().or_else(|_| {
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS
            .iter()
            .filter_map(|der| Certificate::from_der(der).ok());
        builder().tls_certs_only(roots).build().map_err(|error| error.to_string())
    })
}

fn builder() -> ClientBuilder {
    // Another part of the process may have chosen it already; then it is the same one.
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::builder()
        .redirect(Policy::none())
        .tcp_nodelay(true)
        .connect_timeout(Duration::from_secs(PROVIDER_CONNECT_SECONDS_MAX))
        .user_agent(concat!("stead/", env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests;
