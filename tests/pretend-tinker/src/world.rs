//! What a server knows, and what it does with requests.

mod drawing;
mod learning;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bigram::{Pending, Table, Weights, base};
use crate::http::{Request, Response};
use crate::protobuf::Gradient;
use crate::traps::Traps;

const PROTOBUF: &str = "application/x-protobuf";

/// A model in its place.
#[derive(Debug)]
struct Model {
    place: usize,
    weights: Weights,
    /// Whether nothing was asked of it yet.
    is_new: bool,
    /// Requests by number: their bodies and their promises.
    numbered: BTreeMap<i64, (Vec<u8>, String)>,
}

/// What was kept.
#[derive(Clone, Debug)]
struct Checkpoint {
    model: String,
    weights: Weights,
}

/// What is asked after.
#[derive(Clone, Debug)]
enum Promise {
    /// It is kept after so many polls.
    Kept(usize, Response),
    Never,
    Expired,
}

pub(crate) struct World {
    address: String,
    bases: Vec<String>,
    base: Table,
    pub(crate) traps: Traps,
    models: BTreeMap<String, Model>,
    /// What was added in each place since its last step.
    pending: BTreeMap<usize, Pending>,
    checkpoints: BTreeMap<String, Checkpoint>,
    promises: BTreeMap<String, Promise>,
    made: usize,
    pub(crate) gradients: Vec<Gradient>,
    pub(crate) steps: Vec<Table>,
    pub(crate) settings: Vec<Value>,
    pub(crate) heartbeats: usize,
    last_heartbeat: Instant,
    pub(crate) routes: Vec<String>,
    pub(crate) harms: Vec<String>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("models", &self.models.keys()).finish_non_exhaustive()
    }
}

/// What a route's work comes to: an answer at once, or what a promise is of.
type Work = Result<Response, Response>;

fn refuse(status: u16, detail: &str) -> Response {
    Response::json(status, &json!({ "detail": detail }))
}

fn try_again(promise: &str, queue: &str) -> Response {
    let said = json!({ "type": "try_again", "request_id": promise, "queue_state": queue });
    Response::json(200, &said)
}

impl World {
    pub(crate) fn new(
        address: String,
        bases: Vec<String>,
        vocabulary: usize,
        traps: Traps,
    ) -> World {
        World {
            address,
            bases,
            base: base(vocabulary),
            traps,
            models: BTreeMap::new(),
            pending: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
            promises: BTreeMap::new(),
            made: 0,
            gradients: Vec::new(),
            steps: Vec::new(),
            settings: Vec::new(),
            heartbeats: 0,
            last_heartbeat: Instant::now(),
            routes: Vec::new(),
            harms: Vec::new(),
        }
    }

    pub(crate) fn restart(&mut self) {
        self.models.clear();
        self.pending.clear();
        let lost = refuse(400, "Model not loaded");
        self.promises.values_mut().for_each(|it| {
            if !matches!(it, Promise::Kept(..)) {
                *it = Promise::Kept(0, lost.clone());
            }
        });
    }

    pub(crate) fn lose_checkpoints(&mut self) {
        self.checkpoints.clear();
    }

    pub(crate) fn loaded(&self) -> usize {
        self.models.len()
    }

    pub(crate) fn checkpoints(&self) -> Vec<String> {
        self.checkpoints.keys().cloned().collect()
    }

    /// The answer; nothing if it is lost on the way.
    pub(crate) fn answer(&mut self, request: &Request) -> Option<Response> {
        let route = request.path.trim_start_matches("/api/v1/").to_owned();
        if request.headers.get("x-api-key").map(String::as_str) != self.traps.key {
            return Some(refuse(401, "no key, or a wrong one"));
        }
        self.routes.push(route.clone());
        // However many other requests come.
        if self.last_heartbeat.elapsed() > self.traps.forgets_after {
            self.models.clear();
        }
        if self.traps.busy > 0 && route != "retrieve_future" {
            self.traps.busy -= 1;
            return Some(refuse(503, "try again"));
        }
        let answered = self.route(request, &route);
        match self.traps.lost.iter().position(|lost| *lost == route) {
            Some(place) => {
                self.traps.lost.remove(place);
                None
            }
            None => Some(answered),
        }
    }

