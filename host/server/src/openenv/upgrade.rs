//! From a request to a socket.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::access::{PROTOCOL, offers_protocol};
use crate::refusal::Refusal;

/// Bytes that a socket reads and writes at once. There may be thousands of them.
const BUFFER_BYTES: usize = 4 << 10;

/// A socket.
pub(super) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Agrees to become a socket: what is answered, and what it becomes once that is sent.
pub(super) fn agree(
    request: &mut Request<Incoming>,
) -> Result<(Response<Full<Bytes>>, OnUpgrade), Refusal> {
    let headers = request.headers();
    let has = |name, word: &str| {
        let lists = headers.get_all(name).iter().filter_map(|list| list.to_str().ok());
        let mut words = lists.flat_map(|list| list.split(','));
        words.any(|one| one.trim().eq_ignore_ascii_case(word))
    };
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| {
        has(CONNECTION, "upgrade") && has(UPGRADE, "websocket") && has(SEC_WEBSOCKET_VERSION, "13")
    });
    let Some(key) = key else {
        return Err(Refusal::malformed("this path is a WebSocket's (version 13)"));
    };
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()))
        .map_err(|error| Refusal::malformed(error.to_string()))?;
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().extend(agreed(headers, accept));
    Ok((response, hyper::upgrade::on(request)))
}

fn agreed(headers: &HeaderMap, accept: HeaderValue) -> HeaderMap {
    let mut agreed = HeaderMap::from_iter([
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, accept),
    ]);
    if offers_protocol(headers) {
        agreed.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    agreed
}

/// The socket; nothing if the client has left before it was one.
pub(super) async fn socket(upgrade: OnUpgrade, frame_bytes: usize) -> Option<Socket> {
    let stream = TokioIo::new(upgrade.await.ok()?);
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(Some(frame_bytes))
        .max_frame_size(Some(frame_bytes));
    Some(WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await)
}
