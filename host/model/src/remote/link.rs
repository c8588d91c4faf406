//! One way to a server: connections, the key, time-outs. Nothing is asked twice here.

use std::fmt;
use std::io;
use std::time::Duration;

use ureq::http::{HeaderMap, Response, Uri};
use ureq::{Agent, Body, Error, Proxy};

use super::api_key::ApiKey;
use super::failure::{RemoteFailure, RemoteFailureKind};
use super::server::quote;

/// Bytes of a response, unless more are asked for.
pub const RESPONSE_BYTES: u64 = 64 << 20;

/// A way to one server.
pub struct Link {
    agent: Agent,
    key: ApiKey,
    headers: &'static [&'static str],
}

/// One exchange.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'a str,
    /// Where.
    pub url: &'a str,
    /// What is sent.
    pub body: Option<&'a [u8]>,
    /// What that is, such as `application/json`.
    pub content_type: &'a str,
    /// What may come back; anything if empty.
    pub accept: &'a str,
    /// How long it may take.
    pub timeout: Duration,
    /// Bytes that may come back.
    pub limit: u64,
}

/// What a server sent back.
pub struct Reply {
    /// HTTP's status.
    pub status: u16,
    /// What it says.
    pub body: Vec<u8>,
    /// What that is.
    pub content_type: String,
    /// Where it sends on to (`Location`).
    pub location: Option<String>,
    /// How long it asks to wait (`Retry-After`).
    pub retry_after: Option<Duration>,
}

impl Exchange<'_> {
    /// A JSON body that is posted.
    pub fn post<'a>(url: &'a str, body: &'a [u8], timeout: Duration) -> Exchange<'a> {
        let exchange = Exchange::get(url, timeout);
        Exchange { method: "POST", body: Some(body), content_type: "application/json", ..exchange }
    }

    /// Something that is fetched.
    pub fn get(url: &str, timeout: Duration) -> Exchange<'_> {
        let (method, content_type, accept) = ("GET", "", "");
        Exchange { method, url, body: None, content_type, accept, timeout, limit: RESPONSE_BYTES }
    }
}

impl Reply {
    /// Whether it is what was asked for.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the same request may be answered later.
    pub fn is_passing(&self) -> bool {
        self.status >= 500 || self.status == 429 || self.status == 408
    }

    /// What it says, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The refusal that this reply is.
    pub(super) fn refusal(&self) -> RemoteFailure {
        let advice = match self.status {
            300..=399 => "; it redirects elsewhere: put that address into `url`",
            401 | 403 => "; name the variable that holds its key in `api_key_env`",
            404 => "; check `url`, which usually ends in `/v1`, and `model`",
            _ => "",
        };
        let message =
            format!("the server answered {}{advice}: {}", self.status, quote(&self.text()));
        RemoteFailureKind::Refused.because(message)
    }
}

impl Link {
    /// To the server of this address, with the key in an environment variable if one is named,
    /// which is shown in these headers; at most so many connections are kept.
    ///
    /// # Errors
    /// If the variable does not hold a key.
    pub fn open(
        url: &str,
        variable: Option<&str>,
        headers: &'static [&'static str],
        connections: usize,
    ) -> Result<Link, String> {
        Ok(Link::with_key(url, ApiKey::from_variable(variable)?, headers, connections))
    }

    pub(super) fn with_key(
        url: &str,
        key: ApiKey,
        headers: &'static [&'static str],
        connections: usize,
    ) -> Link {
        let proxy = if is_loopback(url) { None } else { Proxy::try_from_env() };
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            // The key is for this server alone.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(connections)
            .max_idle_connections_per_host(connections)
            .user_agent(concat!("troupe/", env!("CARGO_PKG_VERSION")))
            .proxy(proxy)
            .build()
            .new_agent();
        Link { agent, key, headers }
    }

    /// The text without the key.
    pub fn hide(&self, text: &str) -> String {
        self.key.hide(text)
    }

    /// One exchange. A reply of any status is one; what it says no longer holds the key.
    ///
    /// # Errors
    /// If there is none.
    pub fn exchange(&self, exchange: Exchange) -> Result<Reply, RemoteFailure> {
        let Exchange { method, url, body, content_type, accept, timeout, limit } = exchange;
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        let headers = [("content-type", content_type), ("accept", accept)];
        for (name, value) in headers.into_iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(name, value);
        }
        for name in self.headers {
            if let Some(key) = self.key.shown_in(name) {
                request = request.header(*name, key);
            }
        }
        let sent = match body {
            Some(body) => request.body(body).map_err(Error::from).and_then(|request| {
                let configured = self.agent.configure_request(request);
                self.agent.run(configured.timeout_global(Some(timeout)).build())
            }),
            None => request.body(()).map_err(Error::from).and_then(|request| {
                let configured = self.agent.configure_request(request);
                self.agent.run(configured.timeout_global(Some(timeout)).build())
            }),
        };
        let reply = sent.and_then(|response| read(response, limit));
        let mut reply = reply.map_err(|error| failure(&error, timeout))?;
        if !reply.is_success() {
            // Before it is quoted in part: half a key would not be found any more.
            reply.body = self.key.hide(&reply.text()).into_bytes();
        }
        Ok(reply)
    }
}

impl fmt::Debug for Link {
    /// Without the agent: it may know the password of a proxy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("key", &self.key).finish_non_exhaustive()
    }
}

fn failure(error: &Error, timeout: Duration) -> RemoteFailure {
    let late = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
    match error {
        Error::Timeout(_) => timed_out(timeout),
        Error::Io(error) if late(error) => timed_out(timeout),
        Error::BodyExceedsLimit(limit) => RemoteFailureKind::Malformed
            .because(format!("the server's answer is longer than {} MiB", limit >> 20)),
        Error::Protocol(_) | Error::LargeResponseHeader(..) => RemoteFailureKind::Malformed
            .because(format!("the server does not speak HTTP as it should: {error}")),
        _ => {
            RemoteFailureKind::Unreachable.because(format!("the server cannot be reached: {error}"))
        }
    }
}

fn timed_out(timeout: Duration) -> RemoteFailure {
    let seconds = timeout.as_secs();
    RemoteFailureKind::Timeout.because(format!(
        "no answer within {seconds} s; raise `timeout_seconds`, or lower `concurrency`"
    ))
}

fn read(mut response: Response<Body>, limit: u64) -> Result<Reply, Error> {
    let (status, headers) = (response.status().as_u16(), response.headers());
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let (content_type, location) = (text("content-type").unwrap_or_default(), text("location"));
    let retry_after = retry_after(headers);
    let body = response.body_mut().with_config().limit(limit).read_to_vec()?;
    Ok(Reply { status, body, content_type, location, retry_after })
}

/// The header's seconds. A date is not read: it would need a clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Whether the server is on this machine, where no proxy leads.
fn is_loopback(url: &str) -> bool {
    let uri: Option<Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_proxy_is_asked_for_what_is_on_this_machine() {
        for url in ["http://127.0.0.1:8000/v1", "http://[::1]:1/v1", "http://localhost/v1"] {
            assert!(is_loopback(url), "{url}");
        }
        assert!(!is_loopback("https://example.org/v1"));
    }
}
