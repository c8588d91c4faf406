//! From a request to its answer.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;

use super::access::is_let_in;
use super::chance::Chance;
use super::dialogue::{self, Said};
use super::envelope::Problem;
use super::game::Game;
use super::invalid::{self, Invalid};
use super::mcp::{self, Call, Fault};
use super::options::OpenEnvOptions;
use super::page;
use super::registry::{Registry, Seated};
use super::reset::Reset;
use super::route::Route;
use super::schema;
use super::session::Session;
use super::socket::{Answerer, Conversation, turn_away};
use super::task_list::{self, NoTasks};
use super::upgrade::{agree, socket};
use crate::body;
use crate::error::ServeError;
use crate::guard::admit_own_page;
use crate::http_server::{Door, HttpServer, Service};
use crate::refusal::{Refusal, json_response};
use crate::stopping::Stopping;
use troupe_guests::plugin::THREAD_STACK_BYTES;

/// Bodies that are read at a time.
const BODIES: usize = 64;

/// An environment, or a team that plays one, for others.
pub struct EnvironmentServer {
    game: Arc<Game>,
    options: OpenEnvOptions,
    registry: Arc<Registry>,
    chance: Arc<Chance>,
    bodies: Semaphore,
}

impl EnvironmentServer {
    /// One that serves this.
    pub fn new(game: Game, options: OpenEnvOptions) -> Self {
        EnvironmentServer {
            game: Arc::new(game),
            registry: Arc::new(Registry::new(options.sessions, options.rate)),
            options,
            chance: Arc::default(),
            bodies: Semaphore::new(BODIES),
        }
    }

    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// The system refuses something at the start.
    pub fn serve(self, server: HttpServer) -> Result<(), ServeError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(self.options.jobs.max(1))
            .thread_stack_size(THREAD_STACK_BYTES)
            .build()?;
        server.serve(runtime, Arc::new(self))
    }

    async fn try_answer(
        &self,
        mut request: Request<Incoming>,
        stopping: Stopping,
    ) -> Result<Response<Full<Bytes>>, Refusal> {
        admit_own_page(request.headers(), self.options.token.is_some())?;
        if *request.method() == Method::GET
            && let Some(part) = page::part(request.uri().path())
        {
            return Ok(part);
        }
        let route = Route::of(request.method(), request.uri().path())?;
        if route != Route::Health && !is_let_in(request.headers(), self.options.token.as_ref()) {
            return Err(Refusal::unauthorized());
        }
        if let Route::Socket | Route::McpSocket = route {
            let name = session_name(request.uri().query());
            let door = request.extensions().get::<Door>().cloned();
            let (response, upgrade) = agree(&mut request)?;
            let answerer = self.answerer(&route);
            let (registry, options) = (self.registry.clone(), self.options.clone());
            tokio::spawn(async move {
                converse(upgrade, registry, name, answerer, options, stopping).await;
                drop(door);
            });
            return Ok(response);
        }
        self.answer_route(route, request.into_body()).await
    }

    async fn answer_route(
        &self,
        route: Route,
        body: Incoming,
    ) -> Result<Response<Full<Bytes>>, Refusal> {
        let game = &*self.game;
        Ok(match route {
            Route::Health => json(&self.health()),
            Route::Metadata => json(&schema::metadata(game)),
            Route::Schema => json(&schema::schemas(game)),
            Route::OpenApi => json(&schema::openapi(game)),
            Route::State => json(&Session::default().state()),
            Route::Environments => json(&json!([game.environment().name])),
            Route::Splits(name) => {
                self.check_name(&name)?;
                json(&task_list::splits())
            }
            Route::Tasks(name, question) => {
                self.check_name(&name)?;
                let body = self.read(body).await?;
                tasks(task_list::answer(game, question, Some(&body)))
            }
            Route::Reset => {
                let body = self.read(body).await?;
                self.once(move |session, game, chance| {
                    session.reset(game, chance, Reset::parse(Some(&body))?)
                })
                .await?
            }
            Route::Step => {
                let body = self.read(body).await?;
                self.once(move |session, game, chance| step_once(session, game, chance, &body))
                    .await?
            }
            Route::Mcp => json(&self.mcp(body).await?),
            // Sockets were answered before.
            Route::Socket | Route::McpSocket => return Err(Refusal::malformed("no socket")),
        })
    }

    fn health(&self) -> Value {
        json!({
            "status": "healthy",
            "active_sessions": self.registry.active(),
            "max_sessions": self.registry.most(),
        })
    }

    fn check_name(&self, name: &str) -> Result<(), Refusal> {
        let own = &self.game.environment().name;
        if name == own { Ok(()) } else { Err(Refusal::no_such_environment(name, own)) }
    }

    /// A body of JSON; nothing in its place counts as null.
    async fn read(&self, body: Incoming) -> Result<Value, Refusal> {
        let bytes = self.receive(body).await?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|error| Refusal::json(&error))
    }

    /// As many bodies are held at a time as there are permits.
    async fn receive(&self, body: Incoming) -> Result<Bytes, Refusal> {
        let _permit = self.bodies.acquire().await;
        body::read(body, self.options.frame_bytes, self.options.patience).await
    }

    /// Does something in a session that ends with it.
    async fn once(
        &self,
        work: impl FnOnce(&mut Session, &Game, &Chance) -> Result<Value, Problem> + Send + 'static,
    ) -> Result<Response<Full<Bytes>>, Refusal> {
        let session = self
            .registry
            .enter()
            .ok_or_else(|| Refusal::busy("all sessions are taken (--sessions); try again later"))?;
        let (game, chance) = (self.game.clone(), self.chance.clone());
        let done = session.work(move |session| work(session, &game, &chance)).await;
        Ok(match done.map_err(Refusal::internal)? {
            Ok(told) => json(&told),
            Err(problem) => of_problem(&problem),
        })
    }

    /// Answers a frame of a socket, on a worker.
    fn answerer(&self, route: &Route) -> Answerer {
        let (game, chance) = (self.game.clone(), self.chance.clone());
        if *route == Route::Socket {
            return Arc::new(move |session, text| dialogue::answer(session, &game, &chance, text));
        }
        Arc::new(move |session, text| {
            let answer = match serde_json::from_str(text) {
                Ok(request) => mcp::answer(session, &game, &chance, &request),
                Err(error) => mcp::replied(&Value::Null, Err(Fault::not_json(error))),
            };
            Said::Frame(answer.to_string())
        })
    }

    /// `POST /mcp`: always an answer in JSON-RPC, errors too.
    async fn mcp(&self, body: Incoming) -> Result<Value, Refusal> {
        let bytes = self.receive(body).await?;
        let request: Value = match serde_json::from_slice(&bytes) {
            Ok(request) => request,
            Err(error) => return Ok(mcp::replied(&Value::Null, Err(Fault::not_json(error)))),
        };
        let call = match Call::parse(&request) {
            Ok(call) => call,
            Err(refused) => return Ok(refused),
        };
        let named = call.parameters.get("session_id").and_then(Value::as_str);
        let result = match (call.method, named) {
            ("openenv/session/create", _) => self.create_session(),
            ("openenv/session/close", Some(name)) => self.close_session(name),
            ("openenv/session/close" | "tools/call", None) => {
                Err(Fault::parameters("`session_id` is missing; openenv/session/create gives one"))
            }
            ("tools/call", Some(name)) => match self.registry.find(name) {
                Some(session) => return self.call_tool(session, request).await,
                None => Err(no_session(name)),
            },
            _ => mcp::without_session(&self.game, &call),
        };
        Ok(mcp::replied(&call.id, result))
    }

    fn create_session(&self) -> Result<Value, Fault> {
        let (active, most) = (self.registry.active(), self.registry.most());
        let session = self.registry.enter().ok_or_else(|| Problem::full(active, most))?;
        let name = self.chance.name();
        self.registry.name(name.clone(), session, self.options.idle);
        Ok(json!({ "session_id": name }))
    }

    fn close_session(&self, name: &str) -> Result<Value, Fault> {
        if !self.registry.end(name) {
            return Err(no_session(name));
        }
        Ok(json!({ "session_id": name, "closed": true }))
    }

    async fn call_tool(&self, session: Arc<Seated>, request: Value) -> Result<Value, Refusal> {
        let (game, chance) = (self.game.clone(), self.chance.clone());
        let work = move |session: &mut Session| mcp::answer(session, &game, &chance, &request);
        session.work(work).await.map_err(Refusal::internal)
    }
}

