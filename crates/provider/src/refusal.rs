//! From what a vendor answered to a failure: code, effect, hint, and whether a retry helps.
//!
//! The structured parts decide (the vendor's code and type, then the status). Known texts are looked
//! at only to tell an overflowing context, as many servers have no code for it. Nothing is retried.

use serde_json::Value;
use vocab::outcome::{Effect, Failure};

use crate::{
    delta::{ProviderFailure, Retry},
    speaker::Speaker,
};

mod overflow;

/// An error as a vendor told it.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    /// Who told it.
    pub(crate) speaker: &'a Speaker,
    /// The status; absent for an error inside a stream.
    pub(crate) status: Option<u16>,
    /// The body or the event.
    pub(crate) body: &'a str,
    /// The wait it asked for, milliseconds.
    pub(crate) wait_ms: Option<u64>,
    /// Whether it said itself that a retry helps.
    pub(crate) should_retry: Option<bool>,
}

impl<'a> Told<'a> {
    /// Returns an error that came where an answer should be: it has neither status nor headers.
    pub(crate) fn inside(speaker: &'a Speaker, body: &'a str) -> Self {
        Self { speaker, status: None, body, wait_ms: None, should_retry: None }
    }
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Auth,
    NotFound,
    Overflow,
    Quota,
    RateLimit,
    Overloaded,
    Server,
    BadRequest,
    BadAnswer,
}

impl Kind {
    fn code(self) -> &'static str {
        match self {
            Self::Auth => "auth_failed",
            Self::NotFound => "model_not_found",
            Self::Overflow => "context_overflow",
            Self::Quota => "quota_exceeded",
            Self::RateLimit => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Server => "server_error",
            Self::BadRequest => "bad_request",
            Self::BadAnswer => "bad_answer",
        }
    }

    fn passes(self) -> bool {
        matches!(self, Self::RateLimit | Self::Overloaded | Self::Server)
    }
}

/// The structured parts of an error body, wherever vendors put them.
struct Parts {
    json: bool,
    marks: Vec<String>,
    message: String,
}

/// Turns an error into a failure.
pub(crate) fn classify(told: &Told<'_>) -> ProviderFailure {
    let parts = parts(told);
    let kind = kind(told, &parts);
    let status = told.status.map(|status| format!(" ({status})")).unwrap_or_default();
    let said = if parts.message.is_empty() { "no message" } else { &parts.message };
    let effect = if told.status.is_some() { Effect::NotStarted } else { Effect::Indeterminate };
    let message = format!("{} answered{status}: {said}", told.speaker.provider);
    let mut failure = Failure::new(kind.code(), effect, message);
    failure.hint = hint(kind, told.speaker);
    let retry = retry(kind, told, &parts);
    ProviderFailure { failure, retry }
}

fn retry(kind: Kind, told: &Told<'_>, parts: &Parts) -> Retry {
    // Inside a stream the vendor's code is the only status; without one, nothing says that it passes.
    let structured = told.status.is_some() || parts.marks.iter().any(|m| by_mark(m).is_some());
    let worth = structured && told.should_retry.unwrap_or(true) && told.status != Some(501);
    if !kind.passes() || !worth {
        return Retry::Never;
    }
    told.wait_ms.map_or(Retry::Backoff, |wait_ms| Retry::After { wait_ms })
}

fn hint(kind: Kind, speaker: &Speaker) -> Option<String> {
    let name = &speaker.provider;
    match kind {
        Kind::Auth => Some(match &speaker.key_variable {
            Some(variable) => format!("set {variable} or run `stead secrets set {name}`"),
            None => format!("run `stead secrets set {name}`"),
        }),
        Kind::NotFound => Some(format!("`stead models` lists what {name} offers")),
        Kind::Quota => Some(format!("look at the billing page of {name}, or choose another model")),
        Kind::BadAnswer => Some(format!("check base_url of the provider {name}")),
        Kind::Overflow | Kind::RateLimit | Kind::Overloaded | Kind::Server | Kind::BadRequest => {
            None
        }
    }
}

fn kind(told: &Told<'_>, parts: &Parts) -> Kind {
    if let Some(known) = parts.marks.iter().find_map(|mark| by_mark(mark)) {
        let busy = known == Kind::Server && matches!(told.status, Some(503 | 529));
        return if busy { Kind::Overloaded } else { known };
    }
    let overflow =
        matches!(told.status, None | Some(400 | 413 | 422)) && overflow::is_told(told.body);
    match told.status {
        _ if overflow => Kind::Overflow,
        Some(401 | 403) => Kind::Auth,
        Some(402) => Kind::Quota,
        Some(404) if parts.json => Kind::NotFound,
        Some(413) => Kind::Overflow,
        Some(429) => Kind::RateLimit,
        Some(503 | 529) => Kind::Overloaded,
        Some(408 | 425 | 500..) => Kind::Server,
        Some(400..=499) if parts.json => Kind::BadRequest,
        Some(400 | 422) => Kind::BadRequest,
        Some(_) => Kind::BadAnswer,
        None => Kind::Server,
    }
}

/// Knows the codes and types that say more than the status does.
fn by_mark(mark: &str) -> Option<Kind> {
    Some(match mark {
        "context_length_exceeded"
        | "model_context_window_exceeded"
        | "exceed_context_size_error"
        | "request_too_large"
        | "string_above_max_length" => Kind::Overflow,
        "insufficient_quota"
        | "quota_exceeded"
        | "billing_error"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "usage_limit_reached"
        | "insufficient_balance"
        | "out_of_credits" => Kind::Quota,
        "invalid_api_key" | "authentication_error" | "permission_error" | "unauthorized" => {
            Kind::Auth
        }
        "model_not_found" | "not_found_error" => Kind::NotFound,
        "rate_limit_error" | "rate_limit_exceeded" => Kind::RateLimit,
        "overloaded_error" | "engine_overloaded" => Kind::Overloaded,
        "api_error" | "server_error" | "internal_error" | "timeout_error" => Kind::Server,
        _ => return None,
    })
}

fn parts(told: &Told<'_>) -> Parts {
    let Told { speaker, body, .. } = told;
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        return Parts { json: false, marks: Vec::new(), message: speaker.excerpt(body) };
    };
    // Some gateways wrap the object in a list.
    let value = value.as_array().and_then(|list| list.first()).unwrap_or(&value);
    let error = if value["error"].is_object() { &value["error"] } else { value };
    let marks = [&error["code"], &error["type"], &error["status"]]
        .into_iter()
        .filter_map(Value::as_str)
        .map(str::to_ascii_lowercase)
        .collect();
    let inner = error["metadata"]["raw"].as_str().map(|raw| format!(": {raw}")).unwrap_or_default();
    let message = [&error["message"], &value["error"], &value["message"], &value["detail"]]
        .into_iter()
        .find_map(Value::as_str);
    let message = match message {
        Some(text) => speaker.quote(&format!("{text}{inner}")),
        None => speaker.quote(body),
    };
    Parts { json: true, marks, message }
}

#[cfg(test)]
mod tests;
