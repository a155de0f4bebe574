//! The perimeter: every check that comes before a body is read, and the one place that mints a
//! [`Caller`].
//!
//! Order: host, origin, referer, credential, announced size. What a caller may do afterwards is not
//! decided here, but by what the row of the route needs and by the use cases that take the `Caller`.
//!
//! Limits of what it can tell. On the Unix socket the kernel names the peer's process, so a process
//! that a run or an agent's job started is known as an agent. On loopback TCP nothing names it: whoever presents the
//! credential without an origin counts as a person. A shell without a sandbox can read the
//! credential's file, and it can scrub its environment and leave its parents; so the kind of a caller
//! guards against mistakes of an agent, not against malice. A sandboxed run reaches neither the
//! credential nor the socket.

use std::sync::Arc;

use base64::Engine as _;
use daemon::{
    caller::{Caller, CallerKind, Carrier},
    jobs::Jobs,
};
use hyper::{
    HeaderMap, Method, Response, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
        AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, ORIGIN, REFERER, VARY,
    },
    http::{request::Parts, uri::Authority},
};
use sha2::{Digest, Sha256};
use stdx::secret::Secret;
use subtle::ConstantTimeEq;
use vocab::limits;

use crate::{body::Body, refuse::Refused};

pub mod page;
pub mod peer;

pub use page::AllowedPage;
pub use peer::{Guest, Peer};

/// The one user name of the Basic scheme.
const USER: &str = "agent";

/// Browsers send it with every request to this machine and pages cannot forge it. `Sec-Fetch-Mode`
/// would not do: Node's `fetch` sends that one too.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The checks, with what they compare against.
#[derive(Debug)]
pub struct Perimeter {
    credential: Hidden,
    pages: Vec<AllowedPage>,
    jobs: Option<Arc<Jobs>>,
}

/// A digest of the credential, so that the comparison's time tells neither bytes nor length.
struct Hidden([u8; 32]);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hidden(…)")
    }
}

impl Perimeter {
    /// Builds the perimeter of one daemon: its credential, and the pages that may call it.
    #[must_use]
    pub fn new(credential: &Secret, pages: Vec<AllowedPage>) -> Self {
        Self { credential: Hidden(digest(credential.expose().as_bytes())), pages, jobs: None }
    }

    /// Lets jobs tell whose their processes are. Without, whatever this daemon has started is an agent.
    #[must_use]
    pub fn with_jobs(mut self, jobs: Arc<Jobs>) -> Self {
        self.jobs = Some(jobs);
        self
    }

    /// Looks at the process that opened a connection, before anything of it is read: a pid may be given
    /// away later.
    pub async fn look(&self, guest: Guest) -> Peer {
        guest.look(self.jobs.as_ref()).await
    }

    /// Lets a process on the socket pass that speaks without headers; none when it is not on the socket.
    #[must_use]
    pub fn admit_process(&self, peer: &Peer) -> Option<Caller> {
        match peer {
            Peer::Socket(kind) => Some(Caller::passed(kind.clone(), Carrier::Socket)),
            Peer::Tcp => None,
        }
    }

    /// Lets a request pass, or says why not.
    ///
    /// # Errors
    /// With the first check that fails.
    pub fn admit(&self, head: &Parts, peer: &Peer) -> Result<Caller, Refused> {
        if matches!(peer, Peer::Tcp) {
            check_host(head)?;
        }
        let page = self.check_page(&head.headers)?;
        if matches!(peer, Peer::Tcp) {
            self.check_credential(&head.headers)?;
        }
        check_size(&head.headers)?;
        let (kind, carrier) = match peer {
            Peer::Tcp => (CallerKind::Person, Carrier::Tcp),
            Peer::Socket(kind) => (kind.clone(), Carrier::Socket),
        };
        // Headers are the caller's own words: they may make a person's program a page, which may do
        // less, and never lift what the kernel knows to be an agent.
        let kind = match (kind, page) {
            (CallerKind::Person, Some(page)) => CallerKind::Page(page.origin().to_owned()),
            (kind @ (CallerKind::Person | CallerKind::Agent(_) | CallerKind::Page(_)), _) => kind,
        };
        Ok(Caller::passed(kind, carrier))
    }

