//! Answers that are errors.

use std::any::Any;

use axum::Json;
use axum::body::HttpBody;
use axum::http::StatusCode;
use axum::http::header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::task::JoinError;

/// Seconds after which trying again makes sense.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// A request that gets no answer to its question. It never says anything
/// about a program.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    kind: &'static str,
    message: String,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Refusal { status, kind, message: message.into(), header: None }
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// 400: not HTTP, or not JSON.
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, "malformed", message)
    }

    /// 401.
    pub(super) fn unauthorized() -> Self {
        let message = "bring the server's token: `Authorization: Bearer ...`";
        Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
            .with(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// 404: of another environment.
    pub(super) fn no_such_environment(name: &str, own: &str) -> Self {
        let message = format!("there is no environment `{name}`; there is `{own}`");
        Refusal::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 503: there is no place now.
    pub(super) fn busy(message: &str) -> Self {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
            .with(RETRY_AFTER, RETRY_SECONDS)
    }

    /// 403: from a web page, or for another machine.
    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// 404.
    pub(super) fn no_such_path(path: &str, paths: &str) -> Self {
        let message = format!("there is no `{path}`; there are {paths}");
        Refusal::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 405.
    pub(super) fn wrong_method(allowed: HeaderValue) -> Self {
        let message = format!("this path takes {}", allowed.to_str().unwrap_or_default());
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
            .with(ALLOW, allowed)
    }

    /// What a router answers; where it refuses a method, which it does without a word, in ours.
    pub(super) fn of_other_methods(response: Response) -> Response {
        let is_wordless = response.body().is_end_stream();
        match response.headers().get(ALLOW) {
            Some(allowed) if is_wordless && response.status() == StatusCode::METHOD_NOT_ALLOWED => {
                Refusal::wrong_method(allowed.clone()).into_response()
            }
            _ => response,
        }
    }

    /// 408.
    pub(super) fn too_slow() -> Self {
        Refusal::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body took too long to arrive")
    }

    /// 413.
    pub(super) fn too_large(limit: usize) -> Self {
        let message =
            format!("the body has more than {limit} bytes (--max-body-mib, --max-frame-kib)");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    /// 422: JSON, but with other fields than there should be.
    pub(super) fn unprocessable(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", message)
    }

    /// 429.
    pub(super) fn overloaded() -> Self {
        let message = "the queue is full (--queue); try again later";
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, "overloaded", message)
            .with(RETRY_AFTER, RETRY_SECONDS)
    }

    /// 503.
    pub(super) fn stopping() -> Self {
        let message = "the server is being stopped; the request has not been begun";
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", message)
            .with(RETRY_AFTER, RETRY_SECONDS)
    }

    /// 500: a fault of ours, or a task that was called off.
    pub(super) fn internal(error: JoinError) -> Self {
        let message = match error.try_into_panic() {
            Ok(panic) => format!("the server is at fault: {}", said(&*panic)),
            Err(error) => format!("the server is at fault: {error}"),
        };
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// JSON that cannot be read, or that says something else than it should.
    pub(super) fn json(error: &serde_json::Error) -> Self {
        if error.is_data() {
            Refusal::unprocessable(error.to_string())
        } else {
            Refusal::malformed(format!("the body is not JSON: {error}"))
        }
    }

    /// The same as `OpenAI`'s API says it.
    pub(super) fn into_api_response(self) -> Response {
        let error = json!({ "error": {
            "message": self.message, "type": self.kind, "param": null, "code": null,
        } });
        self.saying(error)
    }

    fn saying(self, error: Value) -> Response {
        (self.status, self.header.map(|header| [header]), Json(error)).into_response()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = json!({ "error": { "kind": self.kind, "message": self.message } });
        self.saying(error)
    }
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}
