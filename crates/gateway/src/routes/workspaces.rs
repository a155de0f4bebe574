//! Registered workspaces. No handler reads a token, and what an address holds of one is refused before it is kept.

use ::daemon::workspaces::Listed;
use api::{
    agent::Done,
    job::NoWishes,
    workspace::{AddWorkspace, AttachWorkspace, WorkspaceList, WorkspaceRow, token_name},
};

use crate::{
    mount::{Ask, Reply},
    refuse::Refused,
    routes::Services,
};

/// `GET /workspaces`
pub(super) async fn list(services: &Services) -> Result<Reply, Refused> {
    let listed = services.daemon.workspaces.list().await?;
    let workspaces: Result<Vec<WorkspaceRow>, Refused> =
        listed.into_iter().map(|one| row(services, one)).collect();
    Reply::json(&WorkspaceList { workspaces: workspaces? })
}

/// `POST /workspaces`
pub(super) async fn add(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let AddWorkspace { name, place } = ask.json()?;
    let added = services.daemon.workspaces.add(&name, place).await?;
    Reply::json(&row(services, added)?)
}

/// `POST /workspaces/{workspace}/attach`
pub(super) async fn attach(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let AttachWorkspace { address, ca } = ask.json()?;
    let attached = services.daemon.workspaces.attach(&ask.parameter, address, ca).await?;
    Reply::json(&row(services, attached)?)
}

/// `POST /workspaces/{workspace}/detach`
pub(super) async fn detach(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let NoWishes {} = ask.json()?;
    let detached = services.daemon.workspaces.detach(&ask.parameter).await?;
    Reply::json(&row(services, detached)?)
}

/// `DELETE /workspaces/{workspace}`
pub(super) async fn remove(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    services.daemon.workspaces.remove(&ask.parameter).await?;
    services.daemon.secrets.forget(&token_name(&ask.parameter))?;
    Reply::json(&Done { ok: true })
}

fn row(services: &Services, listed: Listed) -> Result<WorkspaceRow, Refused> {
    let Listed { registered, link, root } = listed;
    let has_token = services.daemon.secrets.has(&token_name(&registered.name)).unwrap_or_default();
    let (name, place, source) = (registered.name, registered.place, registered.source);
    Ok(WorkspaceRow { name, place, source, link, root, has_token })
}