    /// How long the answer takes.
    pub(crate) fn slowness(&mut self, request: &Request) -> Duration {
        let late = self.traps.late.iter().position(|route| request.path.ends_with(route));
        match late {
            Some(place) => {
                self.traps.late.remove(place);
                Duration::from_secs(2)
            }
            None => self.traps.slow,
        }
    }

    fn route(&mut self, request: &Request, route: &str) -> Response {
        let body = || serde_json::from_slice::<Value>(&request.body).unwrap_or(Value::Null);
        match (request.method.as_str(), route) {
            ("GET", "get_server_capabilities") => {
                let model = |name: &String| json!({ "model_name": name });
                let models: Vec<Value> = self.bases.iter().map(model).collect();
                Response::json(200, &json!({ "supported_models": models }))
            }
            ("POST", "create_session") => {
                self.made += 1;
                let id = format!("session-{}", self.made);
                let said = json!({ "session_id": id, "info_message": self.traps.says });
                Response::json(200, &said)
            }
            ("POST", "session_heartbeat") => {
                self.heartbeats += 1;
                self.last_heartbeat = Instant::now();
                Response::json(200, &json!({ "type": "session_heartbeat" }))
            }
            ("POST", "retrieve_future") => self.retrieve(&body()),
            ("POST", "create_model") => {
                let made = self.create(&body());
                let id = made.is_ok().then(|| format!("model_{}", self.made));
                self.promise(route, made, id.as_deref())
            }
            ("POST", "unload_model") => {
                let id = body()["model_id"].as_str().unwrap_or_default().to_owned();
                self.models.remove(&id);
                let done = Response::json(200, &json!({ "type": "unload_model" }));
                self.promise(route, Ok(done), None)
            }
            ("POST", "asample") => {
                let drawn = self.sample(&body());
                self.promise(route, drawn, None)
            }
            ("POST", "forward_backward" | "forward") => self.gradient(request, route),
            ("POST", "optim_step") => self.optim_step(request, &body()),
            ("POST", "save_weights" | "save_weights_for_sampler") => self.save(route, &body()),
            ("POST", "load_weights") => {
                let loaded = self.load(&body());
                self.promise(route, loaded, None)
            }
            ("GET", path) if path.ends_with("/archive") => {
                let place = match self.traps.sends_away {
                    true => "http://127.0.0.1:1/elsewhere".to_owned(),
                    false => format!("{}/api/v1/{path}/download", self.address),
                };
                Response { location: Some(place), ..Response::json(302, &Value::Null) }
            }
            ("GET", path) if path.ends_with("/checkpoints") => self.list(path),
            ("DELETE", path) => self.delete(path),
            _ => refuse(404, "no such route"),
        }
    }

    fn retrieve(&mut self, body: &Value) -> Response {
        let id = body["request_id"].as_str().unwrap_or_default();
        match self.promises.get_mut(id) {
            None => refuse(404, "no such promise"),
            Some(Promise::Expired) => {
                self.promises.remove(id);
                refuse(410, "the promise has expired")
            }
            Some(Promise::Never) => try_again(id, "paused_capacity"),
            Some(Promise::Kept(0, response)) => response.clone(),
            Some(Promise::Kept(polls, _)) => {
                *polls -= 1;
                match *polls % 2 {
                    0 => refuse(408, "not yet"),
                    _ => try_again(id, "active"),
                }
            }
        }
    }

