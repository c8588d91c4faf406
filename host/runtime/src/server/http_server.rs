//! The grader's server.

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::connections::serve;
use super::error::ServeError;
use super::languages::Languages;
use super::options::ServerOptions;
use super::queue::Queue;
use super::service::Service;
use crate::sandbox::Sandbox;

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
