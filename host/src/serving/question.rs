//! A request of `OpenAI`'s API as what the engine is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::{Value, json};

use super::Model;
use super::answer::Form;
use crate::policy::{PolicyError, Sampling, Wording};
use crate::seed::Seed;
use crate::trajectory::{Author, Message};

/// Answers that one request may ask for.
const MOST_ANSWERS: usize = 256;
/// Tokens of an answer whose length nobody says, if the policy has room for as many.
const USUAL_TOKENS: usize = 1024;

/// What the engine is asked.
pub(super) struct Question {
    pub(super) form: Form,
    pub(super) model: usize,
    pub(super) prompts: Vec<Arc<[u32]>>,
    /// One for each answer to each prompt.
    pub(super) seeds: Vec<Seed>,
    pub(super) sampling: Sampling,
    pub(super) streams: bool,
    /// Whether a stream ends with what was used.
    pub(super) tells_usage: bool,
    pub(super) wants_logprobs: bool,
    pub(super) wants_ids: bool,
}

/// A request that is not answered.
#[derive(Debug, PartialEq)]
pub(super) struct Refused {
    pub(super) status: u16,
    kind: &'static str,
    message: String,
}

impl Refused {
    /// What is asked cannot be.
    pub(super) fn request(message: impl Into<String>) -> Self {
        Refused { status: 400, kind: "invalid_request_error", message: message.into() }
    }

    pub(super) fn internal(message: String) -> Self {
        Refused { status: 500, kind: "internal_error", message }
    }

    pub(super) fn no_such_path(path: &str) -> Self {
        let message = format!(
            "there is no `{path}`; there are GET /v1/models, GET /health, POST /v1/completions \
             and POST /v1/chat/completions"
        );
        Refused::missing(message)
    }

    /// What is asked for is not there.
    pub(super) fn missing(message: String) -> Self {
        Refused { status: 404, kind: "not_found_error", message }
    }

    /// As `OpenAI` has it.
    pub(super) fn to_json(&self) -> Value {
        json!({ "error": {
            "message": self.message, "type": self.kind, "param": null, "code": self.status,
        } })
    }
}

impl From<PolicyError> for Refused {
    fn from(error: PolicyError) -> Self {
        Refused::request(error.to_string())
    }
}

