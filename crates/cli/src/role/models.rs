//! `stead providers` and `stead models`: what can be asked, and whether a key is there.
//!
//! The configuration and the table of vendors are read without the network; local endpoints are asked,
//! and a vendor only when it is named and there is a key for it. Keys are never printed.

use std::{process::ExitCode, time::Duration};

use api::secret::Key;
use daemon::{paths::Paths, secrets};
use provider::{
    catalog::{self, VENDORS},
    local,
    models::ModelConfig,
    resolve::{Api, ProviderConfig},
};
use serde::Serialize;
use stdx::{clock::Clock, secret::Secret};
use vocab::outcome::Failure;

use crate::{
    args::{Json, Models},
    config::{self, Config},
    env,
    models::{ConfiguredModels, DEMO, FOUND, configured, environment_keys, named},
    print::{self, Look, Style, table::Table, words},
};

/// How long a server of this machine may take to list its models.
const LOCAL_LIMIT: Duration = Duration::from_millis(500);

/// How long a vendor may take to list its models.
const VENDOR_LIMIT: Duration = Duration::from_secs(10);

/// A provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ProviderRow {
    name: String,
    api: String,
    base_url: Option<String>,
    /// `config`, `known`, `local` or `built_in`.
    source: &'static str,
    /// `stored`, `environment`, `none` or `not_needed`.
    key: &'static str,
    key_variables: Vec<String>,
    default_model: Option<String>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ModelRow {
    provider: String,
    model: String,
    context_window: u32,
    max_output: u32,
    images: bool,
    /// `config`, `known`, `endpoint` or `built_in`.
    source: &'static str,
    /// Whether it is asked when nobody names one.
    default: bool,
}

/// Lists the providers.
pub(crate) fn providers(json: Json) -> anyhow::Result<ExitCode> {
    super::block_on(async move {
        let paths = env::paths()?;
        let config = config::load_and_tell(&paths)?;
        let found = local_endpoint(&config).await;
        let mut rows = known_rows(&paths, &config)?;
        rows.extend(found.iter().map(|local| ProviderRow {
            name: local.name.clone(),
            api: local.api.name().to_owned(),
            base_url: Some(local.base_url.clone()),
            source: "local",
            key: "not_needed",
            key_variables: Vec::new(),
            default_model: local.models.first().map(|model| model.id.clone()),
        }));
        if json.json {
            return Ok(print::json(&rows));
        }
        let look = Look::of_process();
        let code = print::out(&providers_table(&rows, look.table_width(), look.out.style));
        let none = if paths.config.exists() { "" } else { " (none yet)" };
        print::err(&format!("configuration: {}{none}\n", paths.config.display()));
        Ok(code)
    })
}

/// Lists the models.
pub(crate) fn run(args: &Models) -> anyhow::Result<ExitCode> {
    super::block_on(async move {
        let paths = env::paths()?;
        let config = config::load_and_tell(&paths)?;
        let mut rows = configured_models(&config);
        let providers = known_rows(&paths, &config)?;
        match &args.provider {
            Some(name) => {
                rows.retain(|row| row.provider == *name);
                add_asked(&paths, &config, name, &mut rows).await?;
            }
            None => {
                // What has no key cannot be asked.
                rows.retain(|row| {
                    providers.iter().any(|known| known.name == row.provider && known.key != "none")
                });
                if let Some(local) = local_endpoint(&config).await {
                    rows.extend(
                        local.models.iter().map(|model| model_row(&local.name, model, "endpoint")),
                    );
                }
            }
        }
        mark_default(&config, &providers, &mut rows);
        if args.json.json {
            return Ok(print::json(&rows));
        }
        let look = Look::of_process();
        Ok(print::out(&models_table(&rows, look.table_width(), look.out.style)))
    })
}

