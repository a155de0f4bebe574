//! The handlers: each decodes, calls and encodes. A row of the table without a handler does not
//! compile, since the match below has no other arm.
//!
//! Rules are not here; they belong to the daemon and the sessions.

use std::sync::{Arc, OnceLock};

use ::daemon::{caller::Caller, host::Daemon};
use ::sessions::sessions::Sessions;
use api::{daemon::Registration, routes::Endpoint};
use tokio_util::sync::CancellationToken;
use vocab::{ids::SessionId, outcome::Failure};

use crate::{
    decode::Query,
    mount::{Ask, Handler, Reply},
    refuse::Refused,
};

mod agent;
mod chat;
mod content;
mod copies;
mod daemon;
mod events;
mod jobs;
mod messages;
mod secrets;
mod sessions;
mod which;
mod workspaces;

/// Where the daemon is, told once its doors are open.
#[derive(Debug, Clone, Default)]
pub struct About(Arc<OnceLock<Registration>>);

impl About {
    /// Tells where it is; the first word stands.
    pub fn set(&self, registration: Registration) {
        self.0.set(registration).ok();
    }

    /// Returns what was told.
    #[must_use]
    pub fn get(&self) -> Option<&Registration> {
        self.0.get()
    }
}

/// What handlers call.
#[derive(Debug, Clone)]
pub struct Services {
    /// The host.
    pub daemon: Arc<Daemon>,
    /// Its tenant.
    pub sessions: Arc<Sessions>,
    /// Where it is.
    pub about: About,
    /// Fires when a caller asks it to stop.
    pub stop: CancellationToken,
}

/// Builds the handlers as one function.
#[must_use]
pub fn handler(services: Services) -> Handler {
    let services = Arc::new(services);
    Arc::new(move |endpoint, ask| {
        let services = Arc::clone(&services);
        Box::pin(async move { answer(&services, endpoint, ask).await })
    })
}

/// The table's other half.
async fn answer(services: &Services, endpoint: Endpoint, ask: Ask) -> Result<Reply, Refused> {
    // Lists, events and the end of a job read their own queries; the handshake and the chat speak with others' programs.
    let own = matches!(
        endpoint,
        Endpoint::SessionList | Endpoint::JobList | Endpoint::JobRemove | Endpoint::Events
    );
    let others = matches!(endpoint, Endpoint::Handshake | Endpoint::Chat | Endpoint::ChatStream);
    if !own && !others {
        Query::parse(&ask.query, &[])?;
    }
    match endpoint {
        Endpoint::Handshake => daemon::handshake(services, &ask),
        Endpoint::AgentRun => Box::pin(agent::run(services, ask)).await,
        Endpoint::AgentStream => agent::stream(services, &ask).await,
        Endpoint::AgentAbort => agent::abort(services, &ask).await,
        Endpoint::AgentAnswer => agent::answer(services, &ask).await,
        Endpoint::Chat => Box::pin(chat::run(services, ask)).await,
        Endpoint::ChatStream => chat::stream(services, &ask).await,
        Endpoint::SessionList => sessions::list(services, &ask).await,
        Endpoint::SessionCreate => sessions::create(services, &ask).await,
        Endpoint::SessionShow => sessions::show(services, &ask).await,
        Endpoint::SessionDelete => sessions::delete(services, &ask).await,
        Endpoint::SessionMessages => messages::tell(services, &ask).await,
        Endpoint::JobList => jobs::list(services, &ask).await,
        Endpoint::JobDispatch => jobs::dispatch(services, &ask).await,
        Endpoint::JobResolve => jobs::resolve(services, &ask).await,
        Endpoint::JobShow => jobs::show(services, &ask).await,
        Endpoint::JobRemove => jobs::remove(services, &ask).await,
        Endpoint::JobStop => jobs::stop(services, &ask).await,
        Endpoint::JobRespawn => jobs::respawn(services, &ask).await,
        Endpoint::JobSend => jobs::send(services, &ask).await,
        Endpoint::JobUpgrade => jobs::upgrade(services, &ask).await,
        Endpoint::JobDetach => jobs::detach(services, &ask).await,
        Endpoint::JobRename => jobs::rename(services, &ask).await,
        Endpoint::JobPin => jobs::pin(services, &ask).await,
        Endpoint::JobReport => jobs::report(services, &ask).await,
        Endpoint::JobExplain => jobs::explain(services, &ask).await,
        Endpoint::JobScreen => jobs::screen(services, &ask).await,
        Endpoint::Events => events::follow(services, &ask).await,
        Endpoint::WorkspaceList => workspaces::list(services).await,
        Endpoint::WorkspaceAdd => Box::pin(workspaces::add(services, &ask)).await,
        Endpoint::WorkspaceAttach => Box::pin(workspaces::attach(services, &ask)).await,
        Endpoint::WorkspaceCopy => copies::copy(services, &ask).await,
        Endpoint::WorkspaceDetach => workspaces::detach(services, &ask).await,
        Endpoint::WorkspaceRemove => workspaces::remove(services, &ask).await,
        Endpoint::SecretHas => secrets::has(services, &ask),
        Endpoint::SecretSet => secrets::set(services, &ask),
        Endpoint::SecretDelete => secrets::delete(services, &ask),
        Endpoint::DaemonStatus => daemon::status(services).await,
        Endpoint::DaemonStop => daemon::stop(services, &ask).await,
    }
}

/// Finds the session that a text means: its id, or what is unique of it.
async fn session_of(
    services: &Services,
    caller: &Caller,
    text: &str,
) -> Result<SessionId, Refused> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let (mut found, more) = match services.sessions.fitting(caller, text).await? {
        Some(fitting) => (fitting.sessions, fitting.more),
        None => (Vec::new(), 0),
    };
    match (found.pop(), found.is_empty()) {
        (Some(row), true) => Ok(row.id),
        (None, _) => {
            let shown: String = text.chars().take(80).collect();
            let failure =
                Failure::not_started("session_not_found", format!("there is no session {shown:?}"));
            Err(failure.with_hint("stead sessions list shows what there is").into())
        }
        (Some(last), false) => {
            let mut what = "several sessions match".to_owned();
            if 0 < more {
                what.push_str(&format!(", {more} more than are listed"));
            }
            found.push(last);
            let ids = found.iter().map(|row| row.id.to_string());
            Err(Refused::new("ambiguous", what).meaning(ids.collect()))
        }
    }
}

#[cfg(test)]
mod tests;
