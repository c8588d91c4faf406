//! Policies as a server that clients of `OpenAI`'s API can ask: `host serve --policy`.
//!
//! A request is read by `question`, answered by the `desk`, one thread that owns the engines and
//! lets answers to all requests grow side by side, and written down by `answer`, whole or piece by
//! piece, from the `news` that the desk tells meanwhile. `adapters` lets clients load and unload
//! some. Connections are the runtime's `server`. `team` is a whole team as a model, played by who is
//! above this crate.

mod adapters;
mod answer;
mod desk;
mod fields;
mod message;
mod news;
mod question;
mod refused;
mod streaming;
mod team;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use troupe_model::{Policy, Wording};
use troupe_server::{Api, ApiRequest, ApiResponse};

use adapters::Adapters;
use answer::{Form, whole};
use desk::{Desk, ENDED, Job, ended};
use news::{Listener, MOST_UNHEARD, News, line};
use question::Question;
use refused::Refused;
use streaming::Events;

pub use team::{TeamApi, TeamModel, TeamQuestion, Told};

/// Where one model can be looked at.
const ONE_MODEL: &str = "/v1/models/";

/// How often it is looked whether a client is still there.
const LOOK: Duration = Duration::from_millis(100);

/// What requests are read and written with: a policy's name and way with words.
struct Model {
    name: String,
    /// What the desk calls it.
    number: usize,
    /// Where it was loaded from, if a client has said so.
    folder: Option<PathBuf>,
    wording: Wording,
    /// The tokens that end its answers.
    ends: Vec<u32>,
    positions: usize,
    is_adapter: bool,
}

/// The API: models by name, and the desk that answers.
pub struct PolicyApi {
    /// The first one is the base of all others.
    models: RwLock<Vec<Arc<Model>>>,
    desk: Desk,
    /// When it began, in seconds.
    since: u64,
    /// Where clients may load adapters from, if they may.
    adapters: Option<Adapters>,
}

impl PolicyApi {
    /// Serve these policies by their names; the first answers requests that name none. Clients may
    /// load adapters from folders within `adapters`.
    pub fn new(named: Vec<(String, Policy)>, adapters: Option<PathBuf>) -> Self {
        let model = |(number, (name, policy)): (usize, &(String, Policy))| {
            Arc::new(Model {
                name: name.clone(),
                number,
                folder: None,
                wording: policy.wording().clone(),
                ends: policy.end_tokens().to_vec(),
                positions: usize::try_from(policy.config().max_position_embeddings).unwrap_or(0),
                is_adapter: policy.is_adapter(),
            })
        };
        let models: Vec<Arc<Model>> = named.iter().enumerate().map(model).collect();
        let adapters = adapters.map(|within| Adapters::new(within, models.len()));
        let policies = named.into_iter().map(|(_, policy)| policy).collect();
        let since = now().as_secs();
        PolicyApi { models: RwLock::new(models), desk: Desk::open(policies), since, adapters }
    }

    /// The models as they are now.
    fn models(&self) -> Vec<Arc<Model>> {
        // The list is whole at any moment.
        self.models.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn list(&self) -> Value {
        let models = self.models();
        let data: Vec<Value> = models.iter().map(|model| self.entry(model, &models[0])).collect();
        json!({ "object": "list", "data": data })
    }

    fn entry(&self, model: &Model, base: &Model) -> Value {
        json!({
            "id": model.name,
            "object": "model",
            "created": self.since,
            "owned_by": "troupe",
            "root": model.folder,
            "parent": model.is_adapter.then_some(&base.name),
            "max_model_len": model.positions,
        })
    }

    /// One of them, by its name as it stands in a path.
    fn one(&self, name: &str) -> Result<ApiResponse, Refused> {
        let models = self.models();
        let name = percent_decode_str(name).decode_utf8_lossy();
        let found = find(&models, &name)?;
        Ok(ApiResponse::Json(200, self.entry(&models[found], &models[0]).to_string()))
    }

    fn complete(&self, form: Form, request: &ApiRequest) -> Result<ApiResponse, Refused> {
        let models = self.models();
        let question = Question::read(form, &request.body, &models)?;
        let (news, heard) = line(MOST_UNHEARD);
        let model = models[question.model].clone();
        let (wording, name) = (model.wording.clone(), model.name.clone());
        let ticket = self.desk.ask(Job {
            model: model.number,
            prompts: question.prompts.clone(),
            seeds: question.seeds.clone(),
            sampling: question.sampling.clone(),
            streams: question.streams,
            news,
        })?;
        if question.streams {
            let first = hear(&heard, request)?;
            let about = (question, name, identity(form));
            let mut events = Events::new(about, wording, heard, Some(ticket));
            events.take_in(first)?;
            return Ok(ApiResponse::Events(Box::new(events)));
        }
        loop {
            match hear(&heard, request)? {
                News::Done(completions) => {
                    let text = whole(&question, &name, &identity(form), &wording, &completions);
                    return Ok(ApiResponse::Json(200, text.to_string()));
                }
                News::Grown(_) => {}
                News::Refused(reason) => return Err(Refused::request(reason)),
                News::Failed(reason) => return Err(Refused::internal(reason)),
            }
        }
    }
}

impl Api for PolicyApi {
    fn answer(&self, request: &ApiRequest) -> ApiResponse {
        let response = match (request.path.as_str(), request.is_post) {
            ("/v1/models", false) => return ApiResponse::Json(200, self.list().to_string()),
            ("/health", false) => {
                if self.desk.has_ended() {
                    let health = json!({ "status": "failed", "reason": ENDED });
                    return ApiResponse::Json(503, health.to_string());
                }
                let health = json!({ "status": "ok", "answering": self.desk.open_jobs() });
                return ApiResponse::Json(200, health.to_string());
            }
            (path, false) if path.starts_with(ONE_MODEL) => self.one(&path[ONE_MODEL.len()..]),
            ("/v1/completions", true) => self.complete(Form::Text, request),
            ("/v1/chat/completions", true) => self.complete(Form::Chat, request),
            (path, true) if self.adapters.is_some() && adapters::ROUTES.contains(&path) => {
                self.change(path, &request.body)
            }
            (path, _) => Err(Refused::no_such_path(path)),
        };
        response.unwrap_or_else(|refused| {
            ApiResponse::Json(refused.status, refused.to_json().to_string())
        })
    }
}

/// What is heard next, while the client is there to be told.
fn hear(heard: &Listener, request: &ApiRequest) -> Result<News, Refused> {
    loop {
        match heard.hear_within(LOOK) {
            Ok(news) => return Ok(news),
            Err(RecvTimeoutError::Timeout) if !request.has_left() => {}
            Err(RecvTimeoutError::Timeout) => {
                return Err(Refused::internal("the client has left".to_owned()));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(ended()),
        }
    }
}

/// The place of a model among others.
fn find(models: &[Arc<Model>], name: &str) -> Result<usize, Refused> {
    let found = models.iter().position(|model| model.name == name);
    found.ok_or_else(|| {
        let names: Vec<String> = models.iter().map(|model| format!("`{}`", model.name)).collect();
        let name = name.escape_debug();
        let message = format!("there is no model `{name}`; there are {}", names.join(", "));
        Refused::no_such_model(message)
    })
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A name for an answer, and when it was begun.
fn identity(form: Form) -> (String, u64) {
    let now = now();
    let prefix = if form == Form::Chat { "chatcmpl" } else { "cmpl" };
    (format!("{prefix}-{:x}", now.as_nanos()), now.as_secs())
}
