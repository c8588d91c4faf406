//! A request of a chat as a question to a team.

use serde_json::{Map, Value};

use super::TeamModel;
use crate::fields;
use crate::message;
use crate::question::Request;
use crate::refused::Refused;

/// Episodes that one request may ask for.
const MOST_SAMPLES: usize = 64;

/// What a client asks.
pub(super) struct TeamRequest {
    pub(super) model: usize,
    pub(super) text: String,
    pub(super) samples: usize,
    pub(super) seed: u32,
    pub(super) draws: bool,
    pub(super) streams: bool,
    pub(super) tells_usage: bool,
}

impl TeamRequest {
    /// Read a request.
    pub(super) fn read(body: &[u8], models: &[TeamModel]) -> Result<Self, Refused> {
        let fields: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|error| Refused::request(format!("the request cannot be read: {error}")))?;
        fields::check_team(&fields)?;
        let request = Request { fields };
        let model = match request.get::<String>("model")? {
            Some(name) => find(models, &name)?,
            None => 0,
        };
        let samples = request.get("n")?.unwrap_or(1);
        if !(1..=MOST_SAMPLES).contains(&samples) {
            let message = format!("a request may ask for 1 to {MOST_SAMPLES} answers");
            return Err(Refused::field("n", message));
        }
        Ok(TeamRequest {
            model,
            text: question(&request)?,
            samples,
            seed: request.get("seed")?.unwrap_or(0),
            draws: draws(&request, &models[model])?,
            streams: request.is_true("stream")?,
            tells_usage: request.tells_usage()?,
        })
    }
}

/// Whether the run's own way to draw is asked for, or the likeliest answers; there is no other.
fn draws(request: &Request, model: &TeamModel) -> Result<bool, Refused> {
    match request.get::<f64>("temperature")? {
        None | Some(0.0) => Ok(false),
        Some(wanted) if (wanted - model.temperature).abs() < 1e-9 => Ok(true),
        Some(wanted) => {
            let message = format!(
                "`temperature` is {wanted}; the team answers at 0, or draws as its run does, at {}",
                model.temperature
            );
            Err(Refused::field("temperature", message))
        }
    }
}

/// The only message: a team plays one question at a time and is told nothing else.
fn question(request: &Request) -> Result<String, Refused> {
    let messages: Vec<Value> = request.get("messages")?.unwrap_or_default();
    let wrong = |reason: &str| {
        let message = format!("`messages` {reason}: a team is asked by one message of role `user`");
        Refused::field("messages", message)
    };
    let [only] = &messages[..] else {
        return Err(wrong(if messages.is_empty() { "says nothing" } else { "has several" }));
    };
    let told = message::read(0, only)?;
    match (told["role"].as_str(), told["content"].as_str(), told.get("name")) {
        (Some("user"), Some(text), None) if !text.trim().is_empty() => Ok(text.to_owned()),
        (Some("user"), _, None) => Err(wrong("says nothing")),
        (Some("user"), ..) => Err(wrong("has a `name`")),
        _ => Err(wrong("has one of another role")),
    }
}

/// The place of a model among others.
pub(super) fn find(models: &[TeamModel], name: &str) -> Result<usize, Refused> {
    models.iter().position(|model| model.name == name).ok_or_else(|| {
        let names: Vec<String> = models.iter().map(|model| format!("`{}`", model.name)).collect();
        let name = name.escape_debug();
        Refused::no_such_model(format!(
            "there is no model `{name}`; there are {}",
            names.join(", ")
        ))
    })
}