/// Asks a named provider for its list; a refusal is told and leaves what is known.
async fn add_asked(
    paths: &Paths,
    config: &Config,
    name: &str,
    rows: &mut Vec<ModelRow>,
) -> Result<(), Failure> {
    let key = key_of(paths, config, name)?;
    let provider = match (config.providers.get(name), catalog::vendor(name)) {
        (Some(entry), _) => Some((configured(name, entry, key)?, VENDOR_LIMIT)),
        (None, Some(vendor)) => {
            key.map(|key| (ProviderConfig::vendor(vendor, Some(key)), VENDOR_LIMIT))
        }
        (None, None) => {
            let local = local_endpoint(config).await.filter(|local| local.name == name);
            if local.is_none() && rows.is_empty() {
                let message = format!("there is no provider {name:?}");
                return Err(Failure::not_started("not_found", message).with_hint("stead providers"));
            }
            local.map(|local| (local, LOCAL_LIMIT))
        }
    };
    let Some((provider, limit)) = provider.filter(|(provider, _)| provider.api != Api::Scripted)
    else {
        return Ok(());
    };
    match local::list_models(&Clock::system(), &provider, limit).await {
        Ok(models) => {
            for model in &models {
                if !rows.iter().any(|row| row.model == model.id) {
                    rows.push(model_row(name, model, "endpoint"));
                }
            }
        }
        Err(failure) => {
            let message = print::clean::clean_line(&failure.message);
            print::err(&format!("stead: {message}; only what is known is listed\n"));
        }
    }
    Ok(())
}

/// Returns the key that a run would use: the one of the environment, or the stored one.
fn key_of(paths: &Paths, config: &Config, name: &str) -> Result<Option<Secret>, Failure> {
    if !config.providers.contains_key(name) && catalog::vendor(name).is_none() {
        return Ok(None);
    }
    let (_, unsealer) = secrets::open(paths.secrets());
    let keys = environment_keys(config).into_iter().map(|(name, key)| (name, key.into_secret()));
    ConfiguredModels::new(Clock::system(), paths.clone(), unsealer).key(name, &keys.collect())
}

/// Asks the usual ports, but for those that the configuration names itself. Only the first one that
/// answers has the name; the others are configured to be asked.
async fn local_endpoint(config: &Config) -> Option<ProviderConfig> {
    let taken = |port: u16| {
        let at = format!(":{port}/");
        config.providers.values().any(|entry| {
            entry.base_url.as_deref().is_some_and(|url| {
                (url.contains("127.0.0.1") || url.contains("localhost"))
                    && format!("{url}/").contains(&at)
            })
        })
    };
    let free = local::USUAL_PORTS.into_iter().filter(|port| !taken(*port));
    local::find_local(&Clock::system(), &free.collect::<Vec<_>>()).await
}

fn known_rows(paths: &Paths, config: &Config) -> Result<Vec<ProviderRow>, Failure> {
    let (stored, _) = secrets::open(paths.secrets());
    let env_keys = environment_keys(config);
    let key_of = |name: &str, needed: bool| -> Result<&'static str, Failure> {
        Ok(if stored.has(name)? {
            "stored"
        } else if env_keys.contains_key(name) {
            "environment"
        } else if needed {
            "none"
        } else {
            "not_needed"
        })
    };
    let mut rows = Vec::new();
    for (name, entry) in &config.providers {
        let vendor = catalog::vendor(name);
        rows.push(ProviderRow {
            name: name.clone(),
            api: entry.api.clone(),
            base_url: entry
                .base_url
                .as_deref()
                .or(vendor.map(|vendor| vendor.base_url))
                .map(super::debug::without_credentials),
            source: "config",
            key: key_of(name, entry.key_env.is_some() || vendor.is_some())?,
            key_variables: entry.key_env.iter().cloned().collect(),
            default_model: entry.models.first().map(|model| model.id.clone()),
        });
    }
    for vendor in VENDORS.iter().filter(|vendor| !config.providers.contains_key(vendor.name)) {
        rows.push(ProviderRow {
            name: vendor.name.to_owned(),
            api: vendor.api.name().to_owned(),
            base_url: Some(vendor.base_url.to_owned()),
            source: "known",
            key: key_of(vendor.name, true)?,
            key_variables: vendor.key_variables.iter().map(|name| (*name).to_owned()).collect(),
            default_model: Some(vendor.default_model.to_owned()),
        });
    }
    rows.push(ProviderRow {
        name: DEMO.0.to_owned(),
        api: Api::Scripted.name().to_owned(),
        base_url: None,
        source: "built_in",
        key: "not_needed",
        key_variables: Vec::new(),
        default_model: Some(DEMO.1.to_owned()),
    });
    Ok(rows)
}

