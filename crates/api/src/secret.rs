//! Keys of providers: stored, asked about, forgotten. There is no request that reads one.

use serde::{Deserialize, Serialize};

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
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSecret {
    /// The provider's configured name.
    pub provider_id: String,
    /// The key.
    pub key: String,
}

impl std::fmt::Debug for SetSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetSecret").field("provider_id", &self.provider_id).finish_non_exhaustive()
    }
}