/// The fields of both kinds of requests; those that nothing is done about are refused where they
/// ask for something.
#[derive(Deserialize)]
struct Fields {
    model: Option<String>,
    messages: Option<Vec<Turn>>,
    prompt: Option<Prompt>,
    tools: Option<Vec<Value>>,
    max_tokens: Option<usize>,
    max_completion_tokens: Option<usize>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    top_k: Option<i64>,
    min_p: Option<f64>,
    repetition_penalty: Option<f64>,
    seed: Option<i64>,
    n: Option<usize>,
    stop: Option<Stop>,
    #[serde(default)]
    stream: bool,
    stream_options: Option<StreamOptions>,
    logprobs: Option<Value>,
    #[serde(default)]
    return_token_ids: bool,
    // Refused where they would change something.
    #[serde(default)]
    echo: bool,
    best_of: Option<usize>,
    top_logprobs: Option<usize>,
    presence_penalty: Option<f64>,
    frequency_penalty: Option<f64>,
    logit_bias: Option<Value>,
    response_format: Option<Value>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// A message.
#[derive(Deserialize)]
struct Turn {
    role: String,
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Stop {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Prompt {
    Text(String),
    Ids(Vec<u32>),
    Texts(Vec<String>),
    ListsOfIds(Vec<Vec<u32>>),
}

impl Question {
    /// Read a request.
    pub(super) fn read(form: Form, body: &[u8], models: &[Arc<Model>]) -> Result<Self, Refused> {
        let fields: Fields = serde_json::from_slice(body)
            .map_err(|error| Refused::request(format!("the request cannot be read: {error}")))?;
        fields.check()?;
        let model = fields.model_among(models)?;
        let Model { wording, positions, .. } = &*models[model];
        let prompts = match form {
            Form::Chat => vec![fields.chat(wording)?],
            Form::Text => fields.texts(wording)?,
        };
        let seeds = fields.seeds();
        if prompts.is_empty() || prompts.len() * seeds.len() > MOST_ANSWERS || seeds.is_empty() {
            let message = format!("a request may ask for 1 to {MOST_ANSWERS} answers");
            return Err(Refused::request(message));
        }
        let longest = prompts.iter().map(|prompt| prompt.len()).max().unwrap_or(0);
        Ok(Question {
            form,
            model,
            sampling: fields.sampling(positions.saturating_sub(longest))?,
            prompts,
            seeds,
            streams: fields.stream,
            tells_usage: fields.stream_options.is_some_and(|options| options.include_usage),
            wants_logprobs: fields.logprobs.is_some_and(|wanted| {
                // A chat asks for them by a truth value, a completion by a number.
                !matches!(wanted, Value::Null | Value::Bool(false))
            }),
            wants_ids: fields.return_token_ids,
        })
    }
}

impl Fields {
    fn check(&self) -> Result<(), Refused> {
        let zero = |number: Option<f64>| number.is_none_or(|number| number == 0.0);
        let plain = |format: &Value| format.get("type").is_none_or(|kind| kind == "text");
        let asked = [
            ("echo", self.echo),
            ("best_of", self.best_of.is_some_and(|best| best != self.n.unwrap_or(1))),
            ("top_logprobs", self.top_logprobs.is_some_and(|top| top > 0)),
            ("presence_penalty", !zero(self.presence_penalty)),
            ("frequency_penalty", !zero(self.frequency_penalty)),
            (
                "logit_bias",
                self.logit_bias.as_ref().is_some_and(|bias| {
                    !bias.is_null() && bias.as_object().is_none_or(|bias| !bias.is_empty())
                }),
            ),
            ("response_format", !self.response_format.as_ref().is_none_or(plain)),
        ];
        match asked.into_iter().find(|(_, asked)| *asked) {
            Some((field, _)) => {
                Err(Refused::request(format!("`{field}` is not supported; leave it out")))
            }
            None => Ok(()),
        }
    }

    fn model_among(&self, models: &[Arc<Model>]) -> Result<usize, Refused> {
        let Some(wanted) = &self.model else { return Ok(0) };
        let found = models.iter().position(|model| model.name == *wanted);
        found.ok_or_else(|| {
            let names: Vec<String> =
                models.iter().map(|model| format!("`{}`", model.name)).collect();
            let message = format!("there is no model `{wanted}`; there are {}", names.join(", "));
            Refused::missing(message)
        })
    }

    fn chat(&self, wording: &Wording) -> Result<Arc<[u32]>, Refused> {
        let turns = self.messages.as_deref().unwrap_or_default();
        if turns.is_empty() {
            return Err(Refused::request("`messages` says nothing"));
        }
        let messages = turns.iter().map(Turn::message).collect::<Result<Vec<Message>, _>>()?;
        Ok(wording.encode_prompt(&messages, self.tools.as_deref().unwrap_or_default(), None)?)
    }

    fn texts(&self, wording: &Wording) -> Result<Vec<Arc<[u32]>>, Refused> {
        let read = |text: &String| -> Result<Arc<[u32]>, Refused> {
            Ok(wording.encode_text(text)?.into())
        };
        match &self.prompt {
            None => Err(Refused::request("`prompt` is missing: a text or a list of token ids")),
            Some(Prompt::Text(text)) => Ok(vec![read(text)?]),
            Some(Prompt::Ids(ids)) => Ok(vec![ids.clone().into()]),
            Some(Prompt::Texts(texts)) => texts.iter().map(read).collect(),
            Some(Prompt::ListsOfIds(lists)) => {
                Ok(lists.iter().map(|ids| ids.clone().into()).collect())
            }
        }
    }

    /// One for each answer: the request's own, or others every time.
    fn seeds(&self) -> Vec<Seed> {
        static REQUESTS: AtomicU64 = AtomicU64::new(0);
        let root = match self.seed {
            Some(seed) => Seed::new(seed.cast_unsigned()).named("served"),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Seed::new(now.as_nanos() as u64).at(REQUESTS.fetch_add(1, Ordering::Relaxed))
            }
        };
        (0..self.n.unwrap_or(1).min(MOST_ANSWERS + 1) as u64)
            .map(|answer| root.at(answer))
            .collect()
    }

    /// `room` is how long an answer can be.
    fn sampling(&self, room: usize) -> Result<Sampling, Refused> {
        let wanted = self.max_completion_tokens.or(self.max_tokens);
        let sampling = Sampling {
            temperature: self.temperature.unwrap_or(1.0),
            top_p: self.top_p.unwrap_or(1.0),
            // -1 and 0 keep all.
            top_k: self.top_k.map_or(0, |top_k| usize::try_from(top_k).unwrap_or(0)),
            min_p: self.min_p.unwrap_or(0.0),
            repetition_penalty: self.repetition_penalty.unwrap_or(1.0),
            stop: match &self.stop {
                None => Vec::new(),
                Some(Stop::One(text)) => vec![text.clone()],
                Some(Stop::Several(texts)) => texts.clone(),
            },
            max_completion_tokens: wanted.unwrap_or(USUAL_TOKENS.min(room)),
            thinking_budget: 0,
        };
        if sampling.stop.iter().any(String::is_empty) {
            return Err(Refused::request("`stop` has an empty text, which would end every answer"));
        }
        Ok(sampling)
    }
}

impl Turn {
    fn message(&self) -> Result<Message, Refused> {
        let author = match self.role.as_str() {
            "system" | "developer" => Author::System,
            "user" => Author::User,
            "assistant" => Author::Assistant,
            "tool" => Author::Tool,
            other => {
                let message = format!(
                    "`{other}` is no role of a message; there are system, user, assistant and tool"
                );
                return Err(Refused::request(message));
            }
        };
        let text = match &self.content {
            None => String::new(),
            Some(Content::Text(text)) => text.clone(),
            Some(Content::Parts(parts)) => {
                let text = |part: &Part| part.text.clone().ok_or(());
                parts.iter().map(text).collect::<Result<String, ()>>().map_err(|()| {
                    Refused::request("a message has a part that is no text; only texts are read")
                })?
            }
        };
        Ok(Message { author, text })
    }
}
