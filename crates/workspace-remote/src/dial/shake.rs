//! The client's side of the handshake of RFC 6455.

use base64::Engine as _;
use http_body_util::Empty;
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::Bytes,
    client::conn::http1,
    header::{
        AUTHORIZATION, CONNECTION, HOST, HeaderValue, SEC_WEBSOCKET_ACCEPT,
        SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
        UPGRADE,
    },
};
use hyper_util::rt::TokioIo;
use stdx::secret::Secret;
use vocab::limits::REMOTE_HEAD_BYTES_MAX;

use super::unreachable;
use crate::{
    client::ConnectError,
    door::{accept_of, listen::Line, lists, one},
    frame::Violation,
    transport::{
        Transport,
        websocket::{self, PATH, SUBPROTOCOL, Side},
    },
};

/// Asks to be let in.
pub(super) async fn hands(
    line: Line,
    host: &str,
    token: Option<&Secret>,
) -> Result<Transport, ConnectError> {
    let lost = |error: hyper::Error| unreachable(&error.to_string());
    let (mut sender, http) = http1::Builder::new()
        .max_buf_size(REMOTE_HEAD_BYTES_MAX)
        .handshake::<_, Empty<Bytes>>(TokioIo::new(line))
        .await
        .map_err(lost)?;
    // Ends with the line, which the transport takes over or the failure drops.
    tokio::spawn(http.with_upgrades());
    let mut key = [0; 16];
    rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())
        .map_err(|errno| unreachable(&errno.to_string()))?;
    let key = base64::engine::general_purpose::STANDARD.encode(key);
    let response = sender.send_request(request(host, token, &key)?).await.map_err(lost)?;
    check(&response, &key, token.is_some())?;
    let upgraded = hyper::upgrade::on(response).await.map_err(lost)?;
    let parts =
        upgraded.downcast::<TokioIo<Line>>().map_err(|_other| unreachable("it was replaced"))?;
    Ok(websocket::transport(parts.io.into_inner(), &parts.read_buf, Side::Client).await)
}

fn request(
    host: &str,
    token: Option<&Secret>,
    key: &str,
) -> Result<Request<Empty<Bytes>>, ConnectError> {
    let unsayable = |_invalid| unreachable("the token or the host cannot be said in a header");
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = hyper::Uri::from_static(PATH);
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(host).map_err(unsayable)?);
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(SEC_WEBSOCKET_KEY, HeaderValue::from_str(key).map_err(unsayable)?);
    headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    if let Some(token) = token {
        let value = Secret::new(format!("Bearer {}", token.expose()));
        let mut value = HeaderValue::from_str(value.expose()).map_err(unsayable)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(request)
}

/// Checks that the other side has understood, and agreed to this and nothing else.
fn check<B>(response: &Response<B>, key: &str, has_token: bool) -> Result<(), ConnectError> {
    let refused =
        |code: &str, message: String| Err(ConnectError::Refused { code: code.to_owned(), message });
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => {}
        StatusCode::UNAUTHORIZED if has_token => {
            return refused("token_refused", "the token is not the right one".to_owned());
        }
        StatusCode::UNAUTHORIZED => {
            return refused("token_refused", "it wants a token".to_owned());
        }
        StatusCode::NOT_FOUND => {
            return refused("not_a_runtime", "no workspace is served there".to_owned());
        }
        status => return refused("not_a_runtime", format!("it answers with {}", status.as_u16())),
    }
    let headers: &HeaderMap = response.headers();
    let accept = headers.get_all(SEC_WEBSOCKET_ACCEPT).iter().collect::<Vec<_>>();
    let agrees = lists(headers, &UPGRADE, "websocket")
        && lists(headers, &CONNECTION, "upgrade")
        && accept == [&accept_of(key)]
        && one(headers, &SEC_WEBSOCKET_PROTOCOL) == Some(SUBPROTOCOL)
        && !headers.contains_key(SEC_WEBSOCKET_EXTENSIONS);
    if agrees {
        Ok(())
    } else {
        Err(Violation::protocol("its handshake is none of this protocol").into())
    }
}
