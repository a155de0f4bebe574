//! Headers in and out: values that no log shows, and the waits that servers ask for.

use reqwest::header::{HeaderMap, HeaderValue};
use stdx::{clock::Clock, secret::Secret};

/// Makes a header value that debug output hides; none when the secret is no header text.
pub(crate) fn sensitive(prefix: &str, secret: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("{prefix}{}", secret.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Reads the wait a server asks for, in milliseconds: its own header first, then seconds or a date.
pub(super) fn retry_after(headers: &HeaderMap, clock: &Clock) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| millis(text, 1.0)) {
        return Some(millis);
    }
    let after = text("retry-after")?;
    if let Some(millis) = millis(after, 1_000.0) {
        return Some(millis);
    }
    let at = jiff::fmt::rfc2822::parse(after).ok()?.timestamp().as_millisecond();
    Some(u64::try_from(at.saturating_sub(clock.now().as_millis())).unwrap_or(0))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "finite and not negative, and the cast saturates"
)]
fn millis(text: &str, unit: f64) -> Option<u64> {
    let count: f64 = text.parse().ok()?;
    (count.is_finite() && count >= 0.0).then(|| (count * unit).ceil() as u64)
}

/// Reads what some vendors say outright.
pub(super) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.to_str().ok()? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}
