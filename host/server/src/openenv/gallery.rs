//! Several environments behind one address: each with all its routes below its name, and at `/` a
//! page on which to choose.

use std::sync::{Arc, OnceLock};

use axum::extract::{Request, State};
use axum::http::Uri;
use axum::middleware::map_request;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tower_service::Service;

use super::access::{own_page_only, token_only};
use super::game::Game;
use super::options::OpenEnvOptions;
use super::page;
use super::registry::Registry;
use super::schema;
use super::service::{EnvironmentServer, health, serve};
use crate::error::ServeError;
use crate::http_server::HttpServer;
use crate::refusal::Refusal;
use troupe_guests::plugin::{Rendering, Split};

/// What an environment answers to below its own name in the terms of a server of several.
const OF_TASKS: [&str; 5] = ["/splits", "/num_tasks", "/tasks", "/task", "/task_range"];

/// Several environments, or teams that play them.
pub struct GalleryServer {
    options: OpenEnvOptions,
    registry: Arc<Registry>,
    rooms: Vec<Room>,
}

/// One of them.
struct Room {
    name: String,
    game: Arc<Game>,
    routes: Router,
    card: OnceLock<Value>,
}

type SharedGallery = Arc<GalleryServer>;

impl GalleryServer {
    /// One that serves these, which have different names.
    pub fn new(games: Vec<Game>, options: OpenEnvOptions) -> Self {
        let registry = Arc::new(Registry::new(options.sessions, options.rate));
        let room = |game: Game| {
            // A name that was given below one path means nothing below another.
            let registry = Arc::new(registry.beside());
            let server = EnvironmentServer::among(game, options.clone(), registry);
            let game = server.game();
            Room {
                name: game.name().to_owned(),
                game,
                routes: server.router(),
                card: OnceLock::new(),
            }
        };
        GalleryServer { rooms: games.into_iter().map(room).collect(), registry, options }
    }

    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// The system refuses something at the start.
    pub fn serve(self, server: HttpServer) -> Result<(), ServeError> {
        let options = self.options.clone();
        serve(server, self.router(), &options)
    }

    fn router(self) -> Router {
        let token = self.options.token.clone();
        let (let_in, has_token) = (own_page_only(token.is_some()), token_only(token));
        Router::new()
            .route("/list_environments", get(names))
            .route("/gallery", get(cards))
            .route_layer(map_request(has_token))
            .route(
                "/health",
                get(async |State(gallery): State<SharedGallery>| Json(health(&gallery.registry))),
            )
            .merge(page::of_gallery())
            .fallback(enter)
            .with_state(Arc::new(self))
            .layer(map_request(let_in))
    }

    /// The paths, for the error message about another one.
    fn paths(&self) -> String {
        let rooms: Vec<String> = self.rooms.iter().map(|room| format!("/{}/", room.name)).collect();
        format!(
            "/health, /list_environments, /gallery, for people /, and below {} all that an \
             environment has when it is served alone, such as {}ws",
            rooms.join(", "),
            rooms[0]
        )
    }
}

impl Room {
    /// What there is to choose by: its name, what it is, and how a task begins.
    fn card(&self) -> &Value {
        self.card.get_or_init(|| {
            let mut card = schema::metadata(&self.game);
            card["path"] = json!(format!("{}/", self.name));
            card["picture"] = match self.picture() {
                Some(Rendering { text, svg }) => json!({ "text": text, "svg": svg }),
                None => Value::Null,
            };
            card
        })
    }

    /// The first training task, drawn; nothing if it cannot be.
    fn picture(&self) -> Option<Rendering> {
        let begun = self.game.begin(Split::Train, 0).ok()?;
        self.game.render(&begun.next.ok()?).ok()?
    }
}

async fn names(State(gallery): State<SharedGallery>) -> Json<Value> {
    Json(gallery.rooms.iter().map(|room| json!(room.name)).collect())
}

/// Whatever calls a plugin runs on a worker.
async fn cards(State(gallery): State<SharedGallery>) -> Result<Json<Value>, Refusal> {
    let drawn =
        spawn_blocking(move || gallery.rooms.iter().map(|room| room.card().clone()).collect());
    drawn.await.map(Json).map_err(Refusal::internal)
}

/// The environment that the path begins with answers the rest.
async fn enter(State(gallery): State<SharedGallery>, mut request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let named = |room: &&Room| {
        let rest = path.strip_prefix('/').and_then(|rest| rest.strip_prefix(room.name.as_str()));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let Some(room) = gallery.rooms.iter().find(named) else {
        return Refusal::no_such_path(&path, &gallery.paths()).into_response();
    };
    let rest = &path[1 + room.name.len()..];
    if rest.is_empty() {
        return Redirect::permanent(&format!("/{}/", room.name)).into_response();
    }
    if !OF_TASKS.contains(&rest) {
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        // A part of a path and a query are both again.
        let Ok(inner) = format!("{rest}{query}").parse::<Uri>() else {
            return Refusal::no_such_path(&path, &gallery.paths()).into_response();
        };
        *request.uri_mut() = inner;
    }
    match room.routes.clone().call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
