//! What flags and their twins mean together: settings that a runtime can be made of, or why it may not be.
//!
//! The environment is a function here. Values are not repeated where they may be secrets.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    str::FromStr,
};

use stdx::secret::Secret;
use vocab::{
    limits::{
        ARTIFACTS_BYTES_MAX, CHILD_TIMEOUT_MS_MAX, REMOTE_CALLS_ALL_MAX, REMOTE_CALLS_MAX,
        REMOTE_CONNECTIONS_MAX, REMOTE_GRACE_MS, REMOTE_TRANSFERS_ALL_MAX, REMOTE_TRANSFERS_MAX,
    },
    outcome::Failure,
};
use workspace_remote::door::{Origin, Token};

use crate::args::{Bounds, Permits, Serve, ServedPlace as Place, Wire};

/// Where the token is read from.
pub(crate) const TOKEN: &str = "STEAD_WORKSPACE_TOKEN";
/// Where is listened when nothing else is said.
const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);
/// The longest grace that may be asked for: a connection that nobody comes back to holds its places so long.
const GRACE_SECONDS_MAX: u64 = 3_600;

/// All that a runtime is made of.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) place: Place,
    pub(super) listen: Listen,
    pub(super) tls: Option<(PathBuf, PathBuf)>,
    pub(super) token: Option<Token>,
    pub(super) origins: Vec<Origin>,
    pub(super) permits: Permits,
    pub(super) bounds: Bounds,
}

/// How it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Listen {
    /// Standard input and output.
    Stdio,
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// Whoever is asked for the twins.
pub(super) struct Twins<F>(pub(super) F);

fn usage(why: impl Into<String>) -> Failure {
    Failure::not_started("usage", why)
}

fn refused(code: &str, why: &str, hint: &str) -> Failure {
    Failure::not_started(code, why).with_hint(hint)
}

fn name(flag: &str) -> String {
    format!("STEAD_WORKSPACE_{}", flag.to_ascii_uppercase().replace('-', "_"))
}

impl<F: Fn(&str) -> Option<String>> Twins<F> {
    fn text(&self, flag: &str) -> Option<String> {
        (self.0)(&name(flag))
    }

    fn path(&self, typed: Option<PathBuf>, flag: &str) -> Option<PathBuf> {
        typed.or_else(|| self.text(flag).map(PathBuf::from))
    }

    fn list(&self, typed: Vec<String>, flag: &str) -> Vec<String> {
        if !typed.is_empty() {
            return typed;
        }
        let text = self.text(flag).unwrap_or_default();
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(str::to_owned).collect()
    }

    fn switch(&self, typed: bool, flag: &str) -> Result<bool, Failure> {
        match self.text(flag).as_deref() {
            _ if typed => Ok(true),
            None | Some("false" | "0" | "no") => Ok(false),
            Some("true" | "1" | "yes") => Ok(true),
            Some(_) => Err(usage(format!("{} is neither true nor false", name(flag)))),
        }
    }

    /// Returns a number within its bounds.
    fn number(
        &self,
        typed: Option<u64>,
        flag: &str,
        (least, most): (u64, u64),
    ) -> Result<Option<u64>, Failure> {
        let number = match (typed, self.text(flag)) {
            (None, Some(text)) => {
                let parsed = text.trim().parse();
                Some(parsed.map_err(|_no_number| usage(format!("{} is no number", name(flag))))?)
            }
            (typed, _) => typed,
        };
        match number.filter(|number| !(least..=most).contains(number)) {
            Some(_) => Err(usage(format!("--{flag} is a number from {least} to {most}"))),
            None => Ok(number),
        }
    }
}

impl Settings {
    /// Decides what is served, how, and for whom.
    ///
    /// # Errors
    /// When something is no value of its kind, or may not be.
    pub(super) fn of<F: Fn(&str) -> Option<String>>(
        typed: Serve,
        twins: &Twins<F>,
        is_root: bool,
    ) -> Result<Self, Failure> {
        let permits = permits(&typed.permits, twins)?;
        if is_root && !permits.allow_root {
            return Err(refused(
                "root_refused",
                "a workspace is not served as root",
                "run it as another user, or say --allow-root where the machine holds nothing else",
            ));
        }
        let token = (twins.0)(TOKEN).map(|text| Token::new(&Secret::new(text))).transpose();
        let token = token.map_err(|error| {
            let why = format!("{TOKEN} cannot be used: {error}");
            refused(error.code(), &why, "openssl rand -hex 32")
        })?;
        let (listen, tls, origins) = wire(typed.wire, twins)?;
        let (place, bounds) = (place(typed.place, twins)?, bounds(&typed.bounds, twins)?);
        let settings = Self { place, listen, tls, token, origins, permits, bounds };
        settings.check()?;
        Ok(settings)
    }

    /// Refuses what would hand the machine to strangers.
    fn check(&self) -> Result<(), Failure> {
        let Listen::Tcp(address) = &self.listen else { return Ok(()) };
        if address.ip().is_loopback() {
            return Ok(());
        }
        if self.token.is_none() {
            return Err(refused(
                "token_required",
                "beyond this machine a workspace is served only to those who have a token",
                "export STEAD_WORKSPACE_TOKEN=$(openssl rand -hex 32)",
            ));
        }
        if self.tls.is_none() && !self.permits.allow_insecure_transport {
            return Err(refused(
                "tls_required",
                "beyond this machine a workspace is served over TLS",
                "--tls-cert and --tls-key; --allow-insecure-transport where something in front speaks TLS",
            ));
        }
        Ok(())
    }
}

