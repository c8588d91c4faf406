//! A team as a model: a question is played as a task, and what the team answers is the answer.
//!
//! Who plays is above this crate: it takes [`TeamQuestion`]s from a channel and tells what is
//! said.

mod question;
#[cfg(test)]
mod tests;
mod voice;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use serde_json::{Value, json};

use super::refused::Refused;
use super::{LOOK, ONE_MODEL, now};
use question::TeamRequest;
use troupe_core::totals::Totals;
use troupe_server::{Api, ApiRequest, ApiResponse};
use voice::{TeamEvents, Voices};

/// How a team can be asked.
#[derive(Clone, Debug)]
pub struct TeamModel {
    /// What clients call it.
    pub name: String,
    /// The temperature of its run, at which it may be asked besides 0.
    pub temperature: f64,
}

/// What a team is asked.
pub struct TeamQuestion {
    /// Which of the models.
    pub model: usize,
    /// The question.
    pub text: String,
    /// Episodes that are played of it, each with an answer of its own.
    pub samples: usize,
    /// Root of what is drawn: the number of the task in `host eval`.
    pub seed: u32,
    /// Whether answers are drawn at the run's temperature, or the likeliest ones.
    pub draws: bool,
    /// Where it is told what is said.
    pub told: Sender<Told>,
    /// How many questions are open; counted down when this is dropped.
    _counted: Counted,
    left: Arc<AtomicBool>,
}

impl TeamQuestion {
    /// The likeliest answer to a question, of the first model; what is said is told there.
    pub fn new(text: &str, told: Sender<Told>) -> Self {
        let (text, model, samples, seed) = (text.to_owned(), 0, 1, 0);
        let (_counted, left) = (Counted::among(&Arc::default()), Arc::default());
        TeamQuestion { model, text, samples, seed, draws: false, told, _counted, left }
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_unwanted(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }
}

/// What is told of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// Somebody of the team has spoken.
    Said {
        /// In which episode.
        sample: usize,
        /// Who.
        seat: String,
        /// What.
        text: String,
    },
    /// An episode is over.
    Answered {
        /// Which one.
        sample: usize,
        /// What the team answers; nothing if a limit ended it before.
        answer: Option<String>,
        /// Whether a limit ended it.
        was_cut: bool,
        /// What was read and drawn.
        spent: Totals,
    },
    /// It cannot be asked.
    Refused(String),
    /// There will be no answer.
    Failed(String),
}

/// One of those that are open.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn among(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Counted(open.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Dropping it means that no answer is wanted any more.
struct Wish(Arc<AtomicBool>);

impl Drop for Wish {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The API of a team.
pub struct TeamApi {
    models: Vec<TeamModel>,
    questions: Sender<TeamQuestion>,
    open: Arc<AtomicUsize>,
    /// When it began, in seconds.
    since: u64,
}

impl TeamApi {
    /// These models, and where questions to them arrive; requests that name none ask the first.
    pub fn new(models: Vec<TeamModel>) -> (Self, Receiver<TeamQuestion>) {
        let (questions, asked) = channel();
        let since = now().as_secs();
        (TeamApi { models, questions, open: Arc::default(), since }, asked)
    }

    fn entry(&self, model: &TeamModel) -> Value {
        json!({
            "id": model.name, "object": "model", "created": self.since, "owned_by": "troupe",
        })
    }

    fn list(&self) -> Value {
        let data: Vec<Value> = self.models.iter().map(|model| self.entry(model)).collect();
        json!({ "object": "list", "data": data })
    }

    fn one(&self, name: &str) -> Result<ApiResponse, Refused> {
        let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
        let found = question::find(&self.models, &name)?;
        Ok(ApiResponse::Json(200, self.entry(&self.models[found]).to_string()))
    }

    fn complete(&self, request: &ApiRequest) -> Result<ApiResponse, Refused> {
        let asked = TeamRequest::read(&request.body, &self.models)?;
        let (told, heard) = channel();
        let left: Arc<AtomicBool> = Arc::default();
        let wish = Wish(left.clone());
        let question = TeamQuestion {
            model: asked.model,
            text: asked.text.clone(),
            samples: asked.samples,
            seed: asked.seed,
            draws: asked.draws,
            told,
            _counted: Counted::among(&self.open),
            left,
        };
        self.questions.send(question).map_err(|_| ended())?;
        let name = self.models[asked.model].name.clone();
        let mut voices = Voices::new(asked.samples);
        if asked.streams {
            // What is wrong with a question is said before any of it is answered.
            let first = hear(&heard, request)?;
            let mut events = TeamEvents::new(asked, name, heard, wish);
            events.take_in(first)?;
            return Ok(ApiResponse::Events(Box::new(events)));
        }
        while !voices.are_over() {
            voices.take_in(hear(&heard, request)?)?;
        }
        Ok(ApiResponse::Json(200, voices.whole(&name).to_string()))
    }
}

impl Api for TeamApi {
    fn answer(&self, request: &ApiRequest) -> ApiResponse {
        let response = match (request.path.as_str(), request.is_post) {
            ("/v1/models", false) => return ApiResponse::Json(200, self.list().to_string()),
            ("/health", false) => {
                let answering = self.open.load(Ordering::Relaxed);
                let health = json!({ "status": "ok", "answering": answering });
                return ApiResponse::Json(200, health.to_string());
            }
            (path, false) if path.starts_with(ONE_MODEL) => self.one(&path[ONE_MODEL.len()..]),
            ("/v1/chat/completions", true) => self.complete(request),
            ("/v1/completions", true) => Err(Refused::missing(
                "a team is asked questions: POST /v1/chat/completions".to_owned(),
            )),
            (path, _) => Err(Refused::no_such_path(path)),
        };
        response.unwrap_or_else(|refused| {
            ApiResponse::Json(refused.status, refused.to_json().to_string())
        })
    }
}

/// What is told next, while the client is there to hear it.
fn hear(heard: &Receiver<Told>, request: &ApiRequest) -> Result<Told, Refused> {
    loop {
        match heard.recv_timeout(LOOK) {
            Ok(told) => return Ok(told),
            Err(RecvTimeoutError::Timeout) if !request.has_left() => {}
            Err(RecvTimeoutError::Timeout) => {
                return Err(Refused::internal("the client has left".to_owned()));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(ended()),
        }
    }
}

fn ended() -> Refused {
    Refused::internal("the team plays no more".to_owned())
}
