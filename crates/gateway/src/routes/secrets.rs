//! Keys of providers: stored, asked about, forgotten. No handler reads one.

use api::{
    agent::Done,
    secret::{HasSecret, SecretName, SetSecret},
};

use crate::{
    mount::{Ask, Reply},
    refuse::Refused,
    routes::Services,
};

/// `POST /secrets/has`
pub(super) fn has(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let request: SecretName = ask.json()?;
    Reply::json(&HasSecret { has: services.daemon.secrets.has(&request.provider_id)? })
}

/// `POST /secrets/set`
pub(super) fn set(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let request: SetSecret = ask.json()?;
    services.daemon.secrets.set(&request.provider_id, &request.key.into_secret())?;
    Reply::json(&Done { ok: true })
}

/// `POST /secrets/delete`
pub(super) fn delete(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let request: SecretName = ask.json()?;
    services.daemon.secrets.forget(&request.provider_id)?;
    Reply::json(&Done { ok: true })
}
