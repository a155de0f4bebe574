//! Which pages of which origins may call: exact origins, and a path below which their pages live.
//!
//! What such a page may do is not decided here.

use hyper::Uri;

/// Why a text does not name an allowed page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an origin: expected http(s)://host[:port], with a path or without")]
pub struct BadPage {
    /// What was given.
    pub text: String,
}

/// An origin, and the path its pages live below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedPage {
    origin: String,
    root: String,
}

impl AllowedPage {
    /// Reads `https://site.example/desktop`; without a path the whole site is meant.
    ///
    /// # Errors
    /// When it is no absolute `http` or `https` URL without query and user.
    pub fn parse(text: &str) -> Result<Self, BadPage> {
        let bad = || BadPage { text: text.to_owned() };
        if text.contains(['?', '#', '@', '*']) {
            return Err(bad());
        }
        let (origin, path) = split(text).ok_or_else(bad)?;
        Ok(Self { origin, root: path.trim_end_matches('/').to_owned() })
    }

    /// Returns the origin, as browsers write it.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Tells whether every page of the origin may call.
    #[must_use]
    pub fn is_whole_site(&self) -> bool {
        self.root.is_empty()
    }

    /// Tells whether the page a referer names lies here. The path is compared after its dots are
    /// resolved, and a root ends at a slash: `/desktopX` is not below `/desktop`.
    #[must_use]
    pub fn covers(&self, referer: &str) -> bool {
        split(referer).is_some_and(|(origin, path)| {
            origin == self.origin
                && path
                    .strip_prefix(self.root.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// Splits a URL into its origin, in lower case and without the scheme's own port, and its path with
/// all dots resolved.
fn split(text: &str) -> Option<(String, String)> {
    let uri: Uri = text.parse().ok()?;
    let scheme = uri.scheme_str()?;
    let authority = uri.authority()?;
    if authority.as_str().contains('@') {
        return None;
    }
    let usual = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let host = authority.host().to_ascii_lowercase();
    let port = authority.port_u16().filter(|port| *port != usual);
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let mut kept: Vec<&str> = Vec::new();
    for segment in uri.path().split('/').skip(1) {
        match segment.replace("%2e", ".").replace("%2E", ".").as_str() {
            "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    Some((format!("{scheme}://{host}{port}"), format!("/{}", kept.join("/"))))
}
