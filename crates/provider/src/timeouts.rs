//! How long a model call may take, piece by piece. There is no limit on the whole.

use std::time::Duration;

use vocab::limits::{
    PROVIDER_ERROR_BODY_SECONDS_MAX, PROVIDER_HEADER_SECONDS_MAX, PROVIDER_IDLE_SECONDS_MAX,
};

/// The limits of one provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the request to the first of the answer. Local models load in this time.
    pub headers: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// For the body of an error.
    pub error_body: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            headers: Duration::from_secs(PROVIDER_HEADER_SECONDS_MAX),
            idle: Duration::from_secs(PROVIDER_IDLE_SECONDS_MAX),
            error_body: Duration::from_secs(PROVIDER_ERROR_BODY_SECONDS_MAX),
        }
    }
}
