//! Who answers, and what of its words may be told.
//!
//! A vendor may repeat what it was sent. Every text of its that becomes a failure is quoted here, and no
//! quote holds the key or the value of a configured header. What a failure means is not known here.

use reqwest::header::HeaderMap;
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
    /// Returns a speaker that is sent these headers; the values of sensitive ones are never quoted.
    pub(crate) fn new(provider: &str, key_variable: Option<&str>, headers: &HeaderMap) -> Self {
        let secrets = headers.values().filter(|value| value.is_sensitive());
        let mut hidden: Vec<String> = secrets
            .flat_map(|value| forms(&String::from_utf8_lossy(value.as_bytes())))
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

/// Returns a header's value as a vendor may repeat it: with its scheme and without, each as it is, in
/// JSON and in an address.
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
