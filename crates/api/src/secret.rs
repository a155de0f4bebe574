//! Keys of providers: stored, asked about, forgotten. There is no request that reads one.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stdx::secret::Secret;

/// A key on the wire: a plain string there, hidden from debug output and wiped when dropped here.
#[derive(Clone)]
pub struct Key(Secret);

impl Key {
    /// Hands out the text. The name makes every place that does so easy to find.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Returns it as a secret, without a copy.
    #[must_use]
    pub fn into_secret(self) -> Secret {
        self.0
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Self(Secret::new(text))
    }
}

impl From<Secret> for Key {
    fn from(secret: Secret) -> Self {
        Self(secret)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.matches(other.expose().as_bytes())
    }
}

impl Eq for Key {}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.expose())
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// The body of `POST /secrets/has` and `POST /secrets/delete`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretName {
    /// The provider's configured name.
    pub provider_id: String,
}

/// The answer to `POST /secrets/has`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HasSecret {
    /// Whether a key is stored.
    pub has: bool,
}

/// The body of `POST /secrets/set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSecret {
    /// The provider's configured name.
    pub provider_id: String,
    /// The key.
    pub key: Key,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{AnswerRequest, RunRequest};

    #[test]
    fn keys_are_plain_on_the_wire_and_hidden_in_debug_output() {
        let set: SetSecret =
            serde_json::from_str(r#"{"provider_id":"local","key":"sk-canary"}"#).unwrap();
        assert_eq!(set.key.expose(), "sk-canary");
        let keys = r#""keys":{"local":"sk-canary"}"#;
        let run = format!(r#"{{"messages":[],{keys}}}"#);
        let run: RunRequest = serde_json::from_str(&run).unwrap();
        let answer = format!(r#"{{"session_id":"s","block_id":"b","approved":true,{keys}}}"#);
        let answer: AnswerRequest = serde_json::from_str(&answer).unwrap();
        assert!(serde_json::to_string(&run).unwrap().contains(keys));
        let debug = format!("{set:?} {run:?} {answer:?}");
        assert!(debug.contains("Key(…)") && !debug.contains("sk-canary"), "{debug}");
    }
}
