//! Opens the language servers of a workspace. None is started: the first call does that.

use std::{
    collections::HashMap,
    io::Read,
    sync::{Arc, Mutex},
};

use confine::{Reason, Root};
use sandbox::{Environment, Host};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::LSP_CONFIG_BYTES_MAX,
    outcome::{Effect, Failure},
    path,
};
use workspace::{catalog::Catalog, grant::ExecGrant};

use crate::{
    config::{self, ConfigError, Lacks, PROJECT_LAYER, ProjectTrust, Server},
    serve::{self, Changes, Configured, Inner, Lsp},
    site::{Bounds, Site},
    tools,
};

/// What the language servers of a workspace are made of.
#[derive(Debug)]
pub struct Options {
    /// The workspace's files.
    pub root: Root,
    /// The text of the operator's layer, if there is one.
    pub operator: Option<String>,
    /// Permission to start servers here.
    pub exec: Option<ExecGrant>,
    /// Trust in the project's layer, and permission to show files to attached servers.
    pub trust: Option<ProjectTrust>,
    /// All that servers see of the environment, besides what their layer gives them.
    pub environment: Environment,
    /// What servers are held to.
    pub bounds: Bounds,
}

/// Why there can be no language servers.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operator's layer cannot be used.
    #[error("the configuration of language servers cannot be used: {0}")]
    Config(#[from] ConfigError),
    /// It was not opened by a task.
    #[error("language servers need a runtime")]
    NoRuntime,
}

impl OpenError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Config(error) => error.code(),
            Self::NoRuntime => "internal",
        }
    }

    /// Returns what changed: nothing.
    #[must_use]
    pub fn effect(&self) -> Effect {
        Effect::NotStarted
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::not_started(error.code(), error.to_string())
    }
}

impl Lsp {
    /// Reads the layers and offers the tools, if some server may be used. Blocks for as long as reading one
    /// small file takes.
    ///
    /// # Errors
    /// When the operator's layer cannot be used. What is wrong with the project's is told by [`Lsp::notes`].
    pub fn open(options: Options) -> Result<Self, OpenError> {
        let handle = Handle::try_current().ok().ok_or(OpenError::NoRuntime)?;
        let operator = options.operator.as_deref().map(config::parse).transpose()?;
        let mut servers = operator.unwrap_or_default();
        let mut notes = Vec::new();
        // Without trust the project's layer is not even read: it could say nothing that counts.
        if options.trust.is_some() {
            match project(&options.root) {
                Ok(layer) => add(&mut servers, layer, &mut notes),
                Err(why) => notes.push(format!("{PROJECT_LAYER} is passed over: {why}")),
            }
        }
        let configured: Vec<Configured> = servers
            .into_iter()
            .map(|server| {
                let lacks = server.lacks(options.exec.as_ref(), options.trust.as_ref());
                Configured { server: Arc::new(server), lacks }
            })
            .collect();
        notes.extend(configured.iter().filter_map(lack));
        let some = configured.iter().any(|one| one.lacks.is_none());
        let specs = if some { tools::specs() } else { Vec::new() };
        let (root, bounds, environment) = (options.root, options.bounds, options.environment);
        let ended = CancellationToken::new();
        let changes = Arc::<Changes>::default();
        let inner = Arc::new(Inner {
            site: Arc::new(Site { root, environment, host: Host::probe(), bounds }),
            configured,
            notes,
            instances: Mutex::new(HashMap::new()),
            admission: tokio::sync::Mutex::default(),
            catalog: Arc::new(Catalog::new(1, specs.into_iter().map(Arc::new))),
            recent: Mutex::default(),
            changes: Arc::clone(&changes),
            handle: handle.clone(),
            closed: CancellationToken::new(),
            _ended: ended.clone().drop_guard(),
        });
        if some {
            handle.spawn(serve::follow_changes(Arc::downgrade(&inner), changes, ended));
        }
        Ok(Self(inner))
    }
}

/// Adds the project's servers. One that the operator names as well stays the operator's.
fn add(servers: &mut Vec<Server>, layer: Vec<Server>, notes: &mut Vec<String>) {
    for server in layer {
        if servers.iter().any(|known| known.name == server.name) {
            notes.push(format!(
                "{} in {PROJECT_LAYER} is passed over: the operator has one of that name",
                server.name
            ));
        } else {
            servers.push(server);
        }
    }
}

/// Says what a server lacks, for the operator.
pub(crate) fn lack(one: &Configured) -> Option<String> {
    let name = &one.server.name;
    one.lacks.map(|lacks| match lacks {
        Lacks::Exec => {
            format!("{name} is not used: it is started here, and programs may not be run")
        }
        Lacks::Trust => {
            format!("{name} is not used: it is attached, and the project is not trusted")
        }
    })
}

/// Reads the project's layer; empty when there is none.
fn project(root: &Root) -> Result<Vec<Server>, String> {
    let path = path::parse(PROJECT_LAYER, root.roots()).map_err(|error| error.to_string())?;
    let opened = match root.open_file(&path) {
        Ok(opened) => opened,
        Err(error) if error.reason == Reason::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.reason.to_string()),
    };
    let mut bytes = Vec::new();
    opened
        .file
        .take(LSP_CONFIG_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LSP_CONFIG_BYTES_MAX {
        return Err(format!("it is larger than {LSP_CONFIG_BYTES_MAX} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
    config::parse(&text).map_err(|error| error.to_string())
}
