//! The configured models: which one a run asks, with which key.
//!
//! Keys are looked for where they are nearest: what the client sent for this run, then what is stored.
//! The environment of the daemon is nobody's: it holds no keys. No provider is asked before the first
//! prompt, but for a local endpoint, which is looked for when nothing else is there.

use std::collections::BTreeMap;

use api::secret::Key;
use daemon::{paths::Paths, secrets::Unsealer};
use futures_util::future::BoxFuture;
use provider::{
    catalog::{self, VENDORS},
    local,
    models::ModelConfig,
    resolve::{Api, ProviderConfig},
    script::Script,
};
use sessions::models::{Chosen, Keys, Models, Wanted};
use stdx::{clock::Clock, secret::Secret, state_file};
use vocab::{
    limits::{STATE_FILE_BYTES_MAX, STEPS_MAX},
    message::ModelRef,
    outcome::Failure,
};

use crate::{
    config::{self, Config, ProviderEntry},
    env,
};

/// The provider that is always there, and its model: the story of `stead demo`.
pub(crate) const DEMO: (&str, &str) = ("demo", "fix");

/// The provider that a local endpoint is found as, where no configured one has that name.
pub(crate) const FOUND: &str = "local";

/// The demo's turns.
const DEMO_SCRIPT: &str = include_str!("role/demo/script.json");

/// Chooses models by the configuration as it stands now.
pub(crate) struct ConfiguredModels {
    paths: Paths,
    unsealer: Unsealer,
    clock: Clock,
}

impl ConfiguredModels {
    /// Reads the configuration when a model is chosen, not before.
    pub(crate) fn new(clock: Clock, paths: Paths, unsealer: Unsealer) -> Self {
        Self { paths, unsealer, clock }
    }

    /// Returns the key that a provider is asked with: one that came with the request, or the stored one.
    pub(crate) fn key(&self, provider: &str, keys: &Keys) -> Result<Option<Secret>, Failure> {
        match keys.get(provider) {
            Some(key) => Ok(Some(key.clone())),
            None => self.unsealer.unseal(provider),
        }
    }

    /// Builds the provider of a reference.
    fn provider(
        &self,
        config: &Config,
        name: &str,
        keys: &Keys,
    ) -> Result<ProviderConfig, Failure> {
        let key = self.key(name, keys)?;
        if let Some(entry) = config.providers.get(name) {
            return configured(name, entry, key);
        }
        if name == DEMO.0 {
            return Ok(ProviderConfig::scripted(name, script(name, DEMO_SCRIPT)?));
        }
        match catalog::vendor(name) {
            Some(vendor) if key.is_some() => Ok(ProviderConfig::vendor(vendor, key)),
            Some(vendor) => Err(Failure::not_started(
                "model_unavailable",
                format!("there is no key for {name}"),
            )
            .with_hint(format!(
                "set {} or run: stead secrets set {name}",
                vendor.key_variables.join(" or ")
            ))),
            None => Err(unknown_provider(config, name)),
        }
    }

    async fn choose(&self, wanted: &Wanted, keys: &Keys) -> Result<Chosen, Failure> {
        let config = config::load(&self.paths)?;
        let (provider, model) = match reference(&config, wanted)? {
            Some(model) if is_found(&config, &model.provider) => {
                (found(&self.clock).await?, model.model)
            }
            Some(model) => (self.provider(&config, &model.provider, keys)?, model.model),
            None => self.fallback(&config, keys).await?,
        };
        let known = provider.model(&model);
        // The story of the demonstration ends by itself, whatever runs are allowed.
        let is_story = provider.name == DEMO.0 && !config.providers.contains_key(DEMO.0);
        let model = ModelRef { provider: provider.name.clone(), model };
        let shared = provider.resolve(&self.clock)?;
        Ok(Chosen {
            model,
            provider: shared,
            output_tokens_max: known.max_output,
            sees: known.images,
            steps_max: is_story.then_some(STEPS_MAX),
        })
    }

    /// Finds something to ask when nobody chose: a vendor whose key is here, then a local endpoint.
    async fn fallback(
        &self,
        config: &Config,
        keys: &Keys,
    ) -> Result<(ProviderConfig, String), Failure> {
        for vendor in VENDORS {
            if let Some(key) = self.key(vendor.name, keys)? {
                let provider = ProviderConfig::vendor(vendor, Some(key));
                return Ok((provider, vendor.default_model.to_owned()));
            }
        }
        if let Some(provider) = local::find_local(&self.clock, &local::USUAL_PORTS).await
            && let Some(id) = provider.models.first().map(|model| model.id.clone())
        {
            return Ok((provider, id));
        }
        Err(no_model(config))
    }
}

