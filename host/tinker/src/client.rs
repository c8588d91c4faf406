//! Requests to one server, and the promises it makes.
//!
//! Everything slow is answered at once with a promise, which is asked after until it is kept.
//! A repeat has one meaning: what counts (gradients, steps) carries a number, by which the server
//! knows that it has it already; what would be done twice is asked for once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use prost::Message;
use serde_json::{Value, json};

use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use crate::wire::protobuf::GradientRequest;
use crate::wire::{self, Samples, Scored};
use troupe_core::config::TinkerConfig;
use troupe_model::{Exchange, Link, RemoteFailureKind, Reply};

/// The SDK whose messages are spoken.
pub(crate) const SDK: &str = "0.25.0";
const PROTOBUF: &str = "application/x-protobuf";
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The pause before the second attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Attempts at what a server cannot do (500): it may be the request's fault.
const BROKEN: u32 = 3;
/// How long a server is waited for at the end.
const GOODBYE: Duration = Duration::from_secs(15);
/// Characters of a server's words in a message.
const QUOTED: usize = 400;
/// Bytes of an answer.
const ANSWER_BYTES: u64 = 1 << 30;

/// Whether a request may be sent again when its answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The server knows what it has, or doing it twice does no harm.
    Freely,
    /// It would be done twice.
    Never,
}

/// A way to one server.
#[derive(Debug)]
pub(crate) struct Client {
    link: Link,
    url: String,
    timeout: Duration,
    retry: Duration,
    patience: Duration,
    /// Gradients go as JSON: the server has refused protobuf.
    json: AtomicBool,
    /// The end: what does not answer now is not waited for.
    hurried: AtomicBool,
}

/// What was promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Promise(String);

impl Promise {
    fn read(body: &Value) -> Result<Promise, TinkerFailure> {
        let id = body.get("request_id").and_then(Value::as_str);
        let promise = id.map(|id| Promise(id.to_owned()));
        promise.ok_or_else(|| {
            Kind::Malformed.because(format!("its answer has no `request_id`: {}", quote(body)))
        })
    }
}

impl Client {
    pub(crate) fn new(config: &TinkerConfig) -> Result<Client, TinkerFailure> {
        let variable = config.api_key_env.as_deref();
        let connections = config.concurrency + 2;
        let link = Link::open(&config.url, variable, "x-api-key", connections);
        Ok(Client {
            link: link.map_err(|reason| Kind::Locked.because(reason))?,
            url: config.url.trim_end_matches('/').to_owned(),
            timeout: Duration::from_secs(config.timeout_seconds),
            retry: Duration::from_secs(config.retry_seconds),
            patience: Duration::from_secs(config.patience_seconds),
            json: AtomicBool::new(false),
            hurried: AtomicBool::new(false),
        })
    }

    /// How long anything may take.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Whether the server was found to take gradients as JSON alone.
    pub(crate) fn takes_json(&self) -> bool {
        self.json.load(Ordering::Relaxed)
    }

    /// Whether to wait no longer than a goodbye is worth.
    pub(crate) fn hurry(&self, hurry: bool) {
        self.hurried.store(hurry, Ordering::Relaxed);
    }

    fn bounded(&self, wait: Duration) -> Duration {
        let hurried = self.hurried.load(Ordering::Relaxed);
        if hurried { wait.min(GOODBYE) } else { wait }
    }

    /// Fetch something that is there at once.
    pub(crate) fn get(&self, route: &str) -> Result<Value, TinkerFailure> {
        let url = self.address(route);
        let exchange = Exchange::get(&url, self.timeout);
        self.json_of(&self.ask(exchange, Repeat::Freely)?)
    }

    /// Post JSON that is answered at once.
    pub(crate) fn post(
        &self,
        route: &str,
        body: &Value,
        repeat: Repeat,
    ) -> Result<Value, TinkerFailure> {
        let (url, body) = (self.address(route), body.to_string().into_bytes());
        self.json_of(&self.ask(Exchange::post(&url, &body, self.timeout), repeat)?)
    }

    /// Post once, however it ends: a heartbeat comes again by itself.
    pub(crate) fn post_once(&self, route: &str, body: &Value) -> Result<(), TinkerFailure> {
        let (url, body) = (self.address(route), body.to_string().into_bytes());
        self.accept(self.link.exchange(Exchange::post(&url, &body, self.timeout))?).map(drop)
    }

    /// Post JSON that is answered with a promise.
    pub(crate) fn promise(
        &self,
        route: &str,
        body: &Value,
        repeat: Repeat,
    ) -> Result<Promise, TinkerFailure> {
        Promise::read(&self.post(route, body, repeat)?)
    }

