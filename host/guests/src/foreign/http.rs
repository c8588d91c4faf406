//! What a server says of itself over plain HTTP.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::address::Address;
use super::trouble::{Trouble, short};

/// How long a connection may take.
pub(super) const CONNECT: Duration = Duration::from_secs(10);

/// A server to be asked.
pub(super) struct Http<'a> {
    pub(super) address: &'a Address,
    pub(super) token: Option<&'a str>,
    pub(super) timeout: Duration,
    pub(super) most_bytes: usize,
}

impl Http<'_> {
    /// The JSON answer of a route; none if there is no such route.
    pub(super) async fn get(&self, route: &str) -> Result<Option<Value>, Trouble> {
        self.ask(Method::GET, route, Bytes::new()).await
    }

    /// The JSON answer of a route to a body; none if there is no such route.
    pub(super) async fn post(&self, route: &str, body: &Value) -> Result<Option<Value>, Trouble> {
        self.ask(Method::POST, route, body.to_string().into()).await
    }

    async fn ask(
        &self,
        method: Method,
        route: &str,
        body: Bytes,
    ) -> Result<Option<Value>, Trouble> {
        let answer = timeout(self.timeout, self.exchange(method, route, body)).await;
        let (status, bytes) = answer.map_err(|_| Trouble::Silence(self.timeout.as_secs()))??;
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Trouble::Connection(
                "it wants to be shown a token; name a file with it in `environment.token_file`"
                    .to_owned(),
            )),
            status if status.is_success() => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| Trouble::Invalid(format!("`{route}` is not JSON: {error}"))),
            StatusCode::NOT_FOUND
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_IMPLEMENTED => Ok(None),
            // Such as that it is too busy to say whether there is such a route.
            status => Err(Trouble::Failed {
                code: status.as_u16().to_string(),
                message: format!("`{route}`: {}", short(&String::from_utf8_lossy(&bytes))),
            }),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        route: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), Trouble> {
        let lost = |error: hyper::Error| Trouble::Connection(error.to_string());
        let stream = connect(self.address).await?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
        tokio::spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(self.address.route(route))
            .header(HOST, self.address.authority())
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request
            .body(Full::new(body))
            .map_err(|error| Trouble::Connection(error.to_string()))?;
        let answer = sender.send_request(request).await.map_err(lost)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), self.most_bytes).collect().await;
        let body = body.map_err(|error| Trouble::Invalid(format!("`{route}`: {error}")))?;
        Ok((status, body.to_bytes()))
    }
}

/// A connection to the server.
pub(super) async fn connect(address: &Address) -> Result<TcpStream, Trouble> {
    let connected = timeout(CONNECT, TcpStream::connect(address.to_connect())).await;
    let stream = match connected {
        Err(_) => return Err(Trouble::Silence(CONNECT.as_secs())),
        Ok(stream) => stream.map_err(|error| Trouble::Connection(error.to_string()))?,
    };
    // A frame is waited for, so that nothing is gained by gathering bytes.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}
