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
use super::queue::{Place, Queue};
use super::refusal::Refusal;
use super::token::Token;

/// Where anybody learns whether it serves, as of an environment.
const HEALTH: &str = "/health";
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
        let path = request.uri().path().to_owned();
        let is_open = path == HEALTH && *request.method() == Method::GET;
        if let Some(token) = &self.options.token
            && !is_open
            && !token.is_shown(request.headers())
        {
            return Err(Refusal::unauthorized());
        }
        let is_post = match *request.method() {
            Method::GET => false,
            Method::POST => true,
            _ => return Err(Refusal::wrong_method(HeaderValue::from_static("GET or POST"))),
        };
        if !is_post {
            body::discard(request.into_body(), self.options.patience).await;
            // It costs next to nothing, and is asked above all when there is no place left.
            return Ok(respond(self.api.answer(&ApiRequest::new(&path, None)), None));
        }
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
        // What it brings is held until it is answered, even if the client leaves: so is its place.
        let answer = move || (api.answer(&request), place);
        let (response, place) = spawn_blocking(answer).await.map_err(Refusal::internal)?;
        drop(leaves);
        Ok(respond(response, Some(place)))
    }
}

/// What is sent; the place is kept until all of it is.
fn respond(response: ApiResponse, place: Option<Arc<Place>>) -> Response {
    match response {
        ApiResponse::Json(status, text) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
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

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, channel};
    use std::task::{Context, Waker};

    use super::*;

    /// Takes as long over what is brought as it is not told to go on.
    struct Slow(Mutex<Receiver<()>>);

    impl Api for Slow {
        fn answer(&self, request: &ApiRequest) -> ApiResponse {
            if request.is_post {
                let _ = self.0.lock().unwrap().recv();
            }
            ApiResponse::Json(200, "{}".to_owned())
        }
    }

    fn server(told: Receiver<()>, token: Option<Token>) -> ApiServer {
        let options = ApiOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            token,
            requests: 1,
            body_bytes: 1 << 10,
            patience: Duration::from_secs(60),
        };
        ApiServer::new(Slow(Mutex::new(told)), options)
    }

    fn request(method: Method, path: &str) -> Request {
        let request = axum::http::Request::builder().method(method).uri(path);
        request.header("host", "localhost").body(Body::from("{}")).unwrap()
    }

    async fn status(server: &ApiServer, method: Method, path: &str) -> u16 {
        let answer = server.answer(request(method, path)).await;
        answer.unwrap_or_else(Refusal::into_api_response).status().as_u16()
    }

    fn block_on(work: impl Future<Output = ()>) {
        Builder::new_current_thread().enable_time().build().unwrap().block_on(work);
    }

    #[test]
    fn who_leaves_keeps_a_place_as_long_as_what_it_brought_is_worked_on_and_a_get_needs_none() {
        let (go_on, told) = channel();
        let server = server(told, None);
        block_on(async {
            {
                let asked = pin!(server.answer(request(Method::POST, "/v1/completions")));
                assert!(asked.poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
            assert!(server.queue.enter().is_none());
            assert_eq!(status(&server, Method::POST, "/v1/completions").await, 429);
            assert_eq!(status(&server, Method::GET, "/v1/models").await, 200);
            go_on.send(()).unwrap();
            server.queue.emptied().await;
        });
    }

    #[test]
    fn whether_it_serves_is_said_without_a_token_and_nothing_else_is() {
        let (_, told) = channel();
        let server = server(told, Some(Token::of("0123456789abcdef").unwrap()));
        block_on(async {
            assert_eq!(status(&server, Method::GET, "/health").await, 200);
            assert_eq!(status(&server, Method::POST, "/health").await, 401);
            assert_eq!(status(&server, Method::GET, "/v1/models").await, 401);
        });
    }
}
