//! Bodies and queries become typed values, or a refusal that names the field.
//!
//! What the values mean is not decided here.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::error::Category;
use vocab::limits;

use crate::{mount::Payload, refuse::Refused};

/// Reads a JSON body. An empty body reads as `{}`, so that a request without wishes needs none.
///
/// Nesting is bounded by the parser itself (`JSON_DEPTH_MAX`).
///
/// # Errors
/// When it is not JSON (`malformed_body`), has a field nobody knows (`unknown_field`), or a field that
/// is missing or of the wrong kind (`invalid_field`).
pub fn json<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refused> {
    let text = if body.is_empty() { b"{}" } else { body };
    object(text, "")
}

/// Reads a JSON object that stands at a path of the body.
///
/// # Errors
/// When it is not what is read there; the field is named by its whole path.
pub fn object<'a, T: Deserialize<'a>>(text: &'a [u8], at: &str) -> Result<T, Refused> {
    // The derive would also take a list with the fields in order, which is nobody's contract.
    if text.trim_ascii_start().starts_with(b"[") {
        let what = if at.is_empty() { "body" } else { at };
        return Err(Refused::new("invalid_field", format!("{what}: not a JSON object")).at(what));
    }
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let below = error.path().to_string();
        let path = match below.as_str() {
            "." => at.to_owned(),
            _ if at.is_empty() => below,
            _ => format!("{at}.{below}"),
        };
        refusal(&path, error.inner())
    })?;
    reader.end().map_err(|error| refusal(at, &error))?;
    Ok(value)
}

/// Reads a body where its size hurts nobody: a large one beside the runtime's threads. The body is
/// given back, since its share of what all bodies may hold lasts as long as what was made of it.
///
/// # Errors
/// What `read` says.
pub(crate) async fn apart<T: Send + 'static>(
    body: Payload,
    read: fn(&[u8]) -> Result<T, Refused>,
) -> Result<(T, Payload), Refused> {
    if body.len() <= limits::BODY_INLINE_BYTES_MAX {
        return Ok((read(&body)?, body));
    }
    let reading = tokio::task::spawn_blocking(move || Ok((read(&body)?, body)));
    // Only a panic ends it otherwise, and the hook has told that.
    reading.await.unwrap_or_else(|_| Err(Refused::internal()))
}

/// What a short text of a body is, which says how long it may be. What users say is bounded elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// An id, or the name of a session, workspace, provider, model or media type.
    Name,
    /// A path.
    Path,
    /// A path in a workspace, as it is written there.
    Within,
    /// A session's title.
    Title,
    /// A person's words about an answer.
    Reason,
    /// A key that makes two requests one.
    Key,
}

impl Text {
    fn bytes_max(self) -> usize {
        match self {
            Self::Name => limits::REQUEST_NAME_BYTES_MAX,
            Self::Path | Self::Within => limits::REQUEST_PATH_BYTES_MAX,
            Self::Title => limits::REQUEST_TITLE_BYTES_MAX,
            Self::Reason => limits::ANSWER_REASON_BYTES_MAX,
            Self::Key => limits::IDEMPOTENCY_KEY_BYTES_MAX,
        }
    }
}

/// Checks short texts that are about to be stored or looked up: none is longer than its kind may be, a
/// path is absolute, a key is not empty, and none holds a NUL, since no file and nothing else of ours is
/// named so.
///
/// # Errors
/// With the first that is wrong; its field is named, and the text is not repeated.
pub(crate) fn texts<'a>(
    fields: impl IntoIterator<Item = (&'a str, Text, Option<&'a str>)>,
) -> Result<(), Refused> {
    for (field, kind, text) in fields {
        let Some(text) = text else { continue };
        let wrong = |why: String| Err(Refused::new("invalid_field", why).at(field));
        if text.contains('\0') {
            return wrong(format!("{field} holds a NUL character"));
        }
        let bytes_max = kind.bytes_max();
        if text.len() > bytes_max {
            return wrong(format!("{field} has {} bytes, and at most {bytes_max}", text.len()));
        }
        if kind == Text::Path && !std::path::Path::new(text).is_absolute() {
            return wrong(format!("{field} must be an absolute path"));
        }
        if kind == Text::Key && text.is_empty() {
            return wrong(format!("{field} is empty"));
        }
    }
    Ok(())
}

fn refusal(path: &str, error: &serde_json::Error) -> Refused {
    let text = error.to_string();
    // The parser adds where it stood; for a wrong field its path says more.
    let said = text.rsplit_once(" at line ").map_or(text.as_str(), |(said, _)| said);
    match error.classify() {
        Category::Syntax | Category::Eof | Category::Io => {
            Refused::new("malformed_body", format!("the body is not JSON: {text}"))
        }
        Category::Data => {
            let named = quoted(said, "unknown field `");
            let code = if named.is_some() { "unknown_field" } else { "invalid_field" };
            let name = named.or_else(|| quoted(said, "missing field `"));
            let name = name.or_else(|| quoted(said, "duplicate field `"));
            let field = join(path, name);
            Refused::new(code, format!("{field}: {said}")).at(field)
        }
    }
}

/// Returns the name that a message of serde's derive puts in backquotes after `lead`.
fn quoted<'a>(text: &'a str, lead: &str) -> Option<&'a str> {
    text.strip_prefix(lead)?.split('`').next()
}

/// Joins the path of a container with the name of a field in it. The path may end in that very name
/// already, or in a question mark where the parser does not know the name.
fn join(path: &str, name: Option<&str>) -> String {
    let path = path.trim_end_matches('?').trim_end_matches('.');
    match name {
        None if path.is_empty() => "body".to_owned(),
        None => path.to_owned(),
        Some(name) if path.is_empty() => name.to_owned(),
        Some(name) if path == name || path.ends_with(&format!(".{name}")) => path.to_owned(),
        Some(name) => format!("{path}.{name}"),
    }
}

/// The parameters of a query, each at most once.
#[derive(Debug, Default)]
pub struct Query(BTreeMap<String, String>);

impl Query {
    /// Reads a query and refuses what is not in `known`.
    ///
    /// # Errors
    /// When a parameter is unknown, repeated, or not UTF-8 after decoding.
    pub fn parse(text: &str, known: &[&str]) -> Result<Self, Refused> {
        let mut found = BTreeMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let bad = || Refused::new("invalid_query", "a query parameter is no text");
            let name = percent(&name.replace('+', " ")).ok_or_else(bad)?;
            let value = percent(&value.replace('+', " ")).ok_or_else(bad)?;
            if !known.contains(&name.as_str()) {
                let refused = Refused::new("invalid_query", "a query parameter is not known");
                let hint = match known.join(", ") {
                    names if names.is_empty() => "this path takes none".to_owned(),
                    names => format!("known: {names}"),
                };
                return Err(refused.with_hint(hint));
            }
            if found.contains_key(&name) {
                let text = format!("the query parameter {name:?} is given twice");
                return Err(Refused::new("invalid_query", text).at(name));
            }
            found.insert(name, value);
        }
        Ok(Self(found))
    }

    /// Takes a parameter out.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// Takes a number out.
    ///
    /// # Errors
    /// When it is not a number.
    pub fn number(&mut self, name: &str) -> Result<Option<u32>, Refused> {
        let Some(text) = self.0.remove(name) else { return Ok(None) };
        let bad = |_| Refused::new("invalid_query", format!("{name} is not a number")).at(name);
        text.parse().map(Some).map_err(bad)
    }
}

/// Undoes percent-encoding; none when the result is not UTF-8 or holds a NUL, or an escape is broken.
#[must_use]
pub fn percent(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests;
