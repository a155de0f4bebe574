//! Opens workspaces of every kind: directories of this machine, runtimes that are called, runtimes over ssh.

use std::{path::PathBuf, sync::Arc};

use daemon::{
    paths::Paths,
    secrets::Unsealer,
    workspaces::{Openings, Registered},
};
use futures_util::future::BoxFuture;
use stdx::clock::Clock;
use vocab::{
    limits::{LSP_CONFIG_BYTES_MAX, TLS_FILE_BYTES_MAX},
    outcome::Failure,
    place::Place,
};
use workspace::{
    grant::{ExecGrant, Grants},
    source::OwnedWorkspace,
};
use workspace_local::Options;
use workspace_remote::{
    client::{ClientOptions, Connector, RemoteWorkspace},
    dial::{Address, AddressError, Dial},
    tls,
};

use super::ssh;
use crate::{config, env, place};

type Opened = Result<Box<dyn OwnedWorkspace>, Failure>;

/// Opens places for the daemon.
pub(super) struct Places {
    pub(super) paths: Paths,
    pub(super) clock: Clock,
    pub(super) unsealer: Unsealer,
}

impl Openings for Places {
    fn open_local(&self, path: PathBuf) -> BoxFuture<'static, Opened> {
        let (paths, clock) = (self.paths.clone(), self.clock.clone());
        Box::pin(async move {
            let opening = move || open(&paths, clock, path);
            match tokio::task::spawn_blocking(opening).await {
                Ok(opened) => opened,
                Err(_) => Err(Failure::not_started("internal", "opening the workspace failed")),
            }
        })
    }

    fn open_far(&self, registered: Registered) -> BoxFuture<'static, Opened> {
        let unsealer = self.unsealer.clone();
        Box::pin(async move {
            let name = registered.name.clone();
            let mut options = ClientOptions::new(env::PROGRAM, env!("CARGO_PKG_VERSION"), known());
            let connector = match registered.place {
                Place::Remote { address, ca, channel } => {
                    options.channel = channel;
                    call(&unsealer, &name, &address, ca)?
                }
                Place::Deferred { expected_root, address: Some(address), ca } => {
                    options.expected_root = Some(expected_root);
                    call(&unsealer, &name, &address, ca)?
                }
                Place::Ssh { host, root, exec } => ssh::connector(&host, &root, exec).await?,
                Place::Local { .. } | Place::Deferred { address: None, .. } => {
                    return Err(Failure::not_started("internal", "there is nothing to call"));
                }
            };
            let connected = RemoteWorkspace::connect(connector, options).await;
            let owner = connected.map_err(|error| {
                let failure = Failure::from(error);
                if failure.code == "token_refused" {
                    let hint = format!("stead workspace token {name}, or set STEAD_REMOTE_TOKEN");
                    return failure.with_hint(hint);
                }
                failure
            })?;
            Ok(Box::new(owner) as Box<dyn OwnedWorkspace>)
        })
    }

    fn registered(&self) -> Result<Vec<Registered>, Failure> {
        Ok(config::load(&self.paths)?.places())
    }
}

/// Returns the tools that this program knows: of a runtime's, only these are offered.
fn known() -> Vec<Arc<vocab::tool::ToolSpec>> {
    workspace_local::specs().into_iter().chain(lsp::specs()).map(Arc::new).collect()
}

fn call(
    unsealer: &Unsealer,
    name: &str,
    address: &str,
    ca: Option<String>,
) -> Result<Connector, Failure> {
    let address = address_of(address)?;
    let token = unsealer.unseal(&api::workspace::token_name(name))?;
    let is_tls = matches!(address, Address::Tcp { is_tls: true, .. });
    let tls = is_tls.then(|| authorities(ca)).transpose()?;
    Ok(Dial { address, token, tls }.connector())
}

/// Reads an address, and refuses one that would carry a token in the clear.
pub(crate) fn address_of(text: &str) -> Result<Address, Failure> {
    text.parse().map_err(|error: AddressError| {
        let failure = Failure::not_started(error.code(), error.to_string());
        if error == AddressError::Exposed {
            failure
                .with_hint("or a tunnel: ssh -L 8787:127.0.0.1:8787 HOST, and ws://127.0.0.1:8787")
        } else {
            failure
        }
    })
}

fn authorities(ca: Option<String>) -> Result<Arc<rustls::ClientConfig>, Failure> {
    let pem = match ca {
        Some(path) => {
            let path = config::expand(&path);
            Some(place::read_bounded("file of authorities", &path, TLS_FILE_BYTES_MAX)?)
        }
        None => None,
    };
    tls::client(pem.as_deref())
        .map_err(|error| Failure::not_started(error.code(), error.to_string()))
}

fn open(paths: &Paths, clock: Clock, path: PathBuf) -> Opened {
    let config = config::load(paths)?;
    let servers = servers(paths, &config)?;
    let run = config.run;
    // On the owner's own machine a local directory may run programs and enter its mounts.
    let grants = Grants { exec: Some(ExecGrant::by_owner()), mounts: true };
    // The outputs of one place stay together, and away from those of others.
    let id = workspace_local::derived_id(&path);
    let artifacts = paths.artifacts().join(&id.0);
    stdx::state_file::ensure_dir(&artifacts)
        .map_err(|error| Failure::not_started("state_refused", error.to_string()))?;
    let mut options = Options::new(path, artifacts);
    options.grants = grants;
    options.protected = paths.protected();
    options.exempt = vec![paths.home.join("sessions")];
    options.clock = clock;
    let names: Vec<std::ffi::OsString> = run.env.into_iter().map(Into::into).collect();
    options.programs.environment = sandbox::Environment::for_tools(&env::all(), &names);
    options.programs.shell = run.shell;
    if let Some(seconds) = run.bash_timeout_seconds {
        options.programs.timeout_ms_default = u64::from(seconds) * 1000;
    }
    place::open(options, servers)
}

/// Reads which language servers local directories have.
fn servers(paths: &Paths, config: &config::Config) -> Result<place::Servers, Failure> {
    let named = config.lsp.config.as_deref().map(config::expand);
    let path = named.clone().unwrap_or_else(|| paths.servers());
    let refused = |why: String| {
        let message = format!("the language servers' file {} {why}", path.display());
        Failure::not_started("lsp_config", message)
    };
    let read = stdx::state_file::read_config(&path, LSP_CONFIG_BYTES_MAX);
    let bytes = read.map_err(|error| refused(format!("cannot be read: {error}")))?;
    if bytes.is_none() && named.is_some() {
        return Err(refused("is not there".to_owned()));
    }
    let text = bytes.map(String::from_utf8).transpose();
    let operator = text.map_err(|error| refused(format!("is no text: {error}")))?;
    let trusted = config.lsp.trust.iter().map(|dir| config::expand(dir)).collect();
    Ok(place::Servers { operator, trusted })
}
