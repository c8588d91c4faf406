//! From a request to its answer.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::middleware::map_request;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Json, Router};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;

use super::access::{PROTOCOL, own_page_only, token_only};
use super::chance::Chance;
use super::dialogue::{self, Reply};
use super::envelope::Problem;
use super::game::Game;
use super::invalid::{self, Invalid};
use super::mcp::{self, Call, Fault};
use super::options::OpenEnvOptions;
use super::page;
use super::registry::{Registry, Seated};
use super::reset::Reset;
use super::schema;
use super::session::Session;
use super::socket::{Answerer, Conversation, turn_away};
use super::task_list::{self, NoTasks, TaskQuery};
use crate::body;
use crate::error::ServeError;
use crate::http_server::{Door, HttpServer, Terms};
use crate::refusal::Refusal;
use troupe_guests::plugin::THREAD_STACK_BYTES;

/// Bodies that are read at a time.
const BODIES: usize = 64;
/// Bytes that a socket reads and writes at once. There may be thousands of them.
const BUFFER_BYTES: usize = 4 << 10;
/// The paths, for the error message about another one.
const PATHS: &str = "/ws, /health, /metadata, /schema, /openapi.json, /reset, /step, /state, /mcp, \
                     /list_environments, /<name>/splits and, for people, /";

/// An environment, or a team that plays one, for others.
pub struct EnvironmentServer {
    game: Arc<Game>,
    options: OpenEnvOptions,
    registry: Arc<Registry>,
    chance: Arc<Chance>,
    bodies: Semaphore,
}

type SharedServer = Arc<EnvironmentServer>;

/// A request to become a socket.
type UpgradeRequest = (Result<WebSocketUpgrade, WebSocketUpgradeRejection>, Extension<Door>, Uri);

impl EnvironmentServer {
    /// One that serves this.
    pub fn new(game: Game, options: OpenEnvOptions) -> Self {
        let registry = Arc::new(Registry::new(options.sessions, options.rate));
        EnvironmentServer::among(game, options, registry)
    }

    /// One whose sessions have their places in a registry that others may share.
    pub(super) fn among(game: Game, options: OpenEnvOptions, registry: Arc<Registry>) -> Self {
        EnvironmentServer {
            game: Arc::new(game),
            registry,
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
        let options = self.options.clone();
        serve(server, self.router(), &options)
    }

    /// What is served.
    pub(super) fn game(&self) -> Arc<Game> {
        self.game.clone()
    }

    pub(super) fn router(self) -> Router {
        let token = self.options.token.clone();
        let (let_in, has_token) = (own_page_only(token.is_some()), token_only(token));
        Router::new()
            .route("/metadata", told(|server| schema::metadata(&server.game)))
            .route("/schema", told(|server| schema::schemas(&server.game)))
            .route("/openapi.json", told(|server| schema::openapi(&server.game)))
            .route("/state", told(|_| Session::default().state()))
            .route("/list_environments", told(|server| json!([server.game.environment().name])))
            .route("/ws", get(frames))
            .route("/mcp", get(calls).post(call))
            .route("/reset", post(reset))
            .route("/step", post(step))
            .route("/{name}/splits", get(splits))
            .route("/{name}/num_tasks", tasks(TaskQuery::Count))
            .route("/{name}/tasks", tasks(TaskQuery::All))
            .route("/{name}/task", tasks(TaskQuery::One))
            .route("/{name}/task_range", tasks(TaskQuery::Range))
            .route_layer(map_request(has_token))
            .route("/health", told(|server| health(&server.registry)))
            .merge(page::parts())
            .fallback(async |uri: Uri| Refusal::no_such_path(uri.path(), PATHS))
            .with_state(Arc::new(self))
            .layer(map_request(let_in))
    }

    fn check_name(&self, name: &str) -> Result<(), Refusal> {
        let own = &self.game.environment().name;
        if name == own { Ok(()) } else { Err(Refusal::no_such_environment(name, own)) }
    }

    /// A body of JSON; nothing in its place counts as null.
    async fn read(&self, body: Body) -> Result<Value, Refusal> {
        let bytes = self.receive(body).await?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|error| Refusal::json(&error))
    }

