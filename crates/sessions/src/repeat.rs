//! Requests that come twice under one key: the second gets what the first led to.
//!
//! What is remembered holds a digest of all that was asked, so that a key that is used again for
//! something else is told so, and never gets a stranger's answer.

use daemon::caller::{Caller, CallerKind};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use store::Change;
use vocab::outcome::Failure;

use crate::{
    sessions::{Create, Sessions},
    start::Start,
};

/// A request with its key.
pub(crate) struct Keyed {
    scope: String,
    token: String,
    asked: String,
}

impl Keyed {
    /// Reads the start of a run; none when it has no key.
    pub(crate) fn of_start(caller: &Caller, start: &Start) -> Option<Self> {
        let token = start.idempotency_key.as_ref()?;
        // Keys of providers are left out: they are how something is asked, and secret.
        let wanted = (&start.wanted.provider, &start.wanted.model);
        let place = (&start.session, &start.alias, &start.workspace, &start.cwd);
        let asked = (&start.parts, place, wanted, start.mode, start.interactive);
        Some(Self::new(scope_of("run", caller), token, serde_json::to_vec(&asked)))
    }

    /// Reads the creation of a session; none when it has no key.
    pub(crate) fn of_create(caller: &Caller, create: &Create) -> Option<Self> {
        let token = create.idempotency_key.as_ref()?;
        let place = (&create.workspace, &create.cwd);
        let asked = (&create.title, place, &create.model, create.mode);
        Some(Self::new(scope_of("session", caller), token, serde_json::to_vec(&asked)))
    }

    fn new(scope: String, token: &str, asked: serde_json::Result<Vec<u8>>) -> Self {
        let digest = Sha256::digest(asked.unwrap_or_default());
        let asked = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { scope, token: token.to_owned(), asked }
    }

    /// Returns the change that remembers what the request led to.
    pub(crate) fn led_to(
        &self,
        answer: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Change {
        let mut all: Map<String, Value> =
            answer.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
        all.insert("asked".into(), self.asked.clone().into());
        let (scope, token) = (self.scope.clone(), self.token.clone());
        Change::PutIdempotent { scope, token, answer: all.into() }
    }
}

/// What an earlier request with the same key led to.
pub(crate) struct Known(Value);

impl Known {
    /// Reads an id of it.
    ///
    /// # Errors
    /// When the store was damaged.
    pub(crate) fn id<T: std::str::FromStr<Err = vocab::ids::BadId>>(
        &self,
        name: &str,
    ) -> Result<T, Failure> {
        let text = self.0.get(name).and_then(Value::as_str).unwrap_or_default();
        text.parse().map_err(|error| {
            let why = format!("a remembered answer is damaged: {error}");
            Failure::not_started("store_corrupt", why)
        })
    }
}

impl Sessions {
    /// Looks for an earlier request with the same key.
    ///
    /// # Errors
    /// When it asked for something else, or the store cannot be read.
    pub(crate) async fn known(&self, keyed: Option<&Keyed>) -> Result<Option<Known>, Failure> {
        let Some(Keyed { scope, token, asked }) = keyed else { return Ok(None) };
        let Some(answer) = self.store.idempotent(scope, token).await? else { return Ok(None) };
        if answer.get("asked").and_then(Value::as_str) != Some(asked) {
            let why = "this idempotency key was used for another request";
            return Err(Failure::not_started("idempotency_mismatch", why)
                .with_hint("use a new key for every new request"));
        }
        Ok(Some(Known(answer)))
    }
}

/// Keys of one kind of caller do not answer for another's.
fn scope_of(what: &str, caller: &Caller) -> String {
    match caller.kind() {
        CallerKind::Person => format!("{what}/person"),
        CallerKind::Agent(Some(run)) => format!("{what}/agent/{run}"),
        CallerKind::Agent(None) => format!("{what}/agent"),
        CallerKind::Page(origin) => format!("{what}/page/{origin}"),
    }
}
