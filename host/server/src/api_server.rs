//! The connections of an [`Api`]: from a request to what it says.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream::poll_fn;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::spawn_blocking;

use super::api::{Api, ApiRequest, ApiResponse};
use super::body;
use super::error::ServeError;
use super::guard::admit;
use super::http_server::{HttpServer, Terms};
use super::queue::Queue;
use super::refusal::Refusal;
use super::token::Token;

/// Pieces of an answer that wait for a client to take them.
const WAITING_PIECES: usize = 64;

/// What the server listens on, and what it lets a client have.
#[derive(Clone, Debug)]
pub struct ApiOptions {
    /// Where to listen; port 0 is any that is free.
    pub listen: SocketAddr,
    /// What clients have to show; only this machine is served without.
    pub token: Option<Token>,
    /// Requests that are answered at a time; further ones are refused.
    pub requests: usize,
    /// Bytes of one request's body.
    pub body_bytes: usize,
    /// How long a client may take to send the head, and again the body.
    pub patience: Duration,
}

impl ApiOptions {
    /// Whether it may listen there.
    ///
    /// # Errors
    /// If others reach the address, and there is no token.
    pub fn check(&self) -> Result<(), ServeError> {
        Token::check(self.token.as_ref(), self.listen)
    }
}

/// Brings requests to what answers them.
pub struct ApiServer {
    api: Arc<dyn Api>,
    options: ApiOptions,
    queue: Queue,
}

impl ApiServer {
    /// One that has this answer.
    pub fn new(api: impl Api, options: ApiOptions) -> Self {
        let queue = Queue::new(options.requests, 0);
        ApiServer { api: Arc::new(api), options, queue }
    }

    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// The system refuses something at the start.
    pub fn serve(self, server: HttpServer) -> Result<(), ServeError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(self.options.requests.max(1))
            .build()?;
        let queue = self.queue.clone();
        let (places, patience) = (queue.capacity(), self.options.patience);
        let terms = Terms { places, patience, queue: Some(queue) };
        let server_of_all = Arc::new(self);
        // What a path means is known above.
        let router = Router::new().fallback(async move |request| {
            server_of_all.answer(request).await.unwrap_or_else(Refusal::into_api_response)
        });
        server.serve(runtime, router, terms)
    }

    async fn answer(&self, request: Request) -> Result<Response, Refusal> {
        admit(request.headers(), self.options.token.is_some())?;
        if let Some(token) = &self.options.token
            && !token.is_shown(request.headers())
        {
            return Err(Refusal::unauthorized());
        }
        let is_post = match *request.method() {
            Method::GET => false,
            Method::POST => true,
            _ => return Err(Refusal::wrong_method(HeaderValue::from_static("GET or POST"))),
        };
        let path = request.uri().path().to_owned();
        let Some(place) = self.queue.enter() else {
            body::discard(request.into_body(), self.options.patience).await;
            return Err(Refusal::overloaded());
        };
        let (limit, patience) = (self.options.body_bytes, self.options.patience);
        let body = body::read(request.into_body(), limit, patience).await?.to_vec();
        let left = Arc::new(AtomicBool::new(false));
        // Dropped with this future if the client leaves.
        let leaves = Leaves(left.clone());
        let request = ApiRequest { path, is_post, body, left };
        let api = self.api.clone();
        let response =
            spawn_blocking(move || api.answer(&request)).await.map_err(Refusal::internal)?;
        drop(leaves);
        Ok(match response {
            ApiResponse::Json(status, text) => {
                let status =
                    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                (status, [(CONTENT_TYPE, "application/json")], text).into_response()
            }
            ApiResponse::Events(events) => {
                let (sender, mut pieces) = channel(WAITING_PIECES);
                spawn_blocking(move || {
                    send_all(events, &sender);
                    drop(place);
                });
                let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
                let pieces = poll_fn(move |context| pieces.poll_recv(context));
                (headers, Body::from_stream(pieces)).into_response()
            }
        })
    }
}

struct Leaves(Arc<AtomicBool>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Until all are sent or the client has left.
fn send_all(
    events: Box<dyn Iterator<Item = String> + Send>,
    to: &Sender<Result<String, Infallible>>,
) {
    for event in events {
        if to.blocking_send(Ok(format!("data: {event}\n\n"))).is_err() {
            return;
        }
    }
}
