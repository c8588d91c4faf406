//! Promises: what a server answers at once with, and is asked after until it has done its work.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use prost::Message;
use serde_json::{Value, json};

use crate::client::{Client, FIRST_PAUSE, Repeat, cut, quote};
use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use crate::wire::protobuf::GradientRequest;
use crate::wire::{self, Samples, Scored};
use troupe_model::{Exchange, Reply};

const PROTOBUF: &str = "application/x-protobuf";

/// What was promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Promise(String);

impl Promise {
    pub(crate) fn read(body: &Value) -> Result<Promise, TinkerFailure> {
        let id = body.get("request_id").and_then(Value::as_str);
        let promise = id.map(|id| Promise(id.to_owned()));
        promise.ok_or_else(|| {
            Kind::Malformed.because(format!("its answer has no `request_id`: {}", quote(body)))
        })
    }
}

impl Client {
    /// Post JSON that is answered with a promise.
    pub(crate) fn promise(
        &self,
        route: &str,
        body: &Value,
        repeat: Repeat,
    ) -> Result<Promise, TinkerFailure> {
        Promise::read(&self.post(route, body, repeat)?)
    }

    /// Send a gradient and wait for what comes of it. A promise that was thrown away is asked for
    /// again by the request's number.
    pub(crate) fn gradient(&self, request: &GradientRequest) -> Result<Scored, TinkerFailure> {
        let kept = match self.keep(&self.submit(request)?) {
            Err(failure) if failure.kind == Kind::Expired => self.keep(&self.submit(request)?),
            kept => kept,
        };
        self.scored(&kept?)
    }

    /// In the encoding that the server takes; if it takes neither, the first refusal says why.
    fn submit(&self, request: &GradientRequest) -> Result<Promise, TinkerFailure> {
        let as_json = self.takes_json();
        match self.push(request, as_json) {
            Err(refusal) if refusal.kind == Kind::Encoding && !as_json => {
                let promise = self.push(request, true).map_err(|_| refusal)?;
                self.json.store(true, Ordering::Relaxed);
                Ok(promise)
            }
            pushed => pushed,
        }
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
        let mut queue = String::new();
        loop {
            let left = self.bounded(self.patience).saturating_sub(begun.elapsed());
            if left.is_zero() {
                let seconds = self.patience.as_secs();
                let paused = match queue.starts_with("paused") {
                    true => format!(" (it says that its queue is `{}`)", cut(&queue)),
                    false => String::new(),
                };
                return Err(Kind::Late.because(format!(
                    "it accepted a request and did not do it within {seconds} s{paused}; raise \
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
                Some(state) => queue = state,
                None => return Ok(reply),
            }
            if asked.elapsed() < FIRST_PAUSE {
                thread::sleep(FIRST_PAUSE / 5);
            }
        }
    }
}

fn is_protobuf(reply: &Reply) -> bool {
    reply.content_type.starts_with(PROTOBUF)
}

/// How the queue stands where a poll says that the promise is not kept yet; an error if it says
/// that it never will be.
fn waiting(reply: &Reply) -> Result<Option<String>, TinkerFailure> {
    if is_protobuf(reply) {
        return Ok(None);
    }
    let Ok(said) = serde_json::from_slice::<Value>(&reply.body) else { return Ok(None) };
    if said.get("type").and_then(Value::as_str) == Some("try_again") {
        let state = said.get("queue_state").and_then(Value::as_str).unwrap_or_default();
        return Ok(Some(state.to_owned()));
    }
    match said.get("error") {
        Some(error) => {
            let text = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
            let lost = text.contains("not loaded");
            let kind = if lost { Kind::NotLoaded } else { Kind::Refused };
            Err(kind.because(format!("the server could not do it: {}", cut(&text))))
        }
        None => Ok(None),
    }
}