    /// Answers a preflight of an allowed page; none when the request is not a preflight.
    ///
    /// # Errors
    /// When the host or the origin is foreign.
    pub fn preflight(&self, head: &Parts, peer: &Peer) -> Result<Option<Response<Body>>, Refused> {
        let asks = head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if head.method != Method::OPTIONS || !asks || !head.headers.contains_key(ORIGIN) {
            return Ok(None);
        }
        if matches!(peer, Peer::Tcp) {
            check_host(head)?;
        }
        self.origin(&head.headers)?;
        let mut response = crate::refuse::plain(StatusCode::NO_CONTENT, Body::empty());
        let headers = response.headers_mut();
        for (name, value) in [
            (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
            (ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, last-event-id"),
            (ACCESS_CONTROL_MAX_AGE, "600"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Ok(Some(response))
    }

    /// Lets an allowed page read a response, problems included.
    pub fn share(&self, request: &HeaderMap, response: &mut Response<Body>) {
        let Ok(Some(page)) = self.origin(request) else { return };
        let Ok(origin) = HeaderValue::from_str(page.origin()) else { return };
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let ours = "x-stead-session, x-stead-run, x-vercel-ai-ui-message-stream";
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(ours));
        headers.insert(VARY, HeaderValue::from_static("origin"));
    }

    /// Returns the page whose origin a request names; none when it names none.
    fn origin(&self, headers: &HeaderMap) -> Result<Option<&AllowedPage>, Refused> {
        let foreign = || Refused::new("foreign_origin", "this origin may not call the daemon");
        let Some(told) = single(headers, &ORIGIN).map_err(|()| foreign())? else { return Ok(None) };
        self.pages.iter().find(|page| page.origin() == told).map(Some).ok_or_else(foreign)
    }

    /// Checks origin and referer of a browser; other programs send neither and pass.
    fn check_page(&self, headers: &HeaderMap) -> Result<Option<&AllowedPage>, Refused> {
        let foreign = |why: &str| Refused::new("foreign_referer", why);
        let page = self.origin(headers)?;
        if page.is_none() && !headers.contains_key(SEC_FETCH_SITE) {
            return Ok(None);
        }
        let referer =
            single(headers, &REFERER).map_err(|()| foreign("the referer is malformed"))?;
        match (page, referer) {
            // The origin alone vouches for a page whose whole site is allowed: referrer policies hide
            // the path, and often the header, from requests to another origin.
            (Some(page), None) if page.is_whole_site() => Ok(Some(page)),
            (_, None) => Err(foreign("a browser has to say which page asks")),
            (Some(page), Some(referer)) if page.covers(referer) => Ok(Some(page)),
            (None, Some(referer)) => self
                .pages
                .iter()
                .find(|page| page.covers(referer))
                .map(Some)
                .ok_or_else(|| foreign("this page may not call the daemon")),
            (Some(_), Some(_)) => Err(foreign("this page may not call the daemon")),
        }
    }

    /// Checks the credential. A token in the query is not looked at: it would end up in logs,
    /// histories and referers.
    fn check_credential(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let told = single(headers, &AUTHORIZATION).ok().flatten().and_then(presented);
        // Absent and malformed credentials are compared as well, so that they take the same time.
        let told = digest(told.as_deref().unwrap_or_default());
        if bool::from(told.ct_eq(&self.credential.0)) {
            Ok(())
        } else {
            Err(Refused::new("unauthorized", "the credential is missing or wrong"))
        }
    }
}

/// Returns the bytes of the credential that an `Authorization` header carries.
fn presented(value: &str) -> Option<Vec<u8>> {
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.as_bytes().to_vec());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = base64::engine::general_purpose::STANDARD.decode(rest).ok()?;
    let credential = pair.strip_prefix(USER.as_bytes())?.strip_prefix(b":")?;
    Some(credential.to_vec())
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns the one value of a header; an error when it comes twice or is not text.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_not_text| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

/// A name that resolves to us is not enough: a page of a rebound name would reach us with it.
fn check_host(head: &Parts) -> Result<(), Refused> {
    let told = single(&head.headers, &HOST).ok().flatten();
    let host_is_ours =
        told.and_then(|text| text.parse().ok()).is_some_and(|host| is_loopback(&host));
    let target_is_ours = head.uri.authority().is_none_or(is_loopback);
    if host_is_ours && target_is_ours {
        Ok(())
    } else {
        let hint = "use localhost, 127.0.0.1 or [::1] as the host";
        Err(Refused::new("foreign_host", "the request names another host").with_hint(hint))
    }
}

/// Tells whether an authority names this machine, with any port: a forwarded port keeps its own.
fn is_loopback(authority: &Authority) -> bool {
    let host = authority.host();
    !authority.as_str().contains('@')
        && (host.eq_ignore_ascii_case("localhost") || host == "127.0.0.1" || host == "[::1]")
}

fn check_size(headers: &HeaderMap) -> Result<(), Refused> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let Some(announced) = announced else { return Ok(()) };
    match announced.trim().parse::<usize>() {
        Ok(bytes) if bytes <= limits::REQUEST_BODY_BYTES_MAX => Ok(()),
        // A length that does not fit a number is larger than anything we take.
        _ => Err(too_large()),
    }
}

/// Builds the refusal of a body that is too large.
pub(crate) fn too_large() -> Refused {
    let max = limits::REQUEST_BODY_BYTES_MAX;
    Refused::new("body_too_large", format!("the body is larger than {max} bytes"))
}

#[cfg(test)]
mod tests;
