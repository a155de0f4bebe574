//! The perimeter of a runtime: who may shake hands, decided before anything of a connection exists.
//!
//! Refusals say no more than a status. Forwarded headers are not looked at: whoever terminates TLS elsewhere says so
//! where the runtime is started.

mod admitted;
pub mod listen;
mod origin;
mod refusal;
mod token;

use base64::Engine as _;
use hyper::{
    HeaderMap, Method, Response, StatusCode, Version,
    header::{
        AUTHORIZATION, CONNECTION, HOST, HeaderName, HeaderValue, ORIGIN, SEC_WEBSOCKET_ACCEPT,
        SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
    },
    http::request::Parts,
};
use sha1::{Digest as _, Sha1};

pub use self::{
    admitted::Admitted,
    origin::{Origin, OriginError},
    token::{Token, TokenError},
};
use self::{
    admitted::Pass,
    refusal::{Body, Refusal},
};
use crate::transport::websocket::{PATH, SUBPROTOCOL};

/// What RFC 6455 adds to a key before it is hashed.
const KEY_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Who is let in.
#[derive(Debug)]
pub struct Door {
    token: Option<Token>,
    origins: Vec<Origin>,
}

/// The answer to a handshake that was found right, and what it may do then.
#[derive(Debug)]
struct Welcome {
    accept: HeaderValue,
    pass: Pass,
}

impl Door {
    /// Builds a door: with a token whoever presents it comes in, without one everybody who reaches it. Pages of browsers
    /// come in only from the listed origins.
    #[must_use]
    pub fn new(token: Option<Token>, origins: Vec<Origin>) -> Self {
        Self { token, origins }
    }

    /// Lets a handshake in, or says why not, by the first thing that is wrong.
    fn admit(&self, head: &Parts) -> Result<Welcome, Refusal> {
        let headers = &head.headers;
        if head.uri.scheme().is_some() || head.uri.authority().is_some() || head.uri.path() != PATH
        {
            return Err(Refusal::NotFound);
        }
        // Also an empty one: nothing that looks like a place for a token is let in.
        if head.uri.query().is_some() || head.version != Version::HTTP_11 {
            return Err(Refusal::Malformed);
        }
        if head.method != Method::GET {
            return Err(Refusal::Method);
        }
        let host = one(headers, &HOST).ok_or(Refusal::Malformed)?;
        if host.is_empty() || host.contains('@') {
            return Err(Refusal::Malformed);
        }
        self.check_origin(headers)?;
        self.check_token(headers)?;
        check_upgrade(headers)?;
        let key = one(headers, &SEC_WEBSOCKET_KEY).ok_or(Refusal::Malformed)?;
        let decoded = base64::engine::general_purpose::STANDARD.decode(key);
        if decoded.is_ok_and(|bytes| bytes.len() == 16) {
            Ok(Welcome { accept: accept_of(key), pass: Pass::give() })
        } else {
            Err(Refusal::Malformed)
        }
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if !headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let origin = one(headers, &ORIGIN).ok_or(Refusal::Forbidden)?;
        let is_listed = self.origins.iter().any(|known| known.as_str() == origin);
        if is_listed { Ok(()) } else { Err(Refusal::Forbidden) }
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let mut all = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (all.next(), all.next()) else {
            return Err(Refusal::Unauthorized);
        };
        let presented = value.as_bytes().split_at_checked(b"Bearer ".len());
        let presented = presented.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer "));
        let is_right = presented.is_some_and(|(_, presented)| token.is(presented));
        if is_right { Ok(()) } else { Err(Refusal::Unauthorized) }
    }
}

impl Welcome {
    fn response(self) -> (Response<Body>, Pass) {
        let mut response = Response::new(Body::new());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, self.accept);
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
        (response, self.pass)
    }
}

/// Returns what confirms a key.
pub(crate) fn accept_of(key: &str) -> HeaderValue {
    let mut hasher = Sha1::new();
    hasher.update(key.as_bytes());
    hasher.update(KEY_SUFFIX);
    let text = base64::engine::general_purpose::STANDARD.encode(hasher.finalize());
    // Base64 is always a header's value.
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Returns the one value of a header; none when there are several, or it is no text.
pub(crate) fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return None };
    value.to_str().ok()
}

/// Tells whether a header's list has a word, in any case.
pub(crate) fn lists(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| item.trim().eq_ignore_ascii_case(word))
}

fn check_upgrade(headers: &HeaderMap) -> Result<(), Refusal> {
    if !lists(headers, &CONNECTION, "upgrade") || !lists(headers, &UPGRADE, "websocket") {
        return Err(Refusal::Upgrade);
    }
    if one(headers, &SEC_WEBSOCKET_VERSION) != Some("13") {
        return Err(Refusal::Upgrade);
    }
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let mut offered = offered.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
    // Its case counts: it is no word of HTTP.
    if offered.any(|item| item.trim() == SUBPROTOCOL) { Ok(()) } else { Err(Refusal::Malformed) }
}

#[cfg(test)]
mod tests;
