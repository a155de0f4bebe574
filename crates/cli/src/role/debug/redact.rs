//! Takes secrets out of text, so that the shape stays and the values go.
//!
//! It errs on the side of taking too much out.

use toml::{Table, Value};

/// What stands in place of a value.
const REMOVED: &str = "(removed)";

/// Parts of a name that make its value a secret.
const SECRET_NAMES: &[&str] =
    &["key", "token", "secret", "password", "passwd", "credential", "authorization", "cookie"];

/// Beginnings of words that are keys wherever they stand.
const KEY_BEGINNINGS: &[&str] =
    &["sk-", "sk_", "gsk_", "xai-", "AIza", "ghp_", "github_pat_", "glpat-", "hf_", "csk-", "fw_"];

/// Returns a configuration without secrets. One that is no TOML is left out, since nobody can tell what
/// is a value in it.
pub(super) fn config(text: &str) -> String {
    match toml::from_str::<Table>(text) {
        Ok(mut table) => {
            table_of(&mut table, false);
            toml::to_string_pretty(&table).unwrap_or_else(|_| REMOVED.to_owned())
        }
        Err(error) => format!("it is no TOML and is left out: {}", error.message()),
    }
}

fn table_of(table: &mut Table, all: bool) {
    for (name, value) in table.iter_mut() {
        // The name of a variable is no secret, and whoever helps needs it.
        let secret = all || (is_secret(name) && name != "key_env");
        let headers = name == "headers" || name == "env";
        value_of(value, secret || (headers && value.is_table()));
    }
}

fn value_of(value: &mut Value, secret: bool) {
    match value {
        Value::Table(inner) => table_of(inner, secret),
        Value::Array(items) => items.iter_mut().for_each(|item| value_of(item, secret)),
        Value::String(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
            if secret =>
        {
            *value = Value::String(REMOVED.to_owned());
        }
        Value::String(text) => *text = line(&without_credentials(text)),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Returns an address without the user, the password and the query that it may carry.
///
/// Where a password ends is certain only in a well-formed address. In any other text that has an `@`,
/// what follows the `@` may be part of a password as well as what stands before it, so all of it goes.
pub(crate) fn without_credentials(text: &str) -> String {
    let signs = ["@", "%40"];
    if !signs.iter().any(|sign| text.contains(sign)) {
        return without_query(text);
    }
    let shown = text.split_once("://").and_then(|(scheme, rest)| {
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let (_user, host) = authority.split_once('@')?;
        let certain = is_word(scheme) && is_host(host) && !signs.iter().any(|s| tail.contains(s));
        certain.then(|| without_query(&format!("{scheme}://{host}{tail}")))
    });
    shown.unwrap_or_else(|| REMOVED.to_owned())
}

fn without_query(text: &str) -> String {
    let query = text.split_once("://").and_then(|(_, rest)| rest.split_once(['?', '#']));
    match query {
        Some((_, query)) => format!("{}?…", &text[..text.len() - query.len() - 1]),
        None => text.to_owned(),
    }
}

fn is_word(text: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
    !text.is_empty() && text.chars().all(part)
}

/// Tells whether a text is a name or an address with or without a port, and nothing else.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        Some(_) | None => (text, ""),
    };
    let is_address =
        |inner: &str| inner.chars().all(|c| c.is_ascii_hexdigit() || c == ':' || c == '.');
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    port.chars().all(|c| c.is_ascii_digit()) && address.map_or_else(|| is_word(name), is_address)
}

/// Returns a line without the words that look like keys.
pub(super) fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let part =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '/' | '=');
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(if looks_like_key(word, &out) { REMOVED } else { word });
        let gap = after.chars().next().map_or(0, char::len_utf8);
        out.push_str(&after[..gap]);
        rest = &after[gap..];
    }
    out
}

fn looks_like_key(word: &str, before: &str) -> bool {
    let named = || {
        let before = before.trim_end_matches([' ', ':', '"', '\'']).to_lowercase();
        word.len() >= 8
            && ["bearer", "basic", "api-key", "api_key", "authorization"]
                .iter()
                .any(|name| before.ends_with(name))
    };
    let value = word.rsplit_once('=').map_or(word, |(_, value)| value);
    KEY_BEGINNINGS.iter().any(|start| value.len() >= start.len() + 8 && value.starts_with(start))
        || named()
}
