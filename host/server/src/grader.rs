//! The grader: from a request to its answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::middleware::map_request;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

use super::body;
use super::error::ServeError;
use super::grade::grade_all;
use super::grade_request::GradeRequest;
use super::guard::admit;
use super::http_server::{HttpServer, Terms};
use super::languages::Languages;
use super::queue::{Place, Queue};
use super::refusal::Refusal;
use super::run_code::{Answer, RunCode};
use troupe_core::program::{RunLimits, Runner};
use troupe_sandbox::Sandbox;

/// What the server listens on, and what it lets a client have.
#[derive(Clone, Debug)]
pub struct GraderOptions {
    /// Where to listen; port 0 is any that is free.
    pub listen: SocketAddr,
    /// Whether other machines may reach it.
    pub public: bool,
    /// Requests that may wait while others run.
    pub queue: usize,
    /// What one run may use at most, whatever a request asks for.
    pub caps: RunLimits,
    /// Bytes of one request's body.
    pub body_bytes: usize,
    /// How long a client may take to send the head, and again the body.
    pub patience: Duration,
}

impl GraderOptions {
    /// Whether it may listen there.
    ///
    /// # Errors
    /// If the address is not loopback and the server not public.
    pub fn check(&self) -> Result<(), ServeError> {
        if self.public || self.listen.ip().is_loopback() {
            return Ok(());
        }
        Err(ServeError::NotLoopback { address: self.listen })
    }
}

/// Runs and grades programs for others.
pub struct Grader {
    runner: Arc<dyn Runner>,
    languages: Arc<Languages>,
    options: GraderOptions,
    queue: Queue,
}

/// Where it can be asked.
const PATHS: &str = "POST /run_code, POST /grade, GET /health and GET /v1/ping";

/// An answer as it was written, off the thread that serves everybody.
type Written = ([(HeaderName, &'static str); 1], Vec<u8>);

impl Grader {
    /// One whose programs run in this sandbox, as many at a time as it has workers.
    pub fn new(sandbox: &Sandbox, languages: Languages, options: GraderOptions) -> Self {
        Grader {
            runner: Arc::new(sandbox.clone()),
            languages: Arc::new(languages),
            queue: Queue::new(sandbox.jobs(), options.queue),
            options,
        }
    }

    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// The system refuses something at the start.
    pub fn serve(self, server: HttpServer) -> Result<(), ServeError> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let queue = self.queue.clone();
        let (places, patience) = (queue.capacity(), self.options.patience);
        server.serve(runtime, self.router(), Terms { places, patience, queue: Some(queue) })
    }

    fn router(self) -> Router {
        let public = self.options.public;
        let let_in = move |request: Request| async move {
            admit(request.headers(), public).map(|()| request)
        };
        Router::new()
            .route("/run_code", post(run_code))
            .route("/grade", post(grade))
            .route("/health", get(health))
            // What SandboxFusion says.
            .route("/v1/ping", get(async || Json("pong")))
            .fallback(async |uri: Uri| Refusal::no_such_path(uri.path(), PATHS))
            .with_state(Arc::new(self))
            .layer(map_request(let_in))
    }

    /// A place in the queue first, so that only so many bodies are held.
    async fn receive(&self, body: Body) -> Result<(Arc<Place>, Bytes), Refusal> {
        let patience = self.options.patience;
        match self.queue.enter() {
            Some(place) => Ok((place, body::read(body, self.options.body_bytes, patience).await?)),
            None => {
                body::discard(body, patience).await;
                Err(Refusal::overloaded())
            }
        }
    }
}

async fn run_code(State(grader): State<Arc<Grader>>, body: Body) -> Result<Written, Refusal> {
    let (place, body) = grader.receive(body).await?;
    let (languages, caps) = (grader.languages.clone(), grader.options.caps);
    let plan = match aside(&place, move || RunCode::parse(&body, &languages, &caps)).await?? {
        RunCode::Run(plan) => plan,
        RunCode::Impossible(message) => return written(&Answer::impossible(message)),
    };
    let turn = place.turn().await.ok_or_else(Refusal::stopping)?;
    let runner = grader.runner.clone();
    aside(&place, move || {
        let answer = plan.run(&*runner);
        drop(turn);
        written(&answer)
    })
    .await?
}

async fn grade(State(grader): State<Arc<Grader>>, body: Body) -> Result<Written, Refusal> {
    let (place, body) = grader.receive(body).await?;
    let (languages, caps) = (grader.languages.clone(), grader.options.caps);
    let parsed = aside(&place, move || GradeRequest::parse(&body, &languages, &caps)).await??;
    let request = Arc::new(parsed);
    let lines = grade_all(&place, request.clone(), &grader.runner, grader.queue.jobs()).await?;
    match lines.first() {
        Some(line) if !request.is_batch => written(line),
        _ => written(&json!({ "verdicts": lines })),
    }
}

async fn health(State(grader): State<Arc<Grader>>) -> Json<Value> {
    let occupancy = grader.queue.occupancy();
    Json(json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "interpreters": grader.languages.all(),
        "jobs": grader.queue.jobs(),
        "queue": grader.options.queue,
        "running": occupancy.running,
        "waiting": occupancy.waiting,
        "limits": grader.options.caps,
    }))
}

/// Work that takes a while, off the thread that serves everybody. The place is taken until it is
/// done, even if the client leaves.
async fn aside<T: Send + 'static>(
    place: &Arc<Place>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let place = place.clone();
    let done = spawn_blocking(move || {
        let done = work();
        drop(place);
        done
    });
    done.await.map_err(Refusal::internal)
}

fn written(answer: &impl Serialize) -> Result<Written, Refusal> {
    let text = serde_json::to_vec(answer).map_err(|error| Refusal::json(&error))?;
    Ok(([(CONTENT_TYPE, "application/json")], text))
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::mpsc::channel;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn who_leaves_while_a_body_is_read_keeps_a_place_until_it_is_read() {
        let (go_on, told) = channel::<()>();
        let queue = Queue::new(1, 0);
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let place = queue.enter().unwrap();
            {
                let reading = pin!(aside(&place, move || told.recv()));
                assert!(reading.poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
            drop(place);
            assert!(queue.enter().is_none());
            go_on.send(()).unwrap();
            queue.emptied().await;
        });
    }
}
