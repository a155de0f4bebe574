//! From a configuration to a provider.
//!
//! Nothing is read here, neither files nor the environment: whoever holds them hands over values.
//! Nothing is asked of the provider either; the first prompt is the first contact.

use std::{str::FromStr, sync::Arc};

use reqwest::{
    Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use stdx::{clock::Clock, secret::Secret};
use vocab::outcome::Failure;

use crate::{
    anthropic, catalog,
    catalog::Vendor,
    dialect::{self, Dialect},
    exchange::{Peer, sensitive},
    models::ModelConfig,
    openai_chat,
    script::Script,
    scripted::Scripted,
    seam::SharedProvider,
    speaker::Speaker,
    timeouts::Timeouts,
};

/// A dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Messages of Anthropic.
    Anthropic,
    /// Chat Completions.
    OpenAiChat,
    /// A file of turns.
    Scripted,
}

impl Api {
    /// Every dialect that is spoken.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAiChat, Self::Scripted];

    /// Returns the name that configurations use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAiChat => "openai-chat",
            Self::Scripted => "scripted",
        }
    }
}

impl FromStr for Api {
    type Err = ResolveError;
    fn from_str(text: &str) -> Result<Self, ResolveError> {
        Self::ALL
            .into_iter()
            .find(|api| api.name() == text)
            .ok_or_else(|| ResolveError::UnknownApi { api: text.to_owned() })
    }
}

/// Everything about one provider.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// Its name in `provider/model`.
    pub name: String,
    /// The dialect it speaks.
    pub api: Api,
    /// Where it listens; empty for a script.
    pub base_url: String,
    /// Its key, if it wants one.
    pub key: Option<Secret>,
    /// The variable that usually holds the key, for hints.
    pub key_variable: Option<String>,
    /// Further headers; their values are treated as secrets.
    pub headers: Vec<(String, Secret)>,
    /// What is known of its models; others can be asked for too.
    pub models: Vec<ModelConfig>,
    /// How long a call may take.
    pub timeouts: Timeouts,
    /// The script of a scripted one.
    pub script: Option<Script>,
}

/// Why a configuration is no provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The dialect is not known.
    #[error("unknown api {api:?}: expected anthropic, openai-chat or scripted")]
    UnknownApi {
        /// What was given.
        api: String,
    },
    /// The address is none.
    ///
    /// What was given is not told: where a password in it ends is not certain in what is no address.
    #[error(
        "base_url of the provider {provider} does not begin with http:// or https:// and a host"
    )]
    BadUrl {
        /// Whose.
        provider: String,
    },
    /// A header or the key cannot be sent.
    #[error("the header {header} of the provider {provider} cannot be sent")]
    BadHeader {
        /// Whose.
        provider: String,
        /// Which.
        header: String,
    },
    /// A scripted provider without its script.
    #[error("the scripted provider {provider} has no script")]
    NoScript {
        /// Which.
        provider: String,
    },
}

impl ResolveError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownApi { .. } => "provider_api_unknown",
            Self::BadUrl { .. } => "provider_url_invalid",
            Self::BadHeader { .. } => "provider_header_invalid",
            Self::NoScript { .. } => "provider_script_missing",
        }
    }
}

impl From<ResolveError> for Failure {
    fn from(error: ResolveError) -> Self {
        Self::not_started(error.code(), error.to_string())
    }
}

