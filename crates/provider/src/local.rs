//! What endpoints tell about themselves: their models, and whether one listens on its usual port.
//!
//! Nothing is cached and nothing started; every question has a short limit.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Response, Url};
use serde_json::Value;
use stdx::clock::Clock;
use tokio::time::timeout;
use vocab::{
    limits::PROVIDER_MODELS_BYTES_MAX,
    outcome::{Effect, Failure},
};

use crate::{
    client,
    delta::ProviderFailure,
    exchange::refused,
    models::ModelConfig,
    resolve::{Api, ProviderConfig},
};

/// The usual ports of local servers: Ollama, LM Studio, llama.cpp, vLLM.
pub const USUAL_PORTS: [u16; 4] = [11434, 1234, 8080, 8000];

/// How long a port on this machine may take to tell its models.
const PROBE: Duration = Duration::from_millis(300);

/// Asks a provider for its models. What it does not tell about them is as [`ProviderConfig::model`]
/// says.
///
/// # Errors
/// When it cannot be reached, refuses, or answers something else.
pub async fn list_models(
    clock: &Clock,
    config: &ProviderConfig,
    limit: Duration,
) -> Result<Vec<ModelConfig>, Failure> {
    if config.api == Api::Scripted {
        return Ok(config.models.clone());
    }
    let listed = timeout(limit, list(clock, config)).await;
    listed.unwrap_or_else(|_| {
        let message = format!("{} did not list its models in time", config.name);
        Err(Failure::not_started("header_timeout", message))
    })
}

/// Looks for a local endpoint that offers a model: `ports` in their order, usually [`USUAL_PORTS`].
pub async fn find_local(clock: &Clock, ports: &[u16]) -> Option<ProviderConfig> {
    let asked = ports.iter().map(|port| async move {
        let url = format!("http://127.0.0.1:{port}/v1");
        let mut config = ProviderConfig::new("local", Api::OpenAiChat, url);
        config.models = list_models(clock, &config, PROBE).await.ok()?;
        (!config.models.is_empty()).then_some(config)
    });
    join_all(asked).await.into_iter().flatten().next()
}

async fn list(clock: &Clock, config: &ProviderConfig) -> Result<Vec<ModelConfig>, Failure> {
    match get(clock, config, None).await {
        Err(failure) if matches!(failure.code.as_str(), "model_not_found" | "bad_answer") => {
            // Old servers of Ollama know only their own list.
            get(clock, config, Some("/api/tags")).await.or(Err(failure))
        }
        told => told,
    }
}

async fn get(
    clock: &Clock,
    config: &ProviderConfig,
    path: Option<&str>,
) -> Result<Vec<ModelConfig>, Failure> {
    let mut peer = config.peer(clock, "models").map_err(Failure::from)?;
    if let Some(path) = path {
        peer.url.set_path(path);
    }
    let client = client::for_url(&peer.url)
        .map_err(|error| Failure::not_started("connect_failed", error))?;
    let request = client.get(peer.url.clone()).headers(peer.headers.clone());
    let Ok(response) = request.send().await else {
        return Err(unreachable_at(&config.name, &peer.url));
    };
    if response.status() != 200 {
        let ProviderFailure { failure, .. } = refused(&peer, response).await;
        return Err(failure);
    }
    let body = read(response).await;
    let value = body.and_then(|body| serde_json::from_slice::<Value>(&body).ok());
    value.and_then(|value| models(config, &value)).ok_or_else(|| {
        let message = format!("{} answered something else than a list of models", config.name);
        Failure::not_started("bad_answer", message)
    })
}

fn unreachable_at(provider: &str, url: &Url) -> Failure {
    let at = url.origin().ascii_serialization();
    Failure::new(
        "connect_failed",
        Effect::NotStarted,
        format!("{provider} cannot be reached at {at}"),
    )
}

async fn read(mut response: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > PROVIDER_MODELS_BYTES_MAX {
            return None;
        }
    }
    Some(body)
}

/// Reads a list in the shape of OpenAI, Anthropic, a gateway or Ollama.
fn models(config: &ProviderConfig, value: &Value) -> Option<Vec<ModelConfig>> {
    let rows = [&value["data"], &value["models"], value].into_iter().find_map(Value::as_array)?;
    Some(rows.iter().filter_map(|row| model(config, row)).collect())
}

fn model(config: &ProviderConfig, row: &Value) -> Option<ModelConfig> {
    let id = [&row["id"], &row["name"], &row["model"]].into_iter().find_map(Value::as_str)?;
    let mut model = config.model(id);
    if config.models.iter().any(|known| known.id == id) {
        return Some(model);
    }
    let count = |places: &[&Value]| {
        let found = places.iter().find_map(|value| value.as_u64().filter(|count| *count > 0))?;
        u32::try_from(found).ok()
    };
    let window = count(&[
        &row["meta"]["n_ctx"],
        &row["context_length"],
        &row["max_model_len"],
        &row["context_window"],
        &row["meta"]["n_ctx_train"],
    ]);
    model.context_window = window.unwrap_or(model.context_window);
    let output =
        count(&[&row["top_provider"]["max_completion_tokens"], &row["max_completion_tokens"]]);
    model.max_output = output.unwrap_or(model.max_output).min(model.context_window);
    if let Some(seen) = row["architecture"]["input_modalities"].as_array() {
        model.images = seen.iter().any(|kind| kind == "image");
    }
    Some(model)
}

#[cfg(test)]
mod tests;