    /// A promise of what came of a request.
    fn promise(&mut self, route: &str, work: Work, model: Option<&str>) -> Response {
        self.made += 1;
        let id = self.made.to_string();
        let mut taken = |list: fn(&mut Traps) -> &mut Vec<&'static str>| {
            let list = list(&mut self.traps);
            let place = list.iter().position(|it| *it == route);
            place.map(|place| list.remove(place)).is_some()
        };
        let (never, expired) = (taken(|it| &mut it.never), taken(|it| &mut it.expired));
        let response = work.unwrap_or_else(|refused| refused);
        let promise = match (never, expired) {
            (true, _) => Promise::Never,
            (_, true) => Promise::Expired,
            _ => Promise::Kept(self.traps.polls, response),
        };
        self.promises.insert(id.clone(), promise);
        Response::json(200, &json!({ "request_id": id, "model_id": model }))
    }

    fn create(&mut self, body: &Value) -> Work {
        // Another base than the server's is accepted and ignored.
        let used: Vec<usize> = self.models.values().map(|model| model.place).collect();
        let free = (0..self.traps.places).find(|place| !used.contains(place));
        let place = free.ok_or_else(|| refuse(400, "maximum of models reached"))?;
        self.made += 1;
        let id = format!("model_{}", self.made);
        let weights = Weights::fresh(self.base.len());
        let numbered = BTreeMap::new();
        self.models.insert(id.clone(), Model { place, weights, is_new: true, numbered });
        let _ = body;
        Ok(Response::json(200, &json!({ "model_id": id, "type": "create_model" })))
    }

    fn model(&mut self, id: &str) -> Result<&mut Model, Response> {
        self.models.get_mut(id).ok_or_else(|| refuse(400, &format!("Model {id} not loaded")))
    }

    fn save(&mut self, route: &str, body: &Value) -> Response {
        let id = body["model_id"].as_str().unwrap_or_default().to_owned();
        let name = body["path"].as_str().unwrap_or_default();
        let kind = if route == "save_weights" { "weights" } else { "sampler_weights" };
        let path = format!("tinker://{id}/{kind}/{name}");
        if self.checkpoints.contains_key(&path) {
            return refuse(409, "a checkpoint of that name exists");
        }
        let saved = self.model(&id).map(|model| model.weights.clone());
        let work = saved.map(|weights| {
            self.checkpoints.insert(path.clone(), Checkpoint { model: id, weights });
            Response::json(200, &json!({ "path": path, "type": route }))
        });
        self.promise(route, work, None)
    }

    fn load(&mut self, body: &Value) -> Work {
        let id = body["model_id"].as_str().unwrap_or_default().to_owned();
        let path = body["path"].as_str().unwrap_or_default();
        let kept = self.checkpoints.get(path).cloned();
        let model = self.model(&id)?;
        if !std::mem::take(&mut model.is_new) {
            return Err(refuse(400, "load_weights must be a model's first request"));
        }
        model.weights = kept.ok_or_else(|| refuse(404, "no such checkpoint"))?.weights;
        Ok(Response::json(200, &json!({ "type": "load_weights" })))
    }

    fn list(&self, path: &str) -> Response {
        let model = path.split('/').nth(1).unwrap_or_default();
        let own = self.checkpoints.iter().filter(|(_, kept)| kept.model == model);
        let own: Vec<Value> = own.map(|(path, _)| json!({ "tinker_path": path })).collect();
        Response::json(200, &json!({ "checkpoints": own }))
    }

    fn delete(&mut self, path: &str) -> Response {
        let mut parts = path.splitn(4, '/').skip(1);
        let (model, name) = (parts.next(), parts.nth(1));
        let path = model.zip(name).map(|(model, name)| format!("tinker://{model}/{name}"));
        match path.and_then(|path| self.checkpoints.remove(&path)) {
            Some(_) => Response { body: Vec::new(), ..Response::json(204, &Value::Null) },
            None => refuse(404, "no such checkpoint"),
        }
    }
}
