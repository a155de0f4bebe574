//! How the vendors refuse: their statuses and the shapes of their error bodies.
//!
//! What is refused is decided elsewhere.

use serde_json::{Value, json};

/// Whose shape an error has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vendor {
    OpenAi,
    Anthropic,
}

/// A request that is not served.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) code: Option<&'static str>,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self { status: 400, kind: "invalid_request_error", code: None, message: message.into() }
    }

    pub(crate) fn body(&self, vendor: Vendor) -> Value {
        match vendor {
            Vendor::OpenAi => json!({ "error": {
                "message": self.message, "type": self.kind, "param": null, "code": self.code,
            } }),
            Vendor::Anthropic => json!({
                "type": "error",
                "error": { "type": self.kind, "message": self.message },
                "request_id": "req_011CPlanned",
            }),
        }
    }

    /// Returns what the vendor says beside a status.
    pub(crate) fn usual(vendor: Vendor, status: u16) -> Self {
        let (kind, code, message) = match vendor {
            Vendor::OpenAi => openai(status),
            Vendor::Anthropic => anthropic(status),
        };
        Self { status, kind, code, message: message.to_owned() }
    }
}

type Usual = (&'static str, Option<&'static str>, &'static str);

fn openai(status: u16) -> Usual {
    match status {
        401 => ("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided."),
        403 => ("invalid_request_error", None, "You are not allowed to use this resource."),
        404 => ("invalid_request_error", Some("model_not_found"), "The model does not exist."),
        429 => ("requests", Some("rate_limit_exceeded"), "Rate limit reached for requests."),
        503 => ("server_error", None, "The engine is currently overloaded."),
        500.. => ("server_error", None, "The server had an error while processing your request."),
        _ => ("invalid_request_error", None, "The request is invalid."),
    }
}

fn anthropic(status: u16) -> Usual {
    let (kind, message) = match status {
        401 => ("authentication_error", "invalid x-api-key"),
        403 => ("permission_error", "Your key may not use this resource."),
        404 => ("not_found_error", "model: not found"),
        413 => ("request_too_large", "Request exceeds the maximum size"),
        429 => ("rate_limit_error", "This request would exceed your rate limit."),
        529 => ("overloaded_error", "Overloaded"),
        500.. => ("api_error", "Internal server error"),
        _ => ("invalid_request_error", "The request is invalid."),
    };
    (kind, None, message)
}
