//! Who answers, and what of its words may be told.
//!
//! A vendor may repeat what it was sent. Every text of its that becomes a failure is quoted here, and no
//! quote holds the key, the value of a configured header, or the user and the query of its address. What a
//! failure means is not known here.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::{Url, header::HeaderMap};
use stdx::secret::Secret;
use vocab::limits::{PROVIDER_ERROR_BYTES_MAX, PROVIDER_ERROR_CHARS_MAX};

mod page;

/// What stands in a quote for something that is nobody's business.
const COVER: &str = "[hidden]";

/// Shorter values are no secrets, and covering them would make every sentence unreadable.
const HIDDEN_BYTES_MIN: usize = 4;

/// Who is asked, as failures speak of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Speaker {
    /// Its name.
    pub(crate) provider: String,
    /// The variable that usually holds the key, for hints.
    pub(crate) key_variable: Option<String>,
    /// What no quote may hold, the longest first.
    hidden: Vec<Secret>,
}

impl Speaker {
    /// Returns a speaker that is sent these headers at this address; the values of sensitive ones, and what
    /// the address says besides where it leads, are never quoted.
    pub(crate) fn new(
        provider: &str,
        key_variable: Option<&str>,
        (url, headers): (&Url, &HeaderMap),
    ) -> Self {
        let sensitive = headers.values().filter(|value| value.is_sensitive());
        let sent = sensitive.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let mut hidden: Vec<String> = sent
            .chain(of_address(url))
            .flat_map(|value| forms(&value))
            .filter(|form| HIDDEN_BYTES_MIN <= form.len())
            .collect();
        hidden.sort_by(|a, b| (b.len(), b).cmp(&(a.len(), a)));
        hidden.dedup();
        Self {
            provider: provider.to_owned(),
            key_variable: key_variable.map(str::to_owned),
            hidden: hidden.into_iter().map(Secret::new).collect(),
        }
    }

    /// Returns the start of what it said.
    pub(crate) fn quote(&self, text: &str) -> String {
        self.covered(text).chars().take(PROVIDER_ERROR_CHARS_MAX).collect()
    }

    /// Returns the start of a page without tags, scripts and runs of blanks.
    pub(crate) fn excerpt(&self, page: &str) -> String {
        self.quote(&page::words(&self.covered(page)))
    }

    /// Returns as much of a text as is looked at, without what must not be told.
    fn covered(&self, text: &str) -> String {
        let start = &text[..text.floor_char_boundary(PROVIDER_ERROR_BYTES_MAX)];
        let mut out = start.to_owned();
        for hidden in self.hidden.iter().map(Secret::expose) {
            if out.contains(hidden) {
                out = out.replace(hidden, COVER);
            }
        }
        if start.len() < text.len() {
            // The cut may have gone through a secret.
            let torn = self.hidden.iter().map(|hidden| torn(&out, hidden.expose())).max();
            out.truncate(out.len() - torn.unwrap_or(0));
        }
        out
    }
}

/// Returns how many of the last bytes of a text are the beginning of a secret.
fn torn(text: &str, hidden: &str) -> usize {
    let beginnings = hidden.char_indices().rev().map(|(at, _)| at);
    let mut fitting = beginnings.filter(|at| text.ends_with(&hidden[..*at]));
    fitting.next().unwrap_or(0)
}

/// Returns what of an address may be a secret: its user and the values of its query, as written and as
/// meant. The HTTP client makes a header of the user that stands in no map of ours.
fn of_address(url: &Url) -> Vec<String> {
    let (user, password) = (url.username(), url.password().unwrap_or_default());
    let mut found = Vec::new();
    if !user.is_empty() || !password.is_empty() {
        let meant = [user, password].map(unescaped);
        let pair = meant.join(&b':');
        found.push(format!("Basic {}", BASE64_STANDARD.encode(&pair)));
        found.push(format!("{user}:{password}"));
        found.extend([user, password].map(str::to_owned));
        let meant = meant.iter().chain([&pair]);
        found.extend(meant.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
    }
    for piece in url.query().unwrap_or_default().split('&') {
        // Without a name, the piece itself is the value.
        let value = piece.split_once('=').map_or(piece, |(_, value)| value);
        found.push(value.to_owned());
        for value in [value.to_owned(), value.replace('+', " ")] {
            found.push(String::from_utf8_lossy(&unescaped(&value)).into_owned());
        }
    }
    found
}

/// Returns a part of an address without its percent signs; one that begins no code stands for itself.
fn unescaped(part: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), part.as_bytes());
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.filter(|code| *first == b'%' && !code.starts_with('+'));
        match byte.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

/// Returns a value as a vendor may repeat it: with its scheme and without, each as it is, in JSON and in an
/// address.
fn forms(value: &str) -> Vec<String> {
    let value = value.trim();
    let bare = value.split_once(' ').map(|(_, bare)| bare.trim_start());
    let mut forms = Vec::new();
    for value in [Some(value), bare].into_iter().flatten() {
        let json = serde_json::Value::from(value).to_string();
        let json = json.trim_matches('"');
        forms.extend([value.to_owned(), json.to_owned(), json.replace('/', "\\/")]);
        forms.extend([percent(value, |byte| format!("%{byte:02X}"))]);
        forms.extend([percent(value, |byte| format!("%{byte:02x}"))]);
    }
    forms
}

fn percent(value: &str, escape: impl Fn(u8) -> String) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let escaped = value.bytes().map(|byte| match byte {
        _ if plain(byte) => char::from(byte).to_string(),
        _ => escape(byte),
    });
    escaped.collect()
}

#[cfg(test)]
mod tests;
