//! Workspaces that have names: added, listed, attached, removed. Tokens go in by the environment, a hidden prompt or a
//! pipe, and never come out.

use std::{path::PathBuf, process::ExitCode};

use api::{
    agent::Done,
    client::{Client, Target},
    job::NoWishes,
    routes::Endpoint,
    secret::SetSecret,
    workspace::{AddWorkspace, AttachWorkspace, WorkspaceList, WorkspaceRow, token_name},
};
use stdx::secret::Secret;
use vocab::{
    outcome::Failure,
    place::{Link, Place, Source},
};

use crate::{
    args::{Add, AttachRuntime, Json},
    client,
    compose::places::address_of,
    env, exit,
    print::{
        self, Look,
        table::{DIRECTORY, Table},
    },
    role::secrets::{ask_for_key, read_key},
};

/// The variable that holds the token of a runtime.
const TOKEN: &str = "STEAD_REMOTE_TOKEN";

/// Adds one.
pub(super) async fn add(add: Add) -> anyhow::Result<ExitCode> {
    let Add { name, json, .. } = &add;
    let (name, json) = (name.clone(), *json);
    let place = place(add)?;
    let client = client::connect(&env::paths()?).await?;
    let wants_token = matches!(place, Place::Remote { .. });
    if wants_token && let Some(token) = token_at_hand(&name)? {
        store(&client, &name, token).await?;
    }
    if matches!(place, Place::Ssh { .. }) {
        print::err("stead: looking for this program there\n");
    }
    let body = AddWorkspace { name, place };
    let added: WorkspaceRow = client
        .json(Endpoint::WorkspaceAdd, Target::default(), Some(&body))
        .await
        .map_err(Failure::from)?;
    told(&added, json)
}

/// Returns the place that flags mean.
fn place(add: Add) -> Result<Place, Failure> {
    if let Some(path) = add.path {
        let path = whole(path)?;
        return Ok(Place::Local { path });
    }
    if let Some(address) = add.remote {
        // Refused here, before it stands in any request.
        address_of(&address)?;
        let (ca, channel) = (add.ca.map(whole).transpose()?, add.channel);
        return Ok(Place::Remote { address, ca, channel });
    }
    if let Some(host) = add.ssh {
        return Ok(Place::Ssh { host, root: add.root.unwrap_or_default(), exec: add.allow_exec });
    }
    let expected_root = add.expect_root.unwrap_or_default();
    Ok(Place::Deferred { expected_root, address: None, ca: None })
}

/// Returns a path as the daemon finds it, which starts elsewhere.
fn whole(path: PathBuf) -> Result<String, Failure> {
    let path = env::cwd()?.join(path);
    path.into_os_string()
        .into_string()
        .map_err(|_lossy| Failure::not_started("invalid_field", "the path is not UTF-8"))
}

/// Returns the token that is given with the command, if one is: in the environment or at a prompt. A pipe is not read:
/// it may be a script's own, and never end.
fn token_at_hand(name: &str) -> Result<Option<Secret>, Failure> {
    if let Some(token) = env::get(TOKEN) {
        return Ok(Some(Secret::new(token)));
    }
    if print::stdin_is_terminal() {
        return ask_for_key(&format!("workspace {name}"));
    }
    Ok(None)
}

async fn store(client: &Client, name: &str, token: Secret) -> anyhow::Result<()> {
    let body = SetSecret { provider_id: token_name(name), key: token.into() };
    let done = client.json::<_, Done>(Endpoint::SecretSet, Target::default(), Some(&body)).await;
    done.map_err(Failure::from)?;
    Ok(())
}

/// Stores a token anew.
pub(super) async fn token(name: String) -> anyhow::Result<ExitCode> {
    let token = match env::get(TOKEN) {
        Some(token) => Secret::new(token),
        None => read_key(&format!("workspace {name}"))?,
    };
    let client = client::connect(&env::paths()?).await?;
    store(&client, &name, token).await?;
    print::err(&format!("stead: the token of {} is stored\n", print::clean::clean_line(&name)));
    Ok(ExitCode::from(exit::OK))
}

