//! A request of `OpenAI`'s API as what the engine is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::answer::Form;
use super::fields::{self, REQUEST, STREAM};
use super::message;
use super::refused::Refused;
use super::{Model, find};
use troupe_core::seed::Seed;
use troupe_model::{Conversation, PolicyError, Sampling, Wording};

/// Answers that one request may ask for.
const MOST_ANSWERS: usize = 256;
/// Tokens of an answer without a stated length, if the policy has room for as many.
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
    /// Whether log-probabilities name tokens by their ids.
    pub(super) names_ids: bool,
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
        let fields: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|error| Refused::request(format!("the request cannot be read: {error}")))?;
        fields::check(REQUEST, (form.word(), form.noun()), &fields, "")?;
        let request = Request { fields };
        let model = match request.get::<String>("model")? {
            Some(name) => find(models, &name)?,
            None => 0,
        };
        let Model { wording, positions, ends, .. } = &*models[model];
        request.check_ends(ends)?;
        let prompts = match form {
            Form::Chat => vec![request.chat(wording)?],
            Form::Text => request.texts(wording)?,
        };
        let seeds = request.seeds()?;
        if prompts.is_empty() || prompts.len() * seeds.len() > MOST_ANSWERS || seeds.is_empty() {
            let message = format!("a request may ask for 1 to {MOST_ANSWERS} answers");
            return Err(Refused::field("n", message));
        }
        let longest = prompts.iter().map(|prompt| prompt.len()).max().unwrap_or(0);
        Ok(Question {
            form,
            model,
            sampling: request.sampling(request.limit_after(longest, *positions)?)?,
            prompts,
            seeds,
            streams: request.is_true("stream")?,
            tells_usage: request.tells_usage()?,
            wants_logprobs: request.value("logprobs").is_some_and(|wanted| *wanted != false),
            wants_ids: request.is_true("return_token_ids")?,
            names_ids: request.is_true("return_tokens_as_token_ids")?,
        })
    }
}

impl Question {
    /// The prompt of its n-th answer.
    pub(super) fn prompt_of(&self, answer: usize) -> &Arc<[u32]> {
        &self.prompts[answer / self.seeds.len()]
    }
}

/// A request whose fields are all known.
pub(super) struct Request {
    pub(super) fields: Map<String, Value>,
}

impl Request {
    /// A field that is set; `null` counts as absent.
    fn value(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Refused> {
        let read = |value: &Value| T::deserialize(value);
        self.value(name)
            .map(read)
            .transpose()
            .map_err(|error| Refused::field(name, format!("`{name}` cannot be read: {error}")))
    }

    pub(super) fn is_true(&self, name: &str) -> Result<bool, Refused> {
        Ok(self.get(name)?.unwrap_or(false))
    }

    pub(super) fn tells_usage(&self) -> Result<bool, Refused> {
        let options: Map<String, Value> = self.get("stream_options")?.unwrap_or_default();
        fields::check(STREAM, ("stream", "a request"), &options, "stream_options.")?;
        match options.get("include_usage") {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(wanted)) => Ok(*wanted),
            Some(_) => {
                let message = "`stream_options.include_usage` is neither true nor false";
                Err(Refused::field("stream_options", message))
            }
        }
    }

    fn chat(&self, wording: &Wording) -> Result<Arc<[u32]>, Refused> {
        let messages: Vec<Value> = self.get("messages")?.unwrap_or_default();
        if messages.is_empty() {
            return Err(Refused::field("messages", "`messages` says nothing"));
        }
        let read = |(index, one): (usize, &Value)| message::read(index, one);
        let conversation = Conversation {
            messages: messages.iter().enumerate().map(read).collect::<Result<_, _>>()?,
            tools: self.get("tools")?.unwrap_or_default(),
            documents: self.get("documents")?.unwrap_or_default(),
            variables: self.get("chat_template_kwargs")?.unwrap_or_default(),
            asks: self.get("add_generation_prompt")?.unwrap_or(true),
        };
        let text = wording.render_conversation(&conversation)?;
        // A template writes the token that begins a text by itself.
        Ok(self.encode(wording, &text, false)?.into())
    }

    fn encode(&self, wording: &Wording, text: &str, begun: bool) -> Result<Vec<u32>, Refused> {
        Ok(match self.get("add_special_tokens")?.unwrap_or(begun) {
            true => wording.encode_begun(text)?,
            false => wording.encode_text(text)?,
        })
    }