    /// As many bodies are held at a time as there are permits.
    async fn receive(&self, body: Body) -> Result<Bytes, Refusal> {
        let _permit = self.bodies.acquire().await;
        body::read(body, self.options.frame_bytes, self.options.patience).await
    }

    /// Does something in a session that ends with it.
    async fn once(
        &self,
        work: impl FnOnce(&mut Session, &Game, &Chance) -> Result<Value, Problem> + Send + 'static,
    ) -> Result<Response, Refusal> {
        let session = self
            .registry
            .enter()
            .ok_or_else(|| Refusal::busy("all sessions are taken (--sessions); try again later"))?;
        let (game, chance) = (self.game.clone(), self.chance.clone());
        let done = session.work(move |session| work(session, &game, &chance)).await;
        Ok(match done.map_err(Refusal::internal)? {
            Ok(told) => Json(told).into_response(),
            Err(problem) => of_problem(&problem),
        })
    }

    /// Agrees to become a socket, whose frames are answered so, on a worker.
    fn agree(
        self: Arc<Self>,
        request: UpgradeRequest,
        answerer: Answerer,
    ) -> Result<Response, Refusal> {
        let (upgrade, Extension(door), uri) = request;
        let upgrade =
            upgrade.map_err(|_| Refusal::malformed("this path is a WebSocket's (version 13)"))?;
        let name = session_name(uri.query());
        Ok(upgrade
            .read_buffer_size(BUFFER_BYTES)
            .write_buffer_size(BUFFER_BYTES)
            .max_message_size(self.options.frame_bytes)
            .max_frame_size(self.options.frame_bytes)
            .protocols([PROTOCOL])
            .on_upgrade(async move |socket| self.converse(socket, name, answerer, door).await))
    }

    /// A client's stay, in the session that it names or in one of its own.
    async fn converse(
        &self,
        mut socket: WebSocket,
        name: Option<String>,
        answerer: Answerer,
        door: Door,
    ) {
        let registry = &self.registry;
        let full = || Problem::full(registry.active(), registry.most());
        let session = match &name {
            None => registry.enter().ok_or_else(full),
            Some(name) => registry.find(name).ok_or_else(|| {
                Problem::session("there is no session of this name, or it has ended")
            }),
        };
        let attached = session.and_then(|session| {
            session.attach().ok_or_else(|| Problem::session("this session has another socket"))
        });
        match attached {
            Ok(session) => {
                Conversation::new(socket, session, answerer, &self.options).go_on(door).await;
            }
            Err(problem) => turn_away(&mut socket, &problem, self.options.silence).await,
        }
    }

    /// `POST /mcp`: an answer in JSON-RPC, errors too; none to a notification.
    async fn mcp(&self, body: Body) -> Result<Option<Value>, Refusal> {
        let bytes = self.receive(body).await?;
        let request: Value = match serde_json::from_slice(&bytes) {
            Ok(request) => request,
            Err(error) => return Ok(Some(mcp::replied(&Value::Null, Err(Fault::not_json(error))))),
        };
        match mcp::is_notification(&request) {
            true => Ok(None),
            false => self.carry_out(request).await.map(Some),
        }
    }

    async fn carry_out(&self, request: Value) -> Result<Value, Refusal> {
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
                Some(session) => {
                    let own = name.to_owned();
                    return self.call_tool(session, own, request).await;
                }
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

    /// Has a session called by its own name.
    async fn call_tool(
        &self,
        session: Arc<Seated>,
        own: String,
        request: Value,
    ) -> Result<Value, Refusal> {
        let (game, chance) = (self.game.clone(), self.chance.clone());
        let work =
            move |session: &mut Session| mcp::answer(session, &game, &chance, Some(&own), &request);
        session.work(work).await.map_err(Refusal::internal)
    }
}

/// Serves these routes until it is told to stop.
pub(super) fn serve(
    server: HttpServer,
    routes: Router,
    options: &OpenEnvOptions,
) -> Result<(), ServeError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(options.jobs.max(1))
        .thread_stack_size(THREAD_STACK_BYTES)
        .build()?;
    let (places, patience) = (options.sessions, options.patience);
    // Sockets end by themselves; what a worker does is finished by its limits.
    server.serve(runtime, routes, Terms { places, patience, queue: None })
}

