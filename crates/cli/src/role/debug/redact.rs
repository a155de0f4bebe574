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
pub(crate) fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (rest, query) = match rest.split_once(['?', '#']) {
        Some((rest, _)) => (rest, "?…"),
        None => (rest, ""),
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}{query}")
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
