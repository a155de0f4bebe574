//! Refusals: a [`Problem`] on its way to becoming a response, and the headers every response has.
//!
//! Which status goes with which code is `api::problem`'s table, not decided here.

use api::problem::{Problem, status_of};
use bytes::Bytes;
use hyper::{
    Response, StatusCode,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE},
};
use vocab::outcome::{Effect, Failure};

use crate::body::Body;

/// Keeps browsers from guessing content types. Hyper's own answers lack it, which tells them apart.
pub(crate) const NOSNIFF: HeaderName = HeaderName::from_static("x-content-type-options");

/// A request that is answered with a problem.
#[derive(Debug, Clone)]
pub struct Refused {
    problem: Box<Problem>,
    allow: Option<String>,
}

impl Refused {
    /// Builds a refusal of something that changed nothing.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Failure::not_started(code, message).into()
    }

    /// Names the field that is wrong.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.problem.field = Some(field.into());
        self
    }

    /// Adds the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.problem.hint = Some(hint.into());
        self
    }

    /// Names the session it is about.
    #[must_use]
    pub fn about(mut self, session: impl Into<String>) -> Self {
        self.problem.session_id = Some(session.into());
        self
    }

    /// Names what an ambiguous name could mean.
    #[must_use]
    pub fn meaning(mut self, candidates: Vec<String>) -> Self {
        self.problem.candidates = candidates;
        self
    }

    /// Names the methods that would have been allowed.
    #[must_use]
    pub fn allowing(mut self, methods: String) -> Self {
        self.allow = Some(methods);
        self
    }

    /// Returns the problem.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Builds the refusal of a fault of ours. What went wrong stays in the log.
    #[must_use]
    pub fn internal() -> Self {
        Failure::new("internal", Effect::Indeterminate, "the daemon failed at this request").into()
    }

    /// Writes the response.
    #[must_use]
    pub fn into_response(self) -> Response<Body> {
        let status = StatusCode::from_u16(status_of(&self.problem.code))
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json(status, Body::Whole(encode(&self.problem)));
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static(r#"Basic realm="agent", charset="UTF-8""#);
            headers.insert(WWW_AUTHENTICATE, scheme);
        }
        if let Some(value) = self.allow.and_then(|allow| HeaderValue::from_str(&allow).ok()) {
            headers.insert(ALLOW, value);
        }
        response
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self { problem: Box::new(failure.into()), allow: None }
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), allow: None }
    }
}

/// Writes a problem as JSON.
pub(crate) fn encode(problem: &Problem) -> Bytes {
    // A problem holds strings alone, which always serialise.
    serde_json::to_vec(problem).unwrap_or_default().into()
}

/// Writes a JSON response.
pub(crate) fn json(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = plain(status, body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Writes a response with the headers that every response has.
pub(crate) fn plain(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(NOSNIFF, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