/// How many sessions there are and may be.
pub(super) fn health(registry: &Registry) -> Value {
    json!({
        "status": "healthy",
        "active_sessions": registry.active(),
        "max_sessions": registry.most(),
    })
}

/// What a server tells whoever asks.
fn told(what: fn(&EnvironmentServer) -> Value) -> MethodRouter<SharedServer> {
    get(async move |State(server): State<SharedServer>| Json(what(&server)))
}

/// A socket's frames are OpenEnv's.
async fn frames(
    State(server): State<SharedServer>,
    request: UpgradeRequest,
) -> Result<Response, Refusal> {
    let (game, chance) = (server.game.clone(), server.chance.clone());
    let own = session_name(request.2.query());
    let answerer = move |session: &mut Session, text: &str| {
        dialogue::answer(session, &game, &chance, own.as_deref(), text)
    };
    server.agree(request, Arc::new(answerer))
}

/// A socket's frames are calls in JSON-RPC.
async fn calls(
    State(server): State<SharedServer>,
    request: UpgradeRequest,
) -> Result<Response, Refusal> {
    let (game, chance) = (server.game.clone(), server.chance.clone());
    let own = session_name(request.2.query());
    let answerer = move |session: &mut Session, text: &str| {
        let answer = match serde_json::from_str(text) {
            Ok(request) if mcp::is_notification(&request) => return Reply::Nothing,
            Ok(request) => mcp::answer(session, &game, &chance, own.as_deref(), &request),
            Err(error) => mcp::replied(&Value::Null, Err(Fault::not_json(error))),
        };
        Reply::Frame(answer.to_string())
    };
    server.agree(request, Arc::new(answerer))
}

async fn call(State(server): State<SharedServer>, body: Body) -> Result<Response, Refusal> {
    Ok(match server.mcp(body).await? {
        Some(answer) => Json(answer).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    })
}

async fn reset(State(server): State<SharedServer>, body: Body) -> Result<Response, Refusal> {
    let body = server.read(body).await?;
    let work = move |session: &mut Session, game: &Game, chance: &Chance| {
        session.reset(game, chance, Reset::parse(Some(&body))?)
    };
    server.once(work).await
}

async fn step(State(server): State<SharedServer>, body: Body) -> Result<Response, Refusal> {
    let body = server.read(body).await?;
    server.once(move |session, game, chance| step_once(session, game, chance, &body)).await
}

async fn splits(
    State(server): State<SharedServer>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Refusal> {
    server.check_name(&name)?;
    Ok(Json(task_list::splits()))
}

fn tasks(question: TaskQuery) -> MethodRouter<SharedServer> {
    post(async move |State(server): State<SharedServer>, Path(name): Path<String>, body: Body| {
        server.check_name(&name)?;
        let body = server.read(body).await?;
        Ok::<_, Refusal>(match task_list::answer(&server.game, question, Some(&body)) {
            Ok(answer) => Json(answer).into_response(),
            Err(NoTasks::Invalid(invalid)) => {
                (StatusCode::BAD_REQUEST, Json(json!({ "detail": invalid.message() })))
                    .into_response()
            }
            Err(NoTasks::Uncounted) => {
                let detail = "the tasks are without end; name one with an index";
                (StatusCode::NOT_IMPLEMENTED, Json(json!({ "detail": detail }))).into_response()
            }
        })
    })
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

/// A problem as FastAPI's clients know them.
fn of_problem(problem: &Problem) -> Response {
    let status = match problem.code {
        "VALIDATION_ERROR" => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, Json(problem.to_body())).into_response()
}
