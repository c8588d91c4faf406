//! The connections of an [`Api`]: from a request to what it says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::spawn_blocking;

use super::api::{Api, Asked, Said};
use super::api_options::ApiOptions;
use super::body;
use super::error::ServeError;
use super::guard::admit;
use super::http_server::{HttpServer, Service};
use super::pieces::Pieces;
use super::queue::Queue;
use super::refusal::{Refusal, json_response};
use super::stopping::Stopping;

/// Pieces of an answer that wait for a client to take them.
const WAITING_PIECES: usize = 64;

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
        server.serve(runtime, Arc::new(self))
    }

    async fn try_answer(&self, request: Request<Incoming>) -> Result<Response<Pieces>, Refusal> {
        admit(request.headers(), self.options.token.is_some())?;
        self.check_token(request.headers())?;
        let is_post = match *request.method() {
            Method::GET => false,
            Method::POST => true,
            _ => return Err(Refusal::wrong_method("GET or POST")),
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
        let asked = Asked { path, is_post, body, left };
        let api = self.api.clone();
        let said = spawn_blocking(move || api.answer(&asked)).await.map_err(Refusal::internal)?;
        drop(leaves);
        Ok(match said {
            Said::Json(status, text) => whole(status, text),
            Said::Events(events) => {
                let (sender, pieces) = channel(WAITING_PIECES);
                spawn_blocking(move || {
                    send_all(events, &sender);
                    drop(place);
                });
                streamed(pieces)
            }
        })
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        match &self.options.token {
            Some(token) if !token.is_shown(headers) => Err(Refusal::unauthorized()),
            _ => Ok(()),
        }
    }
}

impl Service for ApiServer {
    type Body = Pieces;

    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        _stopping: Stopping,
    ) -> Response<Pieces> {
        match self.try_answer(request).await {
            Ok(response) => response,
            Err(refusal) => refusal.into_api_response().map(Pieces::Whole),
        }
    }

    fn places(&self) -> usize {
        self.queue.capacity()
    }

    fn patience(&self) -> Duration {
        self.options.patience
    }

    async fn wind_up(&self) {
        self.queue.close();
        self.queue.emptied().await;
    }
}

struct Leaves(Arc<AtomicBool>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Until all are sent or the client has left.
fn send_all(events: Box<dyn Iterator<Item = String> + Send>, to: &Sender<Bytes>) {
    for event in events {
        if to.blocking_send(format!("data: {event}\n\n").into()).is_err() {
            return;
        }
    }
}

fn whole(status: u16, text: String) -> Response<Pieces> {
    let mut response = json_response(text.into()).map(Pieces::Whole);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

fn streamed(pieces: Receiver<Bytes>) -> Response<Pieces> {
    let mut response = Response::new(Pieces::Stream(pieces));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
