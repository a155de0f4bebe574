//! How an exchange fails on the way, apart from what vendors answer.
//!
//! Whether the world changed: nothing before the request was sent, nobody knows after. None of these is
//! tried again by itself: only a vendor's structured status says that a retry helps.

use std::{error::Error as _, time::Duration};

use vocab::{
    limits::PROVIDER_ANSWER_BYTES_MAX,
    outcome::{Effect, Failure},
};

use super::Peer;
use crate::{
    client,
    delta::{ProviderFailure, Retry},
    speaker::Speaker,
    sse::TooLarge,
};

pub(super) fn aborted(sent: bool) -> ProviderFailure {
    let effect = if sent { Effect::Indeterminate } else { Effect::NotStarted };
    ProviderFailure::fatal("aborted", effect, "the model call was stopped")
}

pub(super) fn cut(provider: &str) -> ProviderFailure {
    let message = format!("the answer of {provider} broke off before its end");
    ProviderFailure::fatal("stream_cut", Effect::Indeterminate, message)
}

pub(super) fn idle(provider: &str, limit: Duration) -> ProviderFailure {
    let message = format!("{provider} sent nothing for {}", show(limit));
    ProviderFailure::fatal("stream_idle", Effect::Indeterminate, message)
}

pub(super) fn no_headers(provider: &str, limit: Duration) -> ProviderFailure {
    let message = format!("{provider} did not begin to answer within {}", show(limit));
    ProviderFailure::fatal("header_timeout", Effect::Indeterminate, message)
}

pub(super) fn too_large(provider: &str) -> ProviderFailure {
    larger("the answer", provider, PROVIDER_ANSWER_BYTES_MAX)
}

pub(super) fn event_too_large(provider: &str, TooLarge { limit }: TooLarge) -> ProviderFailure {
    larger("an event of the answer", provider, limit)
}

fn larger(what: &str, provider: &str, limit: usize) -> ProviderFailure {
    let message = format!("{what} of {provider} is larger than we take ({limit} bytes)");
    ProviderFailure::fatal("answer_too_large", Effect::Indeterminate, message)
}

/// An answer that is complete and yet none. Nothing came of it, so nothing was done.
pub(crate) fn empty(provider: &str, why: &str) -> ProviderFailure {
    let message = format!("the answer of {provider} {why}");
    let failure = Failure::new("empty_answer", Effect::NotStarted, message)
        .with_hint("ask once more, or choose another model");
    ProviderFailure { failure, retry: Retry::Never }
}

pub(super) fn garbled(speaker: &Speaker, text: &str) -> ProviderFailure {
    let (provider, said) = (&speaker.provider, speaker.excerpt(text));
    let message = format!("{provider} answered something else than its API: {said}");
    let failure = Failure::new("bad_answer", Effect::Indeterminate, message)
        .with_hint(format!("check base_url of the provider {provider}"));
    ProviderFailure { failure, retry: Retry::Never }
}

/// Tells why a request got no response.
pub(super) fn unsent(peer: &Peer, error: &reqwest::Error) -> ProviderFailure {
    let provider = &peer.speaker.provider;
    if !error.is_connect() {
        let message = format!("{provider} closed the connection before it answered");
        return ProviderFailure::fatal("stream_cut", Effect::Indeterminate, message);
    }
    let mut cause = error.source();
    let mut last = None;
    while let Some(deeper) = cause {
        last = Some(deeper.to_string());
        cause = deeper.source();
    }
    let at = peer.url.origin().ascii_serialization();
    let why = last.unwrap_or_else(|| "no connection".to_owned());
    let mut failure = Failure::new(
        "connect_failed",
        Effect::NotStarted,
        format!("{provider} cannot be reached at {at}: {why}"),
    );
    if client::is_loopback(&peer.url) {
        failure = failure.with_hint("is the model server started?");
    }
    ProviderFailure { failure, retry: Retry::Never }
}

fn show(limit: Duration) -> String {
    if limit.subsec_millis() == 0 {
        format!("{} s", limit.as_secs())
    } else {
        format!("{} ms", limit.as_millis())
    }
}