    /// Remove something; what is gone already is gone.
    pub(crate) fn delete(&self, route: &str) -> Result<(), TinkerFailure> {
        let url = self.address(route);
        let exchange = Exchange { method: "DELETE", ..Exchange::get(&url, self.timeout) };
        match self.ask(exchange, Repeat::Freely) {
            Ok(_) => Ok(()),
            Err(failure) if failure.kind == Kind::Unknown => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Fetch bytes, at the place that the server sends on to.
    pub(crate) fn fetch(&self, route: &str) -> Result<Vec<u8>, TinkerFailure> {
        let url = self.address(route);
        let reply = self.link.exchange(Exchange::get(&url, self.timeout))?;
        let reply = match reply.location.filter(|_| (300..400).contains(&reply.status)) {
            Some(place) => {
                // The key is for this server alone.
                if !place.starts_with(&format!("{}/", self.url)) {
                    let message = format!("it sends on to another server, `{place}`");
                    return Err(Kind::Refused.because(message));
                }
                let exchange = Exchange::get(&place, self.patience);
                self.link.exchange(Exchange { limit: ANSWER_BYTES, ..exchange })?
            }
            None => Reply { location: None, ..reply },
        };
        Ok(self.accept(reply)?.body)
    }

    /// Send a gradient, in the encoding that the server takes.
    pub(crate) fn gradient(&self, request: &GradientRequest) -> Result<Scored, TinkerFailure> {
        let promise = loop {
            let as_json = self.json.load(Ordering::Relaxed);
            match self.push(request, as_json) {
                Err(failure) if failure.kind == Kind::Encoding && !as_json => {
                    self.json.store(true, Ordering::Relaxed);
                }
                // A promise that was thrown away is asked for again by its number.
                Ok(promise) => match self.keep(&promise) {
                    Err(failure) if failure.kind == Kind::Expired => {
                        break self.push(request, self.json.load(Ordering::Relaxed))?;
                    }
                    kept => return self.scored(&kept?),
                },
                Err(failure) => return Err(failure),
            }
        };
        self.scored(&self.keep(&promise)?)
    }

    fn push(&self, request: &GradientRequest, as_json: bool) -> Result<Promise, TinkerFailure> {
        let route = match as_json && request.forward_only {
            true => "forward",
            false => "forward_backward",
        };
        let (url, body, content_type) = match as_json {
            true => {
                let body = wire::json::gradient(request).to_string().into_bytes();
                (self.address(route), body, "application/json")
            }
            false => (self.address(route), request.encode_to_vec(), PROTOBUF),
        };
        let exchange = Exchange::post(&url, &body, self.timeout);
        let reply = self.ask(Exchange { content_type, ..exchange }, Repeat::Freely)?;
        Promise::read(&self.json_of(&reply)?)
    }

    fn scored(&self, reply: &Reply) -> Result<Scored, TinkerFailure> {
        let read = match is_protobuf(reply) {
            true => wire::protobuf::read_scored(&reply.body),
            false => wire::json::read_scored(&reply.body),
        };
        read.map_err(|reason| Kind::Malformed.because(format!("a gradient's answer: {reason}")))
    }

    /// Wait for a drawing.
    pub(crate) fn samples(&self, promise: &Promise) -> Result<Samples, TinkerFailure> {
        let reply = self.keep(promise)?;
        let read = match is_protobuf(&reply) {
            true => wire::protobuf::read_samples(&reply.body),
            false => wire::json::read_samples(&reply.body),
        };
        read.map_err(|reason| Kind::Malformed.because(format!("a drawing's answer: {reason}")))
    }

    /// Wait for what is answered in JSON.
    pub(crate) fn value(&self, promise: &Promise) -> Result<Value, TinkerFailure> {
        self.json_of(&self.keep(promise)?)
    }

    /// Ask after a promise until it is kept, or for as long as anything may take.
    fn keep(&self, promise: &Promise) -> Result<Reply, TinkerFailure> {
        let body = json!({ "request_id": promise.0, "allow_metadata_only": false }).to_string();
        let url = self.address("retrieve_future");
        let begun = Instant::now();
        loop {
            let left = self.bounded(self.patience).saturating_sub(begun.elapsed());
            if left.is_zero() {
                let seconds = self.patience.as_secs();
                return Err(Kind::Late.because(format!(
                    "it accepted a request and did not do it within {seconds} s; raise \
                     `patience_seconds`, or look at the server"
                )));
            }
            let timeout = self.timeout.min(left).max(Duration::from_millis(100));
            let exchange = Exchange::post(&url, body.as_bytes(), timeout);
            let accept = "application/x-protobuf, application/json";
            let asked = Instant::now();
            let reply = match self.ask_in_time(Exchange { accept, ..exchange }, Repeat::Freely) {
                Ok(Some(reply)) => reply,
                Ok(None) => continue,
                Err(failure) => return Err(failure),
            };
            match waiting(&reply)? {
                true if asked.elapsed() < FIRST_PAUSE => thread::sleep(FIRST_PAUSE / 5),
                true => {}
                false => return Ok(reply),
            }
        }
    }

    /// Ask until there is an answer.
    fn ask(&self, exchange: Exchange, repeat: Repeat) -> Result<Reply, TinkerFailure> {
        let (method, url) = (exchange.method.to_owned(), exchange.url.to_owned());
        self.ask_in_time(exchange, repeat)?.ok_or_else(|| {
            Kind::Lost.because(format!(
                "no answer to {method} {url} within {} s; raise `timeout_seconds`",
                self.timeout.as_secs()
            ))
        })
    }

    /// The same; nothing where the answer did not come in time, as a poll's may not.
    fn ask_in_time(
        &self,
        exchange: Exchange,
        repeat: Repeat,
    ) -> Result<Option<Reply>, TinkerFailure> {
        let (begun, mut pause, mut broken) = (Instant::now(), FIRST_PAUSE, 0);
        loop {
            let (failure, wait) = match self.link.exchange(exchange) {
                Ok(reply) if reply.status == 408 => return Ok(None),
                Ok(reply) if reply.is_passing() => {
                    broken += u32::from(reply.status == 500);
                    let wait = reply.retry_after.unwrap_or_default();
                    (self.accept(reply).err(), wait)
                }
                Ok(reply) => return self.accept(reply).map(Some),
                Err(failure) if failure.kind == RemoteFailureKind::Timeout => return Ok(None),
                Err(failure) if failure.kind == RemoteFailureKind::Malformed => {
                    return Err(failure.into());
                }
                Err(failure) if repeat == Repeat::Never => return Err(failure.into()),
                Err(failure) => (Some(failure.into()), Duration::ZERO),
            };
            let over = begun.elapsed() + pause > self.bounded(self.retry) || broken == BROKEN;
            if let Some(failure) = failure.filter(|_| over) {
                let tried = begun.elapsed().as_secs();
                let message = format!("{} (tried for {tried} s)", failure.message);
                return Err(failure.kind.because(message));
            }
            thread::sleep(pause.max(wait.min(LONGEST_PAUSE)));
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// The reply, if it is none that refuses.
    fn accept(&self, reply: Reply) -> Result<Reply, TinkerFailure> {
        if reply.is_success() {
            return Ok(reply);
        }
        let said = detail(&reply);
        let has_lost = said.contains("not loaded");
        let (kind, advice) = match reply.status {
            401 | 403 => (Kind::Locked, "; name the variable that holds its key in `api_key_env`"),
            402 => (Kind::OnHold, "; the account is on hold"),
            400 if has_lost => (Kind::NotLoaded, ""),
            404 => (Kind::Unknown, ""),
            409 => (Kind::Taken, ""),
            410 => (Kind::Expired, ""),
            415 | 422 => (Kind::Encoding, ""),
            429 | 502..=504 => (Kind::Lost, ""),
            500.. => (Kind::Lost, "; the request may be to blame, or the server's log says more"),
            300..=399 => (Kind::Refused, "; it redirects elsewhere: put that address into `url`"),
            _ => (Kind::Refused, ""),
        };
        Err(kind.because(format!("the server answered {}{advice}: {said}", reply.status)))
    }

    fn json_of(&self, reply: &Reply) -> Result<Value, TinkerFailure> {
        if reply.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&reply.body).map_err(|error| {
            Kind::Malformed.because(format!(
                "its answer is no JSON ({error}); check that `url` is a server that speaks \
                 Tinker's wire"
            ))
        })
    }

    fn address(&self, route: &str) -> String {
        format!("{}/api/v1/{route}", self.url)
    }
}

fn is_protobuf(reply: &Reply) -> bool {
    reply.content_type.starts_with(PROTOBUF)
}

/// Whether a poll says that the promise is not kept yet; an error if it says that it never will be.
fn waiting(reply: &Reply) -> Result<bool, TinkerFailure> {
    if is_protobuf(reply) {
        return Ok(false);
    }
    let Ok(said) = serde_json::from_slice::<Value>(&reply.body) else { return Ok(false) };
    if said.get("type").and_then(Value::as_str) == Some("try_again") {
        return Ok(true);
    }
    match said.get("error") {
        Some(error) => {
            let text = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
            let lost = text.contains("not loaded");
            let kind = if lost { Kind::NotLoaded } else { Kind::Refused };
            Err(kind.because(format!("the server could not do it: {}", cut(&text))))
        }
        None => Ok(false),
    }
}

/// What a refusal says: its `detail`, which may be a list of fields.
fn detail(reply: &Reply) -> String {
    let text = reply.text();
    let body: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let said = match &body["detail"] {
        Value::String(said) => said.clone(),
        Value::Array(fields) => {
            let field = |field: &Value| {
                let place = field["loc"].as_array().cloned().unwrap_or_default();
                let place: Vec<String> = place.iter().map(plain).collect();
                format!("{}: {}", place.join("."), plain(&field["msg"]))
            };
            fields.iter().map(field).collect::<Vec<_>>().join("; ")
        }
        _ => text,
    };
    cut(&said)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn quote(value: &Value) -> String {
    cut(&value.to_string())
}

fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None if text.is_empty() => "(nothing more)".to_owned(),
        None => text.to_owned(),
    }
}