    fn texts(&self, wording: &Wording) -> Result<Vec<Arc<[u32]>>, Refused> {
        let read = |text: &String| -> Result<Arc<[u32]>, Refused> {
            Ok(self.encode(wording, text, true)?.into())
        };
        let wrong = |reason: &str| {
            let kinds = "a text, a list of texts, token ids, or a list of lists of them";
            Refused::field("prompt", format!("`prompt` {reason}: {kinds}"))
        };
        let Some(prompt) = self.value("prompt") else { return Err(wrong("is missing")) };
        match Prompt::deserialize(prompt).map_err(|_| wrong("cannot be read"))? {
            Prompt::Text(text) => Ok(vec![read(&text)?]),
            Prompt::Ids(ids) => Ok(vec![ids.into()]),
            Prompt::Texts(texts) => texts.iter().map(read).collect(),
            Prompt::ListsOfIds(lists) => Ok(lists.into_iter().map(Into::into).collect()),
        }
    }

    /// One for each answer: the request's own, or others every time.
    fn seeds(&self) -> Result<Vec<Seed>, Refused> {
        static REQUESTS: AtomicU64 = AtomicU64::new(0);
        let root = match self.get::<i64>("seed")? {
            Some(seed) => Seed::new(seed.cast_unsigned()).named("served"),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Seed::new(now.as_nanos() as u64).at(REQUESTS.fetch_add(1, Ordering::Relaxed))
            }
        };
        let wanted = self.get::<usize>("n")?.unwrap_or(1).min(MOST_ANSWERS + 1);
        Ok((0..wanted as u64).map(|answer| root.at(answer)).collect())
    }

    fn sampling(&self, max_completion_tokens: usize) -> Result<Sampling, Refused> {
        let number = |name, default| Ok::<f64, Refused>(self.get(name)?.unwrap_or(default));
        let stop = match self.get("stop")? {
            None => Vec::new(),
            Some(Stop::One(text)) => vec![text],
            Some(Stop::Several(texts)) => texts,
        };
        if stop.iter().any(String::is_empty) {
            let message = "`stop` has an empty text, which would end every answer";
            return Err(Refused::field("stop", message));
        }
        Ok(Sampling {
            temperature: number("temperature", 1.0)?,
            top_p: number("top_p", 1.0)?,
            top_k: self.top_k()?,
            min_p: number("min_p", 0.0)?,
            repetition_penalty: number("repetition_penalty", 1.0)?,
            stop,
            constraint: None,
            max_completion_tokens,
            thinking_budget: 0,
        })
    }

    /// Answers end at the tokens that end the policy's, and at no others.
    fn check_ends(&self, ends: &[u32]) -> Result<(), Refused> {
        let wanted: Vec<u32> = self.get("stop_token_ids")?.unwrap_or_default();
        match wanted.iter().find(|id| !ends.contains(id)) {
            None => Ok(()),
            Some(id) => {
                let message = format!(
                    "`stop_token_ids` has {id}, which does not end this policy's answers, as \
                     {ends:?} do; say a text in `stop`"
                );
                Err(Refused::field("stop_token_ids", message))
            }
        }
    }

    /// -1 and 0 keep all.
    fn top_k(&self) -> Result<usize, Refused> {
        match self.get::<i64>("top_k")?.unwrap_or(0) {
            -1 => Ok(0),
            top_k => usize::try_from(top_k).map_err(|_| {
                Refused::field("top_k", format!("`top_k` is {top_k}, but must be -1 or more"))
            }),
        }
    }

    /// Tokens that an answer may have after a prompt of so many.
    fn limit_after(&self, prompt: usize, positions: usize) -> Result<usize, Refused> {
        match (self.limit()?, positions.saturating_sub(prompt)) {
            (Some(limit), _) => Ok(limit),
            (None, 0) => {
                let positions = positions as i64;
                Err(PolicyError::PromptTooLong { prompt, answer: 1, positions }.into())
            }
            (None, room) => Ok(USUAL_TOKENS.min(room)),
        }
    }

    /// It has two names.
    fn limit(&self) -> Result<Option<usize>, Refused> {
        let newer: Option<usize> = self.get("max_completion_tokens")?;
        match (newer, self.get("max_tokens")?) {
            (Some(newer), Some(older)) if newer != older => {
                let message = format!(
                    "`max_completion_tokens` is {newer} and `max_tokens`, its older name, {older}; \
                     say one of them"
                );
                Err(Refused::field("max_tokens", message))
            }
            (newer, older) => Ok(newer.or(older)),
        }
    }
}
