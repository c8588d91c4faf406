//! A service whose answers are made elsewhere: this side has the connections.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::spawn_blocking;

use super::body;
use super::connections::{Answers, serve};
use super::error::ServeError;
use super::guard::admit;
use super::queue::Queue;
use super::refusal::Refusal;

/// Pieces of an answer that wait for a client to take them.
const WAITING_PIECES: usize = 64;

/// What answers requests.
pub trait Api: Send + Sync + 'static {
    /// The answer. Every request has a thread while it is made.
    fn answer(&self, asked: &Asked) -> Said;
}

/// A request.
#[derive(Debug)]
pub struct Asked {
    /// The path, without what may stand behind `?`.
    pub path: String,
    /// Whether it brings something: POST; otherwise it is GET.
    pub is_post: bool,
    /// What it brings.
    pub body: Vec<u8>,
    left: Arc<AtomicBool>,
}

/// An answer.
pub enum Said {
    /// JSON, with a status of HTTP.
    Json(u16, String),
    /// Server-sent events, each a line of data. They are dropped when the client leaves.
    Events(Box<dyn Iterator<Item = String> + Send>),
}

impl Asked {
    /// Whether the client has left, so that nobody waits for the answer.
    pub fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }
}

/// How to serve.
#[derive(Clone, Debug)]
pub struct ApiOptions {
    /// Where to listen; port 0 is any that is free.
    pub listen: SocketAddr,
    /// What requests must bring as a bearer token. Without one only this machine is served.
    pub token: Option<String>,
    /// Requests that are answered at a time; further ones are refused.
    pub requests: usize,
    /// Bytes of one request's body.
    pub body_bytes: usize,
    /// How long a client may take to send the head, and again the body.
    pub patience: Duration,
}

/// A server that listens, but has not begun to answer.
pub struct ApiServer {
    listener: StdListener,
    address: SocketAddr,
    options: ApiOptions,
}

impl ApiServer {
    /// Takes the address.
    ///
    /// # Errors
    /// The address is not loopback and there is no token, or the system refuses it.
    pub fn listen(options: ApiOptions) -> Result<Self, ServeError> {
        let address = options.listen;
        if options.token.is_none() && !address.ip().is_loopback() {
            return Err(ServeError::NoToken { address });
        }
        let listener =
            StdListener::bind(address).map_err(|reason| ServeError::Bind { address, reason })?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(ApiServer { listener, address, options })
    }

    /// Where it listens: the port is the real one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until SIGTERM or SIGINT. Requests that are in then are answered; a second signal
    /// ends it at once.
    ///
    /// # Errors
    /// The system refuses something at the start.
    pub fn serve(self, api: Arc<dyn Api>) -> Result<(), ServeError> {
        let ApiServer { listener, options, .. } = self;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(options.requests.max(1))
            .build()?;
        let queue = Queue::new(options.requests, 0);
        let result =
            runtime.block_on(serve(listener, Arc::new(ApiService { api, options, queue })));
        // Whatever is still being answered, nobody waits for.
        runtime.shutdown_background();
        result
    }
}

/// Where requests come in.
struct ApiService {
    api: Arc<dyn Api>,
    options: ApiOptions,
    queue: Queue,
}

impl Answers for ApiService {
    type Body = Pieces;

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Pieces> {
        match self.try_answer(request).await {
            Ok(response) => response,
            Err(refusal) => refusal.into_response().map(Pieces::Whole),
        }
    }

    fn queue(&self) -> &Queue {
        &self.queue
    }

    fn patience(&self) -> Duration {
        self.options.patience
    }
}

impl ApiService {
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

    /// All characters of a wrong token are looked at, so that time says nothing of the right one.
    fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(token) = &self.options.token else { return Ok(()) };
        let brought = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let brought = brought.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        let differs = token.bytes().zip(brought.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        match differs == 0 && token.len() == brought.len() {
            true => Ok(()),
            false => Err(Refusal::unauthorized()),
        }
    }
}

struct Leaves(Arc<AtomicBool>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Until all are sent or nobody takes them any more.
fn send_all(events: Box<dyn Iterator<Item = String> + Send>, to: &Sender<Bytes>) {
    for event in events {
        if to.blocking_send(format!("data: {event}\n\n").into()).is_err() {
            return;
        }
    }
}

fn whole(status: u16, text: String) -> Response<Pieces> {
    let mut response = Response::new(Pieces::Whole(Full::new(text.into())));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn streamed(pieces: Receiver<Bytes>) -> Response<Pieces> {
    let mut response = Response::new(Pieces::Stream(pieces));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The body of an answer.
enum Pieces {
    /// In one piece.
    Whole(Full<Bytes>),
    /// As they come.
    Stream(Receiver<Bytes>),
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Pieces::Whole(body) => Pin::new(body).poll_frame(context),
            Pieces::Stream(pieces) => {
                pieces.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Pieces::Whole(body) => body.size_hint(),
            Pieces::Stream(_) => SizeHint::default(),
        }
    }
}
