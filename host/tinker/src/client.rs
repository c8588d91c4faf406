//! Requests to one server, and the promises it makes.
//!
//! Everything slow is answered at once with a promise, which is asked after until it is kept.
//! A repeat has one meaning: what counts (gradients, steps) carries a number, by which the server
//! knows that it has it already; what would be done twice is asked for once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use troupe_core::config::TinkerConfig;
use troupe_model::{Exchange, Link, RemoteFailureKind, Reply};

/// The SDK whose messages are spoken.
pub(crate) const SDK: &str = "0.25.0";
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The pause before the second attempt.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(250);
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
    pub(crate) timeout: Duration,
    retry: Duration,
    pub(crate) patience: Duration,
    /// Gradients go as JSON: the server has refused protobuf.
    pub(crate) json: AtomicBool,
    /// The end: what does not answer now is not waited for.
    hurried: AtomicBool,
}

impl Client {
    pub(crate) fn new(config: &TinkerConfig) -> Result<Client, TinkerFailure> {
        let variable = config.api_key_env.as_deref();
        let connections = config.concurrency + 2;
        // Some look at the one, some at the other.
        let headers = &["x-api-key", "authorization"];
        let link = Link::open(&config.url, variable, headers, connections);
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

    pub(crate) fn bounded(&self, wait: Duration) -> Duration {
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

    /// Remove something, asked for once: nothing waits for it. What is gone already is gone.
    pub(crate) fn delete(&self, route: &str) -> Result<(), TinkerFailure> {
        let url = self.address(route);
        let timeout = self.timeout.min(GOODBYE);
        let exchange = Exchange { method: "DELETE", ..Exchange::get(&url, timeout) };
        match self.link.exchange(exchange).map_err(Into::into).and_then(|it| self.accept(it)) {
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

    /// Ask until there is an answer.
    pub(crate) fn ask(&self, exchange: Exchange, repeat: Repeat) -> Result<Reply, TinkerFailure> {
        let begun = Instant::now();
        loop {
            if let Some(reply) = self.ask_in_time(exchange, repeat)? {
                return Ok(reply);
            }
            if repeat == Repeat::Never || begun.elapsed() > self.bounded(self.retry) {
                let Exchange { method, url, .. } = exchange;
                return Err(Kind::Lost.because(format!(
                    "no answer to {method} {url} within {} s; raise `timeout_seconds`",
                    begun.elapsed().as_secs()
                )));
            }
        }
    }

    /// The same; nothing where the answer did not come in time, as a poll's may not.
    pub(crate) fn ask_in_time(
        &self,
        exchange: Exchange,
        repeat: Repeat,
    ) -> Result<Option<Reply>, TinkerFailure> {
        let (begun, mut pause, mut broken) = (Instant::now(), FIRST_PAUSE, 0);
        loop {
            let (failure, wait) = match self.link.exchange(exchange) {
                Ok(reply) if reply.status == 408 => return Ok(None),
                // What a server says before it has done anything may be asked for again.
                Ok(reply)
                    if reply.is_passing()
                        && (repeat == Repeat::Freely || [429, 503].contains(&reply.status)) =>
                {
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

    pub(crate) fn json_of(&self, reply: &Reply) -> Result<Value, TinkerFailure> {
        if reply.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&reply.body).map_err(|error| {
            Kind::Malformed.because(format!(
                "its answer is no JSON ({error}); check that `url` is a server that speaks \
                 Tinker's protocol"
            ))
        })
    }

    pub(crate) fn address(&self, route: &str) -> String {
        format!("{}/api/v1/{route}", self.url)
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

pub(crate) fn quote(value: &Value) -> String {
    cut(&value.to_string())
}

pub(crate) fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None if text.is_empty() => "(nothing more)".to_owned(),
        None => text.to_owned(),
    }
}
