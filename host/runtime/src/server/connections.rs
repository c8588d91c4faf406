//! Connections: who is let in, and how a server ends.

use std::convert::Infallible;
use std::future::Future;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use super::error::ServeError;
use super::queue::Queue;
use super::signals::Signals;

/// Connections besides those that have a place: to be told that there is none,
/// or to be kept open for later. More wait in the system's own queue.
const SPARE_CONNECTIONS: usize = 256;
/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;
/// After the system has refused a connection, such as for want of files.
const REST: Duration = Duration::from_millis(50);

/// What answers the requests of all connections.
pub(super) trait Answers: Send + Sync + 'static {
    /// The body of an answer.
    type Body: Body<Data = Bytes, Error = Infallible> + Send + 'static;

    /// The answer, whatever the request.
    fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// Who is in.
    fn queue(&self) -> &Queue;

    /// How long a client may take to send something, and to be done at the end.
    fn patience(&self) -> Duration;
}

/// Serves until SIGTERM or SIGINT. What is in then is answered, what waits is
/// refused; a second signal ends it at once.
pub(super) async fn serve(
    listener: StdListener,
    service: Arc<impl Answers>,
) -> Result<(), ServeError> {
    let mut signals = Signals::listen()?;
    let graceful = GracefulShutdown::new();
    let most = service.queue().capacity().saturating_add(SPARE_CONNECTIONS);
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
    service.queue().close();
    let too_slow = async {
        service.queue().emptied().await;
        sleep(service.patience()).await;
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
    service: &Arc<impl Answers>,
    graceful: &GracefulShutdown,
) {
    // Answers are small and written at once; without it they would wait.
    let _ = stream.set_nodelay(true);
    let service = service.clone();
    let patience = service.patience();
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
