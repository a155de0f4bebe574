//! What those hear who are not let in: a status, and how to ask better where that is no secret.

use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{ALLOW, CONNECTION, HeaderValue, SEC_WEBSOCKET_VERSION, UPGRADE, WWW_AUTHENTICATE},
};

/// The body of every answer: none.
pub(super) type Body = http_body_util::Empty<Bytes>;

/// Why a handshake is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Nothing is served there.
    NotFound,
    /// It is no handshake as it stands in RFC 6455, or asks for something else.
    Malformed,
    /// Only `GET` shakes hands.
    Method,
    /// It asks for no upgrade, or for one to another version.
    Upgrade,
    /// A page of a browser from elsewhere.
    Forbidden,
    /// The token is missing or another one.
    Unauthorized,
}

impl Refusal {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Upgrade => StatusCode::UPGRADE_REQUIRED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
        }
    }

    pub(super) fn response(self) -> Response<Body> {
        let mut response = Response::new(Body::new());
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        match self {
            Self::Method => {
                headers.insert(ALLOW, HeaderValue::from_static("GET"));
            }
            Self::Upgrade => {
                headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
                headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            }
            Self::Unauthorized => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::NotFound | Self::Malformed | Self::Forbidden => {}
        }
        response
    }
}