impl Models for ConfiguredModels {
    fn choose<'a>(
        &'a self,
        wanted: &'a Wanted,
        keys: &'a Keys,
    ) -> BoxFuture<'a, Result<Chosen, Failure>> {
        Box::pin(ConfiguredModels::choose(self, wanted, keys))
    }
}

/// Tells whether a provider is the local endpoint that is found by looking, not by configuration.
fn is_found(config: &Config, provider: &str) -> bool {
    provider == FOUND && !config.providers.contains_key(FOUND)
}

/// Looks for the local endpoint that an earlier prompt found.
async fn found(clock: &Clock) -> Result<ProviderConfig, Failure> {
    local::find_local(clock, &local::USUAL_PORTS).await.ok_or_else(|| {
        Failure::not_started("model_unavailable", "no local endpoint answers on its usual port")
            .with_hint("start it again, or name another model with -m PROVIDER/MODEL")
    })
}

/// Decides which model is meant: what was asked for, else what the session asked last, else the default.
fn reference(config: &Config, wanted: &Wanted) -> Result<Option<ModelRef>, Failure> {
    match (&wanted.provider, &wanted.model) {
        (Some(provider), Some(model)) => {
            Ok(Some(ModelRef { provider: provider.clone(), model: model.clone() }))
        }
        (Some(provider), None) => first_model(config, provider).map(Some),
        (None, Some(model)) => named(config, model).map(Some),
        (None, None) => match (&wanted.sticky, &config.default_model) {
            (Some(sticky), _) => Ok(Some(sticky.clone())),
            (None, Some(default)) => named(config, default).map(Some),
            (None, None) => Ok(None),
        },
    }
}

/// Reads `provider/model`, or a model's id that one configured provider has.
pub(crate) fn named(config: &Config, text: &str) -> Result<ModelRef, Failure> {
    if let Some(model) = ModelRef::parse(text) {
        let known = config.providers.contains_key(&model.provider)
            || catalog::vendor(&model.provider).is_some()
            || model.provider == DEMO.0
            || model.provider == FOUND;
        if known {
            return Ok(model);
        }
    }
    let having: Vec<&String> = config
        .providers
        .iter()
        .filter(|(_, entry)| entry.models.iter().any(|model| model.id == text))
        .map(|(name, _)| name)
        .collect();
    match having.as_slice() {
        [provider] => Ok(ModelRef { provider: (*provider).clone(), model: text.to_owned() }),
        [] => match text.split_once('/') {
            Some((provider, model)) if provider.is_empty() || model.is_empty() => {
                Err(Failure::not_started("model_unknown", format!("{text:?} is half a name"))
                    .with_hint("name it as PROVIDER/MODEL; stead models lists what there is"))
            }
            Some((provider, _)) => Err(unknown_provider(config, provider)),
            None => Err(Failure::not_started(
                "model_unknown",
                format!("no provider has a model {text:?}"),
            )
            .with_hint("name it as PROVIDER/MODEL; stead models lists what there is")),
        },
        several => {
            let names: Vec<String> = several.iter().map(|name| format!("{name}/{text}")).collect();
            Err(Failure::not_started("ambiguous", format!("several providers have {text:?}"))
                .with_hint(format!("say which: {}", names.join(", "))))
        }
    }
}

fn first_model(config: &Config, provider: &str) -> Result<ModelRef, Failure> {
    let configured = config.providers.get(provider).and_then(|entry| entry.models.first());
    let model = match configured {
        Some(model) => model.id.clone(),
        None => match catalog::vendor(provider) {
            Some(vendor) => vendor.default_model.to_owned(),
            None => {
                return Err(Failure::not_started(
                    "model_unknown",
                    format!("no model of {provider} is configured"),
                )
                .with_hint("name one as PROVIDER/MODEL"));
            }
        },
    };
    Ok(ModelRef { provider: provider.to_owned(), model })
}

