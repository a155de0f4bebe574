//! The HTTP side: accept, record, check, answer.
//!
//! What a vendor demands and how its answers look stands in the vendor's own file.

use std::{
    io,
    net::TcpListener,
    sync::{Arc, atomic::Ordering},
};

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, Response, Uri, header},
    routing::{get, post},
    serve::ListenerExt as _,
};
use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    Raw, Shared, anthropic, fault, openai,
    plan::{Fault, Turn},
    refusal::{Refusal, Vendor},
};

/// The largest request body, the vendors' own order of magnitude.
const BODY_BYTES_MAX: usize = 64 << 20;

/// What a vendor makes of a checked request.
pub(crate) struct Asked {
    pub(crate) model: String,
    pub(crate) streaming: bool,
    pub(crate) usage_in_stream: bool,
    /// The last plain user message.
    pub(crate) user: String,
    /// Assistant messages after it.
    pub(crate) step: usize,
    /// Assistant messages of the whole conversation.
    pub(crate) spoken: usize,
    pub(crate) bytes: usize,
    pub(crate) piece_chars: usize,
}

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/messages", post(messages))
        .route("/v1/models", get(models))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(shared)
}

pub(crate) async fn serve(
    listener: TcpListener,
    routes: Router,
    shared: Arc<Shared>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(move |tcp| {
        shared.connections.fetch_add(1, Ordering::Relaxed);
        // Without it a small answer may wait for the acknowledgement of the one before; where it
        // cannot be set, answers are only slower.
        drop(tcp.set_nodelay(true));
    });
    axum::serve(listener, routes).await
}

async fn chat(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    answer(&shared, Vendor::OpenAi, &uri, &headers, &body).await
}

async fn messages(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    answer(&shared, Vendor::Anthropic, &uri, &headers, &body).await
}

async fn models(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let known = if shared.plan.models.is_empty() {
        vec!["stand-in".to_owned()]
    } else {
        shared.plan.models.clone()
    };
    let rows: Vec<Value> = known
        .iter()
        .map(|id| json!({ "id": id, "object": "model", "created": 0, "owned_by": "testkit" }))
        .collect();
    whole(200, &json!({ "object": "list", "data": rows }))
}

async fn answer(
    shared: &Shared,
    vendor: Vendor,
    uri: &Uri,
    headers: &HeaderMap,
    body: &Bytes,
) -> Response<Body> {
    let number = shared.record(Raw {
        path: uri.path().to_owned(),
        headers: headers.clone(),
        body: body.clone(),
    });
    let planned = shared.plan.faults.get(number).unwrap_or(&Fault::None);
    if let Some(broken) = instead(vendor, planned).await {
        return broken;
    }
    let served = serde_json::from_slice::<Value>(body)
        .map_err(|error| Refusal::bad(format!("We could not parse the JSON body: {error}")))
        .and_then(|value| check(shared, vendor, headers, &value))
        .and_then(|mut asked| {
            asked.bytes = body.len();
            let turn = shared
                .plan
                .turn(&asked.user, asked.step)
                .ok_or_else(|| Refusal::bad(format!("the plan has no turn {}", asked.step + 1)))?;
            Ok((asked, turn))
        });
    match served {
        Ok((asked, turn)) => speak(vendor, &asked, &turn, planned),
        Err(refusal) => whole(refusal.status, &refusal.body(vendor)),
    }
}

fn check(
    shared: &Shared,
    vendor: Vendor,
    headers: &HeaderMap,
    value: &Value,
) -> Result<Asked, Refusal> {
    let mut asked = match vendor {
        Vendor::OpenAi => openai::check::check(&shared.plan, headers, value)?,
        Vendor::Anthropic => anthropic::check::check(&shared.plan, headers, value)?,
    };
    if !shared.plan.models.is_empty() && !shared.plan.models.contains(&asked.model) {
        return Err(Refusal::usual(vendor, 404));
    }
    asked.piece_chars = shared.plan.piece_chars;
    Ok(asked)
}

/// Returns what is answered in place of looking at the request.
async fn instead(vendor: Vendor, planned: &Fault) -> Option<Response<Body>> {
    match planned {
        Fault::Status { status, headers, body, content_type } => {
            let text = body
                .clone()
                .unwrap_or_else(|| Refusal::usual(vendor, *status).body(vendor).to_string());
            let media_type = content_type.as_deref().unwrap_or("application/json");
            let mut response = respond(*status, media_type, Body::from(text));
            for (name, value) in headers {
                if let (Ok(name), Ok(value)) =
                    (name.parse::<header::HeaderName>(), value.parse::<header::HeaderValue>())
                {
                    response.headers_mut().insert(name, value);
                }
            }
            Some(response)
        }
        Fault::Html { status } => {
            let page = "<html>\n<head><title>502 Bad Gateway</title><style>p{color:red}</style></head>\n\
                        <body><h1>Bad Gateway</h1><p>The proxy &amp; its upstream disagree.</p></body></html>";
            Some(respond(*status, "text/html", Body::from(page)))
        }
        Fault::Hang => {
            std::future::pending::<()>().await;
            None
        }
        Fault::None
        | Fault::Cut { .. }
        | Fault::Silence { .. }
        | Fault::Dribble { .. }
        | Fault::Split
        | Fault::ContentType { .. }
        | Fault::Whole
        | Fault::NoEnd
        | Fault::ErrorEvent { .. }
        | Fault::Interleave => None,
    }
}

fn speak(vendor: Vendor, asked: &Asked, turn: &Turn, planned: &Fault) -> Response<Body> {
    let interleave = matches!(planned, Fault::Interleave);
    if !asked.streaming || matches!(planned, Fault::Whole) {
        return whole(
            200,
            &match vendor {
                Vendor::OpenAi => openai::whole(asked, turn),
                Vendor::Anthropic => anthropic::whole(asked, turn),
            },
        );
    }
    let (mut frames, end) = match vendor {
        Vendor::OpenAi => openai::frames(asked, turn, interleave),
        Vendor::Anthropic => anthropic::frames(asked, turn),
    };
    if !matches!(planned, Fault::NoEnd) {
        frames.extend(end);
    }
    if let Fault::ErrorEvent { after_events, error } = planned {
        frames.truncate(*after_events);
        frames.push(match vendor {
            Vendor::OpenAi => openai::error_frame(error),
            Vendor::Anthropic => anthropic::error_frame(error),
        });
    }
    let media_type = if let Fault::ContentType { value } = planned {
        value.as_str()
    } else {
        "text/event-stream; charset=utf-8"
    };
    respond(200, media_type, fault::body(frames, planned))
}

fn whole(status: u16, value: &Value) -> Response<Body> {
    respond(status, "application/json", Body::from(value.to_string()))
}

fn respond(status: u16, media_type: &str, body: Body) -> Response<Body> {
    let built =
        Response::builder().status(status).header(header::CONTENT_TYPE, media_type).body(body);
    built.unwrap_or_else(|_| Response::new(Body::from("the plan's status or header is not HTTP")))
}