fn permits<F: Fn(&str) -> Option<String>>(
    typed: &Permits,
    twins: &Twins<F>,
) -> Result<Permits, Failure> {
    let exposed = "allow-insecure-transport";
    Ok(Permits {
        allow_exec: twins.switch(typed.allow_exec, "allow-exec")?,
        allow_root: twins.switch(typed.allow_root, "allow-root")?,
        allow_mounts: twins.switch(typed.allow_mounts, "allow-mounts")?,
        allow_insecure_transport: twins.switch(typed.allow_insecure_transport, exposed)?,
        trust_project_lsp: twins.switch(typed.trust_project_lsp, "trust-project-lsp")?,
    })
}

type Wired = (Listen, Option<(PathBuf, PathBuf)>, Vec<Origin>);

fn wire<F: Fn(&str) -> Option<String>>(typed: Wire, twins: &Twins<F>) -> Result<Wired, Failure> {
    // A flag wins over the twin of the one that it excludes.
    let is_stdio = typed.stdio || typed.listen.is_none() && twins.switch(false, "stdio")?;
    if is_stdio {
        return Ok((Listen::Stdio, None, Vec::new()));
    }
    let listen = match typed.listen.or_else(|| twins.text("listen")) {
        Some(text) => listen_at(&text)?,
        None => Listen::Tcp(USUAL),
    };
    let cert = twins.path(typed.tls_cert, "tls-cert");
    let key = twins.path(typed.tls_key, "tls-key");
    let tls = match (cert, key) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err(usage("--tls-cert and --tls-key belong together")),
    };
    if tls.is_some() && matches!(listen, Listen::Unix(_)) {
        return Err(usage("a Unix socket needs no TLS"));
    }
    let origins = twins.list(typed.origin, "origin");
    let origins: Result<Vec<Origin>, _> =
        origins.iter().map(|text| Origin::from_str(text)).collect();
    Ok((listen, tls, origins.map_err(|error| usage(format!("--origin: {error}")))?))
}

fn listen_at(text: &str) -> Result<Listen, Failure> {
    if let Some(path) = text.strip_prefix("unix:") {
        let path = Path::new(path);
        return if path.is_absolute() {
            Ok(Listen::Unix(path.to_owned()))
        } else {
            Err(usage("--listen: a socket's path is a whole one, from / on"))
        };
    }
    let text = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    let address = text.parse().map_err(|_no_address| {
        usage("--listen is an address with a port, like 127.0.0.1:8787, or unix:/PATH")
    })?;
    Ok(Listen::Tcp(address))
}

fn place<F: Fn(&str) -> Option<String>>(typed: Place, twins: &Twins<F>) -> Result<Place, Failure> {
    let id = typed.id.or_else(|| twins.text("id"));
    let is_id = |id: &String| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (1..=64).contains(&id.len()) && id.bytes().all(plain)
    };
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return Err(usage("--id has 1 to 64 letters, digits, dots, hyphens and underscores"));
    }
    // A flag wins over the twin of the one that it excludes.
    let shared_parent = match (&typed.shared_parent, &typed.root) {
        (None, Some(_)) => None,
        (typed, _) => twins.path(typed.clone(), "shared-parent"),
    };
    let root = match (&shared_parent, typed.root) {
        (Some(_), Some(_)) => {
            return Err(usage("--root and --shared-parent exclude each other"));
        }
        (Some(_), None) if typed.shared_parent.is_none() && twins.text("root").is_some() => {
            return Err(usage("--root and --shared-parent exclude each other"));
        }
        (Some(_), None) => None,
        (None, root) => Some(twins.path(root, "root").unwrap_or_else(|| PathBuf::from("."))),
    };
    if shared_parent.is_some() && id.is_some() {
        return Err(usage("--id is one workspace's, and --shared-parent serves several"));
    }
    Ok(Place {
        root,
        shared_parent,
        id,
        temp_root: twins.path(typed.temp_root, "temp-root"),
        artifact_dir: twins.path(typed.artifact_dir, "artifact-dir"),
        shell: twins.path(typed.shell, "shell"),
        env: twins.list(typed.env, "env"),
        lsp_config: twins.path(typed.lsp_config, "lsp-config"),
    })
}

fn bounds<F: Fn(&str) -> Option<String>>(
    typed: &Bounds,
    twins: &Twins<F>,
) -> Result<Bounds, Failure> {
    let number = |typed, flag, most| twins.number(typed, flag, (1, most));
    Ok(Bounds {
        max_connections: number(typed.max_connections, "max-connections", REMOTE_CONNECTIONS_MAX)?,
        max_calls: number(typed.max_calls, "max-calls", REMOTE_CALLS_MAX)?,
        max_total_calls: number(typed.max_total_calls, "max-total-calls", REMOTE_CALLS_ALL_MAX)?,
        max_transfers: number(typed.max_transfers, "max-transfers", REMOTE_TRANSFERS_MAX)?,
        max_total_transfers: number(
            typed.max_total_transfers,
            "max-total-transfers",
            REMOTE_TRANSFERS_ALL_MAX,
        )?,
        max_grace: twins.number(typed.max_grace, "max-grace", (0, GRACE_SECONDS_MAX))?,
        max_artifacts: number(typed.max_artifacts, "max-artifacts", ARTIFACTS_BYTES_MAX >> 20)?,
        max_command: number(typed.max_command, "max-command", CHILD_TIMEOUT_MS_MAX / 1_000)?,
    })
}

/// Returns the grace in milliseconds.
pub(super) fn grace_ms(bounds: &Bounds) -> u64 {
    bounds.max_grace.map_or(REMOTE_GRACE_MS, |seconds| seconds * 1_000)
}

#[cfg(test)]
mod tests;
