//! The listening side: connections, and how they end.
//!
//! `axum::serve` waits for ever for a request's head and takes any number of connections,
//! so the connections are made here, by hyper's builder; what they ask goes to a router.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::sleep;
use tower_service::Service;

use super::error::ServeError;
use super::newcomers::Newcomers;
use super::queue::Queue;
use super::refusal::Refusal;

/// Connections besides those that have a place: to be told that there is none,
/// or to be kept open for later.
const SPARE_CONNECTIONS: usize = 256;
/// What `Semaphore::acquire_many` can count and a semaphore holds anywhere.
const MOST_CONNECTIONS: usize = 1 << 28;
/// Connections that the system holds until they are accepted.
const BACKLOG: i32 = 4096;
/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;
/// After the system has refused a connection, such as for want of files.
const REST: Duration = Duration::from_millis(50);

/// What connections are bound by.
pub(super) struct Terms {
    /// Requests, or sockets, that have a place at a time.
    pub(super) places: usize,
    /// How long a client may take to send the head of a request.
    pub(super) patience: Duration,
    /// What is closed in the end, and waited for.
    pub(super) queue: Option<Queue>,
}

/// The place of an open connection; as many are open as there are places. Every request
/// knows its own, and what a connection becomes, such as a socket, keeps it.
#[derive(Clone)]
pub(super) struct Door {
    _place: Arc<OwnedSemaphorePermit>,
    stopping: watch::Receiver<()>,
}

impl Door {
    /// Waits until the server is to stop.
    pub(super) async fn stopping(&mut self) {
        // Nothing is ever sent: this fails, and so ends, when the other half is dropped.
        let _ = self.stopping.changed().await;
    }
}

/// A server that listens, but has not begun to answer.
pub struct HttpServer {
    listener: StdListener,
    address: SocketAddr,
}

impl HttpServer {
    /// Takes the address, and nothing else yet: whether that can be had should
    /// be known before a component is compiled.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn listen(address: SocketAddr) -> Result<Self, ServeError> {
        let listener =
            StdListener::bind(address).map_err(|reason| ServeError::Bind { address, reason })?;
        // The standard library asks for 128. When that is full, a client tries again after a
        // second: others would notice a flood.
        rustix::net::listen(&listener, BACKLOG).map_err(io::Error::from)?;
        listener.set_nonblocking(true)?;
        Ok(HttpServer { address: listener.local_addr()?, listener })
    }

    /// Where it listens: the port is the real one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until SIGTERM or SIGINT. What runs then is finished and answered,
    /// what waits is refused; a second signal ends it at once.
    pub(super) fn serve(
        self,
        runtime: Runtime,
        router: Router,
        terms: Terms,
    ) -> Result<(), ServeError> {
        let result = runtime.block_on(serve(self.listener, router, terms));
        // What still runs is not awaited.
        runtime.shutdown_background();
        result
    }
}

/// Allows as many files, and so connections, as may be had without asking anybody. Most
/// systems begin with a thousand, which is one for each session and no more.
pub fn allow_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // With fewer, connections wait; that is no reason not to serve.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

async fn serve(listener: StdListener, router: Router, terms: Terms) -> Result<(), ServeError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // More wait in the system's own queue.
    let most = terms.places.saturating_add(SPARE_CONNECTIONS).min(MOST_CONNECTIONS);
    let doors = Arc::new(Semaphore::new(most));
    let (stop, stopping) = watch::channel(());
    {
        let listener = TcpListener::from_std(listener)?;
        let newcomers = Newcomers::default();
        for number in 0.. {
            let (stream, place) = tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                connection = next(&listener, &doors, &newcomers) => connection,
            };
            let door = Door { _place: Arc::new(place), stopping: stopping.clone() };
            attend(stream, door, (newcomers.clone(), number), router.clone(), terms.patience);
        }
    }
    drop(stop);
    let too_slow = async {
        if let Some(queue) = &terms.queue {
            queue.close();
            queue.emptied().await;
        }
        sleep(terms.patience).await;
    };
    tokio::select! {
        // All connections, and what they have become, have given their places back.
        _ = doors.acquire_many(most as u32) => {}
        () = too_slow => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// The next connection, once there is a place for it.
async fn next(
    listener: &TcpListener,
    doors: &Arc<Semaphore>,
    newcomers: &Newcomers,
) -> (TcpStream, OwnedSemaphorePermit) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(REST).await;
            continue;
        };
        if doors.available_permits() == 0 {
            newcomers.make_room();
        }
        if let Ok(place) = doors.clone().acquire_owned().await {
            return (stream, place);
        }
    }
}

/// Serves one connection in a task of its own.
fn attend(
    stream: TcpStream,
    mut door: Door,
    (newcomers, number): (Newcomers, u64),
    router: Router,
    patience: Duration,
) {
    // Answers are small and written at once; without it they would wait.
    let _ = stream.set_nodelay(true);
    let told_to_leave = newcomers.admit(number);
    let answer = {
        let (door, newcomers) = (door.clone(), newcomers.clone());
        service_fn(move |mut request: Request<Incoming>| {
            newcomers.settle(number);
            request.extensions_mut().insert(door.clone());
            let answer = router.clone().call(request);
            async move { answer.await.map(Refusal::of_other_methods) as Result<_, Infallible> }
        })
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades();
    tokio::spawn(async move {
        let mut connection = pin!(connection);
        // A connection that breaks is the client's affair; its request, with
        // its place in the queue, is dropped with it.
        tokio::select! {
            _ = &mut connection => {}
            Ok(()) = told_to_leave => {}
            () = door.stopping() => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
        newcomers.settle(number);
    });
}
