//! The listening side: connections, and how they end.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use super::error::ServeError;
use super::newcomers::{Newcomer, Newcomers};
use super::signals::Signals;
use super::stopping::{Stop, Stopping};

/// Connections besides those that have a place: to be told that there is none,
/// or to be kept open for later.
const SPARE_CONNECTIONS: usize = 256;
/// Connections that the system holds until they are accepted.
const BACKLOG: i32 = 4096;
/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;
/// After the system has refused a connection, such as for want of files.
const REST: Duration = Duration::from_millis(50);

/// What answers the requests of a server.
pub(super) trait Service: Send + Sync + 'static {
    /// The body of an answer.
    type Body: Body<Data = Bytes, Error = Infallible> + Send + 'static;

    /// The answer, whatever the request. What outlives it, such as a socket that
    /// the connection becomes, ends when the server is `stopping`.
    fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        stopping: Stopping,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// Requests, or sockets, that have a place at a time.
    fn places(&self) -> usize;

    /// How long a client may take to send the head of a request.
    fn patience(&self) -> Duration;

    /// Begins nothing more; comes back when all that was begun is over.
    fn wind_up(&self) -> impl Future<Output = ()> + Send;
}

/// The place of an open connection; as many are open as there are places.
#[derive(Clone)]
pub(super) struct Door {
    _place: Arc<OwnedSemaphorePermit>,
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
        service: Arc<impl Service>,
    ) -> Result<(), ServeError> {
        let result = runtime.block_on(serve(self.listener, service));
        // What still runs is not awaited.
        runtime.shutdown_background();
        result
    }
}

async fn serve(listener: StdListener, service: Arc<impl Service>) -> Result<(), ServeError> {
    let mut signals = Signals::listen()?;
    let (stop, stopping) = Stop::new();
    // More wait in the system's own queue.
    let most = service.places().saturating_add(SPARE_CONNECTIONS);
    let doors = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    {
        let listener = TcpListener::from_std(listener)?;
        let mut newcomers = Newcomers::default();
        loop {
            let (stream, door) = tokio::select! {
                () = signals.next() => break,
                connection = next(&listener, &doors, &mut newcomers) => connection,
            };
            attend(stream, door, newcomers.admit(), &service, stopping.clone());
        }
    }
    drop(stopping);
    stop.tell();
    let too_slow = async {
        service.wind_up().await;
        sleep(service.patience()).await;
    };
    tokio::select! {
        () = stop.done() => {}
        () = too_slow => {}
        () = signals.next() => {}
    }
    Ok(())
}

/// The next connection, once there is a door for it.
async fn next(
    listener: &TcpListener,
    doors: &Arc<Semaphore>,
    newcomers: &mut Newcomers,
) -> (TcpStream, OwnedSemaphorePermit) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(REST).await;
            continue;
        };
        if doors.available_permits() == 0 {
            newcomers.make_room();
        }
        if let Ok(door) = doors.clone().acquire_owned().await {
            return (stream, door);
        }
    }
}

/// Serves one connection in a task of its own.
fn attend(
    stream: TcpStream,
    door: OwnedSemaphorePermit,
    newcomer: Arc<Newcomer>,
    service: &Arc<impl Service>,
    mut stopping: Stopping,
) {
    // Answers are small and written at once; without it they would wait.
    let _ = stream.set_nodelay(true);
    let patience = service.patience();
    let answer = {
        // A request knows its door: a connection that becomes a socket keeps it.
        let door = Door { _place: Arc::new(door) };
        let (service, stopping, newcomer) = (service.clone(), stopping.clone(), newcomer.clone());
        service_fn(move |mut request: Request<Incoming>| {
            newcomer.settle();
            request.extensions_mut().insert(door.clone());
            let answer = service.clone().answer(request, stopping.clone());
            async move { Ok::<_, Infallible>(answer.await) }
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
            () = newcomer.told_to_leave() => {}
            () = stopping.told() => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
        newcomer.settle();
    });
}
