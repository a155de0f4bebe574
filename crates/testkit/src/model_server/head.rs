//! What every vendor demands before it reads a conversation: the key, an object of known fields, a model.

use axum::http::HeaderMap;
use serde_json::Value;

use super::{
    plan::Plan,
    refusal::{Refusal, Vendor},
};

/// The demands in one vendor's words.
pub(super) struct Head {
    pub(super) vendor: Vendor,
    /// The header that carries the key, and what stands before it.
    pub(super) key: (&'static str, &'static str),
    pub(super) fields: &'static [&'static str],
    pub(super) no_object: &'static str,
    pub(super) unknown: fn(&str) -> String,
    pub(super) no_model: &'static str,
}

impl Head {
    /// Checks the key alone.
    pub(super) fn key(&self, plan: &Plan, headers: &HeaderMap) -> Result<(), Refusal> {
        let (name, before) = self.key;
        let shown = headers.get(name).and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|shown| shown.strip_prefix(before));
        match &plan.key {
            Some(key) if shown != Some(key) => Err(Refusal::usual(self.vendor, 401)),
            Some(_) | None => Ok(()),
        }
    }

    /// Checks the fields; returns the model.
    pub(super) fn model(&self, body: &Value) -> Result<String, Refusal> {
        let fields = body.as_object().ok_or_else(|| Refusal::bad(self.no_object))?;
        if let Some(name) = fields.keys().find(|name| !self.fields.contains(&name.as_str())) {
            return Err(Refusal::bad((self.unknown)(name)));
        }
        let model = body["model"].as_str().filter(|model| !model.is_empty());
        model.map(str::to_owned).ok_or_else(|| Refusal::bad(self.no_model))
    }
}
