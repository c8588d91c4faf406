//! The grader: from a request to its answer.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use serde::Serialize;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

use super::body;
use super::error::ServeError;
use super::grade::grade_all;
use super::grade_request::GradeRequest;
use super::grader_options::GraderOptions;
use super::guard::admit;
use super::http_server::{HttpServer, Service};
use super::languages::Languages;
use super::queue::{Place, Queue};
use super::refusal::{Refusal, json_response};
use super::run_code::{Answer, RunCode};
use super::stopping::Stopping;
use troupe_core::program::Runner;
use troupe_sandbox::Sandbox;

/// Runs and grades programs for others.
pub struct Grader {
    runner: Arc<dyn Runner>,
    languages: Arc<Languages>,
    options: GraderOptions,
    queue: Queue,
}

/// Where it can be asked.
const PATHS: &str = "POST /run_code, POST /grade, GET /health and GET /v1/ping";

/// What can be asked.
enum Question {
    RunCode,
    Grade,
    Health,
    Ping,
}

impl Question {
    fn of(request: &Request<Incoming>) -> Result<Self, Refusal> {
        let (question, method) = match request.uri().path() {
            "/run_code" => (Question::RunCode, Method::POST),
            "/grade" => (Question::Grade, Method::POST),
            "/health" => (Question::Health, Method::GET),
            "/v1/ping" => (Question::Ping, Method::GET),
            other => return Err(Refusal::no_such_path(other, PATHS)),
        };
        if *request.method() == method {
            return Ok(question);
        }
        Err(Refusal::wrong_method(if method == Method::GET { "GET" } else { "POST" }))
    }
}

impl Service for Grader {
    type Body = Full<Bytes>;

    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        _stopping: Stopping,
    ) -> Response<Full<Bytes>> {
        match self.try_answer(request).await {
            Ok(body) => json_response(body),
            Err(refusal) => refusal.into_response(),
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
        server.serve(runtime, Arc::new(self))
    }

    async fn try_answer(&self, request: Request<Incoming>) -> Result<Bytes, Refusal> {
        admit(request.headers(), self.options.public)?;
        match Question::of(&request)? {
            Question::RunCode => {
                let (place, body) = self.receive(request).await?;
                self.run_code(place, body).await
            }
            Question::Grade => {
                let (place, body) = self.receive(request).await?;
                self.grade(place, body).await
            }
            Question::Health => Ok(self.health()),
            // What SandboxFusion says.
            Question::Ping => Ok(Bytes::from_static(b"\"pong\"")),
        }
    }

    /// A place in the queue first, so that only so many bodies are held.
    async fn receive(&self, request: Request<Incoming>) -> Result<(Arc<Place>, Bytes), Refusal> {
        let patience = self.options.patience;
        match self.queue.enter() {
            Some(place) => {
                let limit = self.options.body_bytes;
                Ok((place, body::read(request.into_body(), limit, patience).await?))
            }
            None => {
                body::discard(request.into_body(), patience).await;
                Err(Refusal::overloaded())
            }
        }
    }

    async fn run_code(&self, place: Arc<Place>, body: Bytes) -> Result<Bytes, Refusal> {
        let (languages, caps) = (self.languages.clone(), self.options.caps);
        let plan = match aside(move || RunCode::parse(&body, &languages, &caps)).await?? {
            RunCode::Run(plan) => plan,
            RunCode::Impossible(message) => return written(&Answer::impossible(message)),
        };
        let turn = place.turn().await.ok_or_else(Refusal::stopping)?;
        let runner = self.runner.clone();
        aside(move || {
            let answer = plan.run(&*runner);
            drop(turn);
            written(&answer)
        })
        .await?
    }

    async fn grade(&self, place: Arc<Place>, body: Bytes) -> Result<Bytes, Refusal> {
        let (languages, caps) = (self.languages.clone(), self.options.caps);
        let request = aside(move || GradeRequest::parse(&body, &languages, &caps)).await??;
        let request = Arc::new(request);
        let lines = grade_all(&place, request.clone(), &self.runner, self.queue.jobs()).await?;
        match lines.first() {
            Some(line) if !request.is_batch => written(line),
            _ => written(&json!({ "verdicts": lines })),
        }
    }

    fn health(&self) -> Bytes {
        let occupancy = self.queue.occupancy();
        let health = json!({
            "status": "ok",
            "version": env!("CARGO_PKG_VERSION"),
            "interpreters": self.languages.all(),
            "jobs": self.queue.jobs(),
            "queue": self.options.queue,
            "running": occupancy.running,
            "waiting": occupancy.waiting,
            "limits": self.options.caps,
        });
        health.to_string().into()
    }
}

/// Work that takes a while, off the thread that serves everybody.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Refusal> {
    spawn_blocking(work).await.map_err(Refusal::internal)
}

fn written(answer: &impl Serialize) -> Result<Bytes, Refusal> {
    serde_json::to_vec(answer).map(Bytes::from).map_err(|error| Refusal::json(&error))
}
