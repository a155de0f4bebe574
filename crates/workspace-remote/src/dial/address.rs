//! Addresses of runtimes: `wss://HOST[:PORT]`, `ws://` on this machine, `unix:/PATH`.

use std::{fmt, net::IpAddr, path::PathBuf, str::FromStr};

use crate::transport::websocket::PATH;

/// Where a runtime is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket of this machine.
    Unix(PathBuf),
    /// A host and a port. Only reading a text makes one, which refuses what must not be called.
    #[non_exhaustive]
    Tcp {
        /// A name, or an address without brackets.
        host: String,
        /// The port.
        port: u16,
        /// Whether TLS is spoken.
        is_tls: bool,
    },
}

/// Why a text is no address. The text is never repeated: it may hold a credential in the wrong place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is written otherwise.
    #[error("an address is wss://HOST[:PORT], ws://HOST[:PORT] or unix:/PATH")]
    Form,
    /// It names somebody, or has a password.
    #[error("an address has no user name or password; the token is given apart")]
    UserInfo,
    /// It has a query or a fragment.
    #[error("an address has no query and no fragment; the token is given apart")]
    Query,
    /// What is said to it would leave this machine in the clear.
    #[error("beyond this machine a workspace is called over TLS: wss://HOST")]
    Exposed,
    /// It has another path.
    #[error("a workspace is served at {PATH} and nowhere else")]
    Path,
}

impl AddressError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(self) -> &'static str {
        "address_invalid"
    }
}

impl Address {
    /// Returns host and port as a header names them.
    pub(super) fn authority(&self) -> String {
        match self {
            Self::Unix(_) => "localhost".to_owned(),
            Self::Tcp { host, port, .. } if host.contains(':') => format!("[{host}]:{port}"),
            Self::Tcp { host, port, .. } => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp { is_tls, .. } => {
                let scheme = if *is_tls { "wss" } else { "ws" };
                write!(f, "{scheme}://{}{PATH}", self.authority())
            }
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            let is_whole = path.starts_with('/') && !path.contains('\0');
            return if is_whole { Ok(Self::Unix(path.into())) } else { Err(AddressError::Form) };
        }
        let (scheme, rest) = text.split_once("://").ok_or(AddressError::Form)?;
        let (is_tls, usual) = match scheme.to_ascii_lowercase().as_str() {
            "wss" => (true, 443),
            "ws" => (false, 80),
            _ => return Err(AddressError::Form),
        };
        if rest.contains(['?', '#']) {
            return Err(AddressError::Query);
        }
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if authority.contains('@') {
            return Err(AddressError::UserInfo);
        }
        if !matches!(path, "" | "/") && path != PATH {
            return Err(AddressError::Path);
        }
        let (host, port) = split(authority).ok_or(AddressError::Form)?;
        let port = match port {
            Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or(AddressError::Form)?,
            None => usual,
        };
        let host = host.to_ascii_lowercase();
        if is_tls || is_here(&host) {
            Ok(Self::Tcp { host, port, is_tls })
        } else {
            Err(AddressError::Exposed)
        }
    }
}

/// Tells whether a host is this machine, whatever its names resolve to.
fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// Splits host and port, and tells whether the host can be one.
fn split(authority: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        let port = if port.is_empty() { None } else { Some(port.strip_prefix(':')?) };
        return Some((host, port));
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (!host.is_empty() && host.bytes().all(plain)).then_some((host, port))
}