fn configured_models(config: &Config) -> Vec<ModelRow> {
    let mut rows = Vec::new();
    for (name, entry) in &config.providers {
        let models =
            configured(name, entry, None).map(|provider| provider.models).unwrap_or_default();
        rows.extend(models.iter().map(|model| model_row(name, model, "config")));
    }
    let keys = environment_keys(config);
    for vendor in VENDORS.iter().filter(|vendor| !config.providers.contains_key(vendor.name)) {
        let provider =
            ProviderConfig::vendor(vendor, keys.get(vendor.name).cloned().map(Key::into_secret));
        rows.push(model_row(vendor.name, &provider.model(vendor.default_model), "known"));
    }
    rows.push(model_row(DEMO.0, &ModelConfig::unknown(DEMO.1), "built_in"));
    rows
}

fn model_row(provider: &str, model: &ModelConfig, source: &'static str) -> ModelRow {
    ModelRow {
        provider: provider.to_owned(),
        model: model.id.clone(),
        context_window: model.context_window,
        max_output: model.max_output,
        images: model.images,
        source,
        default: false,
    }
}

/// Marks the model that is asked when nobody names one: the configured one, else the first vendor's whose
/// key is here, else what the local endpoint has first.
fn mark_default(config: &Config, providers: &[ProviderRow], rows: &mut [ModelRow]) {
    let configured = config.default_model.as_deref().map(|text| named(config, text));
    let default = match configured {
        Some(named) => named.ok().map(|model| (model.provider, model.model)),
        None => VENDORS
            .iter()
            .find(|vendor| {
                let has = |row: &ProviderRow| matches!(row.key, "stored" | "environment");
                providers.iter().any(|row| row.name == vendor.name && has(row))
            })
            .map(|vendor| (vendor.name.to_owned(), vendor.default_model.to_owned()))
            .or_else(|| {
                let found =
                    rows.iter().find(|row| row.provider == FOUND && row.source == "endpoint");
                found.map(|row| (row.provider.clone(), row.model.clone()))
            }),
    };
    let Some((provider, model)) = default else { return };
    for row in rows.iter_mut().filter(|row| row.provider == provider) {
        row.default = row.model == model;
    }
}

fn providers_table(rows: &[ProviderRow], columns: usize, style: Style) -> String {
    let mut table = Table::new(&["PROVIDER", "KEY", "API", "ADDRESS", "FROM", "VARIABLES"]);
    for row in rows {
        let (key, source) = (row.key.replace('_', " "), row.source.replace('_', " "));
        let address = row.base_url.as_deref().unwrap_or("-");
        table.row(&[&row.name, &key, &row.api, address, &source, &row.key_variables.join(", ")]);
    }
    table.render(columns, style)
}

fn models_table(rows: &[ModelRow], columns: usize, style: Style) -> String {
    let mut table = Table::new(&["MODEL", "CONTEXT", "OUTPUT", "PICTURES", "FROM"]);
    for row in rows {
        let name = format!("{}/{}", row.provider, row.model);
        let (context, output) = (words::window(row.context_window), words::window(row.max_output));
        let pictures = if row.images { "yes" } else { "no" };
        let mut source = row.source.replace('_', " ");
        if row.default {
            source.push_str(", default");
        }
        table.row(&[&name, &context, &output, pictures, &source]);
    }
    table.render(columns, style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendor_without_a_key_says_so_and_the_demonstration_needs_none() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let paths = Paths {
            home: at("home"),
            runtime: at("run"),
            socket_name: daemon::paths::SOCKET_NAME.to_owned(),
            config: at("config.toml"),
        };
        let rows = known_rows(&paths, &Config::default()).unwrap();
        let demo = rows.last().unwrap();
        assert_eq!((demo.name.as_str(), demo.key, demo.source), ("demo", "not_needed", "built_in"));
        assert!(rows.iter().any(|row| row.name == "anthropic" && row.source == "known"));
        let table = providers_table(&rows, 70, Style(false));
        assert!(table.lines().all(|line| print::width::of(line) <= 70), "{table}");
        let chosen = Config { default_model: Some("demo/fix".into()), ..Config::default() };
        let mut models = configured_models(&chosen);
        mark_default(&chosen, &rows, &mut models);
        let defaults = models_table(&models, 80, Style(false)).matches("built in, default").count();
        assert_eq!((defaults, models.iter().filter(|row| row.default).count()), (1, 1));
        assert!(configured_models(&Config::default()).iter().any(|row| row.provider == "demo"));
    }
}
