//! The server: connections, and how it ends.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use super::error::ServeError;
use super::languages::Languages;
use super::options::ServerOptions;
use super::queue::Queue;
use super::service::Service;
use super::signals::Signals;
use crate::sandbox::Sandbox;

/// Connections besides those that have a place: to be told that there is none,
/// or to be kept open for later. More wait in the system's own queue.
const SPARE_CONNECTIONS: usize = 256;
/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;
/// After the system has refused a connection, such as for want of files.
const REST: Duration = Duration::from_millis(50);

/// A server that listens, but has not begun to answer.
pub struct HttpServer {
    runtime: Runtime,
    listener: StdListener,
    address: SocketAddr,
    service: Arc<Service>,
}

impl HttpServer {
    /// Takes the address, and nothing else yet: whether that can be had should
    /// be known before an interpreter is compiled.
    ///
    /// # Errors
    /// The address is not loopback and the server not public, or the system
    /// refuses it.
    pub fn listen(options: &ServerOptions) -> Result<StdListener, ServeError> {
        let address = options.listen;
        if !options.public && !address.ip().is_loopback() {
            return Err(ServeError::NotLoopback { address });
        }
        let listener =
            StdListener::bind(address).map_err(|reason| ServeError::Bind { address, reason })?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// A server at the address that was taken. The programs run in this
    /// sandbox, as many at a time as it has workers.
    ///
    /// # Errors
    /// The system refuses something.
    pub fn new(
        listener: StdListener,
        sandbox: &Sandbox,
        languages: Languages,
        options: ServerOptions,
    ) -> Result<Self, ServeError> {
        Ok(HttpServer {
            runtime: Builder::new_current_thread().enable_all().build()?,
            address: listener.local_addr()?,
            listener,
            service: Arc::new(Service {
                runner: Arc::new(sandbox.clone()),
                languages: Arc::new(languages),
                queue: Queue::new(sandbox.jobs(), options.queue),
                options,
            }),
        })
    }

    /// Where it listens: the port is the real one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until SIGTERM or SIGINT. Programs that run then are finished and
    /// answered, those that wait are refused; a second signal ends it at once.
    ///
    /// # Errors
    /// The system refuses something at the start.
    pub fn serve(self) -> Result<(), ServeError> {
        let HttpServer { runtime, listener, service, .. } = self;
        let result = runtime.block_on(serve(listener, service));
        // Whatever still runs, nobody waits for.
        runtime.shutdown_background();
        result
    }
}

async fn serve(listener: StdListener, service: Arc<Service>) -> Result<(), ServeError> {
    let mut signals = Signals::listen()?;
    let graceful = GracefulShutdown::new();
    let most = service.queue.capacity().saturating_add(SPARE_CONNECTIONS);
    let doors = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    {
        let listener = TcpListener::from_std(listener)?;
        loop {
            let (stream, door) = tokio::select! {
                () = signals.next() => break,
                connection = next(&listener, &doors) => connection,
            };
            attend(stream, door, &service, &graceful);
        }
    }
    service.queue.close();
    let too_slow = async {
        service.queue.emptied().await;
        sleep(service.options.patience).await;
    };
    tokio::select! {
        () = graceful.shutdown() => {}
        () = too_slow => {}
        () = signals.next() => {}
    }
    Ok(())
}

/// The next connection, once one more may be open.
async fn next(listener: &TcpListener, doors: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    loop {
        if let Ok(door) = doors.clone().acquire_owned().await
            && let Ok((stream, _)) = listener.accept().await
        {
            return (stream, door);
        }
        sleep(REST).await;
    }
}

/// Serves one connection in a task of its own.
fn attend(
    stream: TcpStream,
    door: OwnedSemaphorePermit,
    service: &Arc<Service>,
    graceful: &GracefulShutdown,
) {
    // Answers are small and written at once; without it they would wait.
    let _ = stream.set_nodelay(true);
    let service = service.clone();
    let patience = service.options.patience;
    let answer = service_fn(move |request| {
        let service = service.clone();
        async move { Ok::<_, Infallible>(service.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), answer);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        // A connection that breaks is the client's affair; its request, with
        // its place in the queue, is dropped with it.
        let _ = connection.await;
        drop(door);
    });
}