impl Service for EnvironmentServer {
    type Body = Full<Bytes>;

    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        stopping: Stopping,
    ) -> Response<Full<Bytes>> {
        self.try_answer(request, stopping).await.unwrap_or_else(Refusal::into_response)
    }

    fn places(&self) -> usize {
        self.options.sessions
    }

    fn patience(&self) -> Duration {
        self.options.patience
    }

    async fn wind_up(&self) {
        // Sockets end by themselves; what a worker does is finished by its limits.
    }
}

/// A client's stay, in the session that it names or in one of its own.
async fn converse(
    upgrade: OnUpgrade,
    registry: Arc<Registry>,
    name: Option<String>,
    answerer: Answerer,
    options: OpenEnvOptions,
    stopping: Stopping,
) {
    let Some(mut socket) = socket(upgrade, options.frame_bytes).await else { return };
    let full = || Problem::full(registry.active(), registry.most());
    let session = match &name {
        None => registry.enter().ok_or_else(full),
        Some(name) => registry
            .find(name)
            .ok_or_else(|| Problem::session("there is no session of this name, or it has ended")),
    };
    let attached = session.and_then(|session| {
        session.attach().ok_or_else(|| Problem::session("this session has another socket"))
    });
    match attached {
        Ok(session) => Conversation::new(socket, session, answerer, &options).go_on(stopping).await,
        Err(problem) => turn_away(&mut socket, &problem, options.silence).await,
    }
}