/// Builds a provider of the configuration.
pub(crate) fn configured(
    name: &str,
    entry: &ProviderEntry,
    key: Option<Secret>,
) -> Result<ProviderConfig, Failure> {
    let api: Api = entry.api.parse()?;
    let vendor = catalog::vendor(name);
    let base_url =
        entry.base_url.clone().or_else(|| vendor.map(|vendor| vendor.base_url.to_owned()));
    if base_url.is_none() && api != Api::Scripted {
        return Err(Failure::not_started(
            "config_invalid",
            format!("the provider {name} has no base_url"),
        )
        .with_hint(format!("add base_url to [providers.{name}]")));
    }
    let mut provider = ProviderConfig::new(name, api, base_url.unwrap_or_default());
    provider.key = key;
    provider.key_variable = entry.key_env.clone();
    let headers = entry.headers.iter();
    provider.headers =
        headers.map(|(name, value)| (name.clone(), Secret::new(value.clone()))).collect();
    provider.models = entry
        .models
        .iter()
        .map(|model| {
            let unknown = ModelConfig::unknown(&model.id);
            ModelConfig {
                context_window: model.context_window.unwrap_or(unknown.context_window),
                max_output: model.max_output.unwrap_or(unknown.max_output),
                images: model.images.unwrap_or(unknown.images),
                ..unknown
            }
        })
        .collect();
    if api == Api::Scripted {
        provider.script = Some(read_script(name, entry)?);
    }
    Ok(provider)
}

fn read_script(name: &str, entry: &ProviderEntry) -> Result<Script, Failure> {
    let Some(path) = &entry.script else {
        return Err(Failure::not_started(
            "config_invalid",
            format!("the provider {name} has no script"),
        )
        .with_hint(format!("add script = \"FILE\" to [providers.{name}]")));
    };
    let path = config::expand(path);
    let read = state_file::read_config(&path, STATE_FILE_BYTES_MAX)
        .map_err(|error| Failure::not_started("config_invalid", error.to_string()))?;
    let Some(bytes) = read else {
        return Err(Failure::not_started(
            "config_invalid",
            format!("{} is missing", path.display()),
        ));
    };
    script(name, &String::from_utf8_lossy(&bytes))
}

fn script(name: &str, text: &str) -> Result<Script, Failure> {
    Script::parse(text).map_err(|error| {
        Failure::not_started(
            "config_invalid",
            format!("the script of {name} cannot be read: {error}"),
        )
    })
}

/// Returns the keys that this command's own environment holds, for the providers that it may ask.
pub(crate) fn environment_keys(config: &Config) -> BTreeMap<String, Key> {
    let configured = config.providers.iter().filter_map(|(name, entry)| {
        entry.key_env.as_deref().map(|variable| (name.as_str(), variable))
    });
    let vendors = VENDORS
        .iter()
        .filter(|vendor| {
            config.providers.get(vendor.name).is_none_or(|entry| entry.key_env.is_none())
        })
        .flat_map(|vendor| {
            vendor.key_variables.iter().rev().map(|variable| (vendor.name, *variable))
        });
    env::keys(configured.chain(vendors))
}

/// Returns the failure of asking for a provider that nobody knows.
pub(crate) fn unknown_provider(config: &Config, name: &str) -> Failure {
    let known = config.providers.keys().map(String::as_str);
    let all: Vec<&str> = known.chain(VENDORS.iter().map(|vendor| vendor.name)).collect();
    let nearest = all
        .iter()
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .min()
        .filter(|(distance, _)| *distance <= name.len() / 2)
        .map(|(_, known)| format!("did you mean {known:?}? "));
    let hint = format!("{}known: {}", nearest.unwrap_or_default(), all.join(", "));
    Failure::not_started("provider_unknown", format!("there is no provider {name:?}"))
        .with_hint(hint)
}

fn no_model(config: &Config) -> Failure {
    let what = if config.providers.is_empty() {
        "nothing is configured"
    } else {
        "no default_model is configured"
    };
    // What is configured already is the shortest way.
    let named = config
        .providers
        .iter()
        .find_map(|(name, entry)| entry.models.first().map(|model| format!("{name}/{}", model.id)));
    let file = "the configuration (stead providers shows where it is)";
    let (own, other) = match named {
        Some(model) => (
            format!(
                "name one that is configured: --model {model}, for good: default_model = \"{model}\"\n\
                 above the first table of {file},\nor "
            ),
            String::new(),
        ),
        None => (String::new(), format!("or set default_model in {file},\n")),
    };
    let hint = format!(
        "{own}set ANTHROPIC_API_KEY or OPENAI_API_KEY (or another vendor's variable),\n\
         or start a local endpoint such as Ollama on its usual port,\n\
         {other}or see it work without any: stead demo"
    );
    Failure::not_started("model_unavailable", format!("there is no model to ask: {what}"))
        .with_hint(hint)
}

#[cfg(test)]
mod tests;
