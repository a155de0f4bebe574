//! Origins of pages, exactly as browsers write them.

use std::str::FromStr;

/// Where a page comes from: scheme, host, and the port where it is not the usual one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// Why a text is no origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an origin is written as browsers send it, like https://example.org or http://localhost:3000"
)]
pub struct OriginError;

impl Origin {
    /// Returns it as browsers send it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        let (rest, usual) = match text.split_once("://") {
            Some(("http", rest)) => (rest, 80),
            Some(("https", rest)) => (rest, 443),
            _ => return Err(OriginError),
        };
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (rest, None),
        };
        // As browsers write it: no zeros before it, and none where it is the usual one.
        let is_port = |text: &str| {
            let number = text.parse::<u16>();
            number.is_ok_and(|number| number.to_string() == text && number != usual && number != 0)
        };
        let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(inner) => {
                inner.parse::<std::net::Ipv6Addr>().is_ok_and(|ip| ip.to_string() == inner)
            }
            None => {
                let plain = |byte: u8| {
                    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._".contains(&byte)
                };
                !host.is_empty() && host.bytes().all(plain)
            }
        };
        if is_host && port.is_none_or(is_port) {
            Ok(Self(text.to_owned()))
        } else {
            Err(OriginError)
        }
    }
}