impl ProviderConfig {
    /// Returns a provider of a dialect at an address, without a key.
    #[must_use]
    pub fn new(name: impl Into<String>, api: Api, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            api,
            base_url: base_url.into(),
            key: None,
            key_variable: None,
            headers: Vec::new(),
            models: Vec::new(),
            timeouts: Timeouts::default(),
            script: None,
        }
    }

    /// Returns a scripted provider.
    #[must_use]
    pub fn scripted(name: impl Into<String>, script: Script) -> Self {
        Self { script: Some(script), ..Self::new(name, Api::Scripted, "") }
    }

    /// Returns a known vendor with a key.
    #[must_use]
    pub fn vendor(vendor: &Vendor, key: Option<Secret>) -> Self {
        Self {
            key,
            key_variable: vendor.key_variables.first().map(|name| (*name).to_owned()),
            ..Self::new(vendor.name, vendor.api, vendor.base_url)
        }
    }

    /// Returns what is known of a model: as configured, else the vendor's usual bounds, else careful
    /// ones.
    #[must_use]
    pub fn model(&self, id: &str) -> ModelConfig {
        if let Some(model) = self.models.iter().find(|model| model.id == id) {
            return model.clone();
        }
        let unknown = ModelConfig::unknown(id);
        match catalog::vendor(&self.name) {
            Some(vendor) => ModelConfig {
                context_window: vendor.context_window,
                max_output: vendor.max_output,
                ..unknown
            },
            None => unknown,
        }
    }

    /// Makes the provider.
    ///
    /// # Errors
    /// When the configuration is not one.
    pub fn resolve(&self, clock: &Clock) -> Result<SharedProvider, ResolveError> {
        match self.api {
            Api::Scripted => {
                let script = self.script.clone();
                let script =
                    script.ok_or_else(|| ResolveError::NoScript { provider: self.name.clone() })?;
                Ok(Arc::new(Scripted::new(script)))
            }
            Api::OpenAiChat => self.vendor_of(clock, "chat/completions", openai_chat::DIALECT),
            Api::Anthropic => self.vendor_of(clock, "messages", anthropic::DIALECT),
        }
    }

    fn vendor_of(
        &self,
        clock: &Clock,
        path: &str,
        dialect: Dialect,
    ) -> Result<SharedProvider, ResolveError> {
        let models = self.models.clone().into();
        Ok(Arc::new(dialect::Vendor { peer: self.peer(clock, path)?, models, dialect }))
    }

    /// Returns whom to ask under a path below the API's own root.
    pub(crate) fn peer(&self, clock: &Clock, path: &str) -> Result<Peer, ResolveError> {
        let (url, headers) = (self.url(path)?, self.header_map()?);
        let variable = self.key_variable.as_deref();
        let speaker = Speaker::new(&self.name, variable, (&url, &headers));
        Ok(Peer {
            speaker: Arc::new(speaker),
            url,
            headers,
            timeouts: self.timeouts,
            clock: clock.clone(),
        })
    }

    fn url(&self, path: &str) -> Result<Url, ResolveError> {
        let bad = || ResolveError::BadUrl { provider: self.name.clone() };
        let Ok(mut url) = self.base_url.trim().parse::<Url>() else { return Err(bad()) };
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(bad());
        }
        let mut base = url.path().trim_end_matches('/').to_owned();
        for whole in ["/chat/completions", "/messages"] {
            base = base.strip_suffix(whole).map(str::to_owned).unwrap_or(base);
        }
        // Clients of Messages are used to addresses without the version.
        if self.api == Api::Anthropic && !base.ends_with("/v1") {
            base.push_str("/v1");
        }
        url.set_path(&format!("{base}/{path}"));
        Ok(url)
    }

    fn header_map(&self) -> Result<HeaderMap, ResolveError> {
        let bad = |header: &str| ResolveError::BadHeader {
            provider: self.name.clone(),
            header: header.to_owned(),
        };
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (name, prefix) = match self.api {
            Api::Anthropic => {
                map.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
                ("x-api-key", "")
            }
            Api::OpenAiChat | Api::Scripted => ("authorization", "Bearer "),
        };
        if let Some(key) = &self.key {
            map.insert(name, sensitive(prefix, key).ok_or_else(|| bad(name))?);
        }
        for (name, value) in &self.headers {
            let Ok(parsed) = HeaderName::from_str(name) else { return Err(bad(name)) };
            map.insert(parsed, sensitive("", value).ok_or_else(|| bad(name))?);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests;
