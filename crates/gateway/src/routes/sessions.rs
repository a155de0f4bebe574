//! Sessions as lists and readers see them.

use api::{
    agent::Done,
    session::{CreateSession, SessionDetail, SessionPage, SessionRow},
    ui,
};
use sessions::{
    rows::{self, Filter},
    sessions::Create,
};
use stdx::clock::Timestamp;
use vocab::{limits, message::ModelRef};

use crate::{
    decode::{self, Query, Text},
    mount::{Ask, Reply},
    refuse::Refused,
    routes::{Services, session_of},
};

/// `GET /sessions`
pub(super) async fn list(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let mut query = Query::parse(&ask.query, &["q", "cursor", "limit"])?;
    let limit = query.number("limit")?.map_or(0, |limit| usize::try_from(limit).unwrap_or(0));
    if limit > limits::STORE_LIST_MAX {
        let text = format!("a page has at most {} rows", limits::STORE_LIST_MAX);
        return Err(Refused::new("invalid_query", text).at("limit"));
    }
    let (text, after) = (query.take("q"), query.take("cursor"));
    let filter = Filter { query: text, after, limit, ..Filter::default() };
    let page = services.sessions.list(&ask.caller, filter).await.map_err(|failure| {
        // The one thing of a list that can contradict the store.
        if failure.code == "conflict" {
            Refused::new("invalid_query", "cursor is not the next_cursor of a page").at("cursor")
        } else {
            failure.into()
        }
    })?;
    let items = page.sessions.into_iter().map(row).collect();
    Reply::json(&SessionPage { items, next_cursor: page.next })
}

/// `POST /sessions`
pub(super) async fn create(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let request: CreateSession = ask.json()?;
    decode::texts([
        ("title", Text::Title, request.title.as_deref()),
        ("workspace_id", Text::Name, request.workspace_id.as_deref()),
        ("cwd", Text::Path, request.cwd.as_deref()),
        ("model", Text::Name, request.model.as_deref()),
        ("idempotency_key", Text::Key, request.idempotency_key.as_deref()),
    ])?;
    let wrong = || Refused::new("invalid_field", "a model is written provider/model").at("model");
    let model = request.model.as_deref().map(|text| ModelRef::parse(text).ok_or_else(wrong));
    let create = Create {
        title: request.title,
        workspace: request.workspace_id,
        cwd: request.cwd,
        model: model.transpose()?,
        mode: request.mode.unwrap_or_default(),
        idempotency_key: request.idempotency_key,
    };
    Reply::json(&row(services.sessions.create(&ask.caller, create).await?))
}

/// `GET /sessions/{session}`
pub(super) async fn show(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let session = session_of(services, &ask.caller, &ask.parameter).await?;
    let (stored, run) = services.sessions.show(&ask.caller, &session).await?;
    Reply::json(&SessionDetail { row: row(stored), run })
}

/// `DELETE /sessions/{session}`
pub(super) async fn delete(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let session = session_of(services, &ask.caller, &ask.parameter).await?;
    services.sessions.delete(&ask.caller, &session).await?;
    Reply::json(&Done { ok: true })
}

/// `GET /sessions/{session}/messages`
pub(super) async fn messages(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let session = session_of(services, &ask.caller, &ask.parameter).await?;
    let messages = services.sessions.messages(&ask.caller, &session).await?;
    Reply::json(&messages.iter().map(ui::message).collect::<Vec<_>>())
}

fn row(stored: rows::SessionRow) -> SessionRow {
    let time = |millis| Timestamp::from_millis(millis).to_string();
    let cwd = stored.place.cwd.unwrap_or_default();
    SessionRow {
        id: stored.id.to_string(),
        alias: stored.alias,
        title: stored.title,
        workspace: stored.place.workspace.unwrap_or_else(|| cwd.clone()),
        cwd,
        model: stored.model.map(|model| model.to_string()),
        mode: stored.mode,
        state: stored.run.map_or("idle", |run| run.phase.as_str()).to_owned(),
        messages: stored.messages,
        usage: stored.usage,
        created_at: time(stored.created_at),
        updated_at: time(stored.updated_at),
    }
}