/// Attaches a runtime.
pub(super) async fn attach(attach: AttachRuntime) -> anyhow::Result<ExitCode> {
    let AttachRuntime { name, url, ca } = attach;
    address_of(&url)?;
    let client = client::connect(&env::paths()?).await?;
    if let Some(token) = token_at_hand(&name)? {
        store(&client, &name, token).await?;
    }
    let body = AttachWorkspace { address: url, ca: ca.map(whole).transpose()? };
    let attached: WorkspaceRow = client
        .json(Endpoint::WorkspaceAttach, Target::of(&name), Some(&body))
        .await
        .map_err(Failure::from)?;
    told(&attached, Json::default())
}

/// Lets a runtime go.
pub(super) async fn detach(name: String) -> anyhow::Result<ExitCode> {
    let client = client::connect(&env::paths()?).await?;
    let detached: WorkspaceRow = client
        .json(Endpoint::WorkspaceDetach, Target::of(&name), Some(&NoWishes {}))
        .await
        .map_err(Failure::from)?;
    told(&detached, Json::default())
}

/// Removes one.
pub(super) async fn remove(name: String) -> anyhow::Result<ExitCode> {
    let client = client::connect(&env::paths()?).await?;
    client
        .json::<(), Done>(Endpoint::WorkspaceRemove, Target::of(&name), None)
        .await
        .map_err(Failure::from)?;
    print::err(&format!("stead: {} has no name any more\n", print::clean::clean_line(&name)));
    Ok(ExitCode::from(exit::OK))
}

/// Lists them.
pub(super) async fn list(json: Json) -> anyhow::Result<ExitCode> {
    let client = client::connect(&env::paths()?).await?;
    let list: WorkspaceList = client
        .json::<(), _>(Endpoint::WorkspaceList, Target::default(), None)
        .await
        .map_err(Failure::from)?;
    if json.json {
        return Ok(print::json(&list.workspaces));
    }
    if list.workspaces.is_empty() {
        print::err("stead: no workspace has a name yet; stead workspace add\n");
        return Ok(ExitCode::from(exit::OK));
    }
    let mut table = Table::new(&["NAME", "REACHED", "STATE", DIRECTORY, "FROM"]);
    for row in &list.workspaces {
        let from = match row.source {
            Source::Config => "config",
            Source::Added => "added",
        };
        let root = row.root.as_deref().unwrap_or_default();
        table.row(&[&row.name, &reached(&row.place), state(row.link), root, from]);
    }
    let look = Look::of_process();
    Ok(print::out(&table.render(look.table_width(), look.out.style)))
}

fn reached(place: &Place) -> String {
    match place {
        Place::Local { .. } => "here".to_owned(),
        Place::Remote { address, channel: Some(channel), .. } => format!("{address} · {channel}"),
        Place::Remote { address, .. } => address.clone(),
        Place::Ssh { host, .. } => format!("ssh {host}"),
        Place::Deferred { address, .. } => address.clone().unwrap_or_default(),
    }
}

fn state(link: Link) -> &'static str {
    match link {
        Link::Closed => "not asked yet",
        Link::Open => "open",
        Link::Connected => "connected",
        Link::Resuming => "reconnecting",
        Link::Lost => "lost",
        Link::Detached => "detached",
    }
}

/// Says what became of one.
fn told(row: &WorkspaceRow, json: Json) -> anyhow::Result<ExitCode> {
    if json.json {
        return Ok(print::json(row));
    }
    let root = row.root.as_deref().unwrap_or("no directory yet");
    let line = format!("{} is {}, {} ({})", row.name, root, reached(&row.place), state(row.link));
    print::err(&format!("stead: {}\n", print::clean::clean_line(&line)));
    Ok(ExitCode::from(exit::OK))
}