/// The session that `session_id` names in a query.
fn session_name(query: Option<&str>) -> Option<String> {
    let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(name, _)| *name == "session_id").map(|(_, value)| value.to_owned())
}

/// `POST /step`: any training task, and the action in it.
fn step_once(
    session: &mut Session,
    game: &Game,
    chance: &Chance,
    body: &Value,
) -> Result<Value, Problem> {
    let fields = invalid::fields(Some(body))?;
    invalid::check_names(&fields, &["action", "timeout_s", "request_id"])?;
    let Some(action) = fields.get("action") else {
        return Err(Invalid::field("missing", "action", "the field `action` is missing").into());
    };
    let action = game.read(Some(action))?;
    session.reset(game, chance, Reset::parse(None)?)?;
    session.step(game, action)
}

fn no_session(name: &str) -> Fault {
    Fault::parameters(format!("there is no session `{name}`, or it has ended"))
}

fn json(value: &Value) -> Response<Full<Bytes>> {
    json_response(value.to_string().into())
}

/// A problem as FastAPI's clients know them.
fn of_problem(problem: &Problem) -> Response<Full<Bytes>> {
    let detail = problem.more.get("errors").cloned().unwrap_or_else(|| json!(problem.message));
    let status = match problem.code {
        "VALIDATION_ERROR" => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    with_status(
        status,
        &json!({ "detail": detail, "code": problem.code, "message": problem.message }),
    )
}

fn tasks(answer: Result<Value, NoTasks>) -> Response<Full<Bytes>> {
    match answer {
        Ok(answer) => json(&answer),
        Err(NoTasks::Invalid(invalid)) => {
            with_status(StatusCode::BAD_REQUEST, &json!({ "detail": invalid.message() }))
        }
        Err(NoTasks::Uncounted) => {
            let detail = "the tasks are without end; name one with an index";
            with_status(StatusCode::NOT_IMPLEMENTED, &json!({ "detail": detail }))
        }
    }
}

fn with_status(status: StatusCode, value: &Value) -> Response<Full<Bytes>> {
    let mut response = json(value);
    *response.status_mut() = status;
    response
}
