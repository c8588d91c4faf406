//! One server: requests, time-outs and second attempts.

use std::fmt;
use std::io;
use std::thread;
use std::time::Duration;

use ureq::http::{HeaderMap, Response, Uri};
use ureq::{Agent, Body, Error, Proxy};

use super::api_key::ApiKey;
use super::failure::{RemoteFailure, RemoteFailureKind};
use troupe_core::config::RemoteConfig;
use troupe_core::seed::Seed;

/// Bytes of a response.
const RESPONSE_BYTES: u64 = 64 << 20;
/// How long anything may take for which the model need not run.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause before the first further attempt; it doubles from one to the next.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause, also if the server asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Characters of a server's words in a message.
const QUOTED_CHARACTERS: usize = 400;

/// A server that is asked.
pub(super) struct Server {
    agent: Agent,
    url: String,
    key: ApiKey,
    /// For one answer of the model.
    timeout: Duration,
    retries: u32,
    pub(super) first_pause: Duration,
}

/// What a server sent back.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    /// How long it asks to wait (`Retry-After`).
    retry_after: Option<Duration>,
}

impl Reply {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the same request may be answered later.
    fn is_passing(&self) -> bool {
        self.status >= 500 || self.status == 429 || self.status == 408
    }

    pub(super) fn text(&self) -> String {
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

impl Server {
    pub(super) fn new(config: &RemoteConfig, key: ApiKey) -> Server {
        let url = config.url.trim_end_matches('/').to_owned();
        let proxy = if is_loopback(&url) { None } else { Proxy::try_from_env() };
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            // The key is for this server alone.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(config.concurrency)
            .max_idle_connections_per_host(config.concurrency)
            .user_agent(concat!("troupe/", env!("CARGO_PKG_VERSION")))
            .proxy(proxy)
            .build()
            .new_agent();
        let timeout = Duration::from_secs(config.timeout_seconds);
        Server { agent, url, key, timeout, retries: config.retries, first_pause: FIRST_PAUSE }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The failure as it may be shown: short and without the key.
    pub fn shown(&self, failure: RemoteFailure) -> RemoteFailure {
        failure.kind.because(self.key.hide(&failure.message))
    }

    /// Ask for `path`, with a JSON body to be posted if there is one, and
    /// again after whatever may pass. A path with a `/` before it lies beside the
    /// interface and not in it. `draw` spreads the pauses.
    pub(super) fn ask(
        &self,
        path: &str,
        body: Option<&[u8]>,
        draw: Seed,
    ) -> Result<Reply, RemoteFailure> {
        let url = self.address(path);
        let mut attempt = 0;
        loop {
            let (failure, retry_after) = match self.ask_once(&url, body) {
                Ok(reply) if !reply.is_passing() => return Ok(reply),
                Ok(reply) => (overloaded(&reply), reply.retry_after),
                Err(failure) if failure.kind == RemoteFailureKind::Malformed => {
                    return Err(failure);
                }
                Err(failure) => (failure, None),
            };
            if attempt == self.retries {
                let attempts = attempt + 1;
                let message = format!("{} (asked {attempts} times)", failure.message);
                return Err(failure.kind.because(message));
            }
            thread::sleep(pause(self.first_pause, attempt, retry_after, draw));
            attempt += 1;
        }
    }

    /// Ask once for what need not be there.
    pub(super) fn try_get(&self, path: &str) -> Result<Reply, RemoteFailure> {
        self.ask_once(&self.address(path), None)
    }

    fn address(&self, path: &str) -> String {
        match path.starts_with('/') {
            true => format!("{}{path}", self.url.strip_suffix("/v1").unwrap_or(&self.url)),
            false => format!("{}/{path}", self.url),
        }
    }

    fn ask_once(&self, url: &str, body: Option<&[u8]>) -> Result<Reply, RemoteFailure> {
        let key = self.key.header();
        let timeout = if body.is_some() { self.timeout } else { self.timeout.min(PATIENCE) };
        let response = match body {
            None => {
                let request = self.agent.get(url).config().timeout_global(Some(timeout)).build();
                match key {
                    Some(key) => request.header("authorization", key).call(),
                    None => request.call(),
                }
            }
            Some(body) => {
                let request = self.agent.post(url).header("content-type", "application/json");
                let request = request.config().timeout_global(Some(timeout)).build();
                match key {
                    Some(key) => request.header("authorization", key).send(body),
                    None => request.send(body),
                }
            }
        };
        let mut reply = response.and_then(read).map_err(|error| failure(&error, timeout))?;
        if !reply.is_success() {
            // Before it is quoted in part: half a key would not be found any more.
            reply.body = self.key.hide(&reply.text()).into_bytes();
        }
        Ok(reply)
    }
}

impl fmt::Debug for Server {
    /// Without the agent: it may know the password of a proxy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Server");
        shown.field("url", &self.url).field("key", &self.key).finish_non_exhaustive()
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

fn read(mut response: Response<Body>) -> Result<Reply, Error> {
    let (status, retry_after) = (response.status().as_u16(), retry_after(response.headers()));
    let body = response.body_mut().with_config().limit(RESPONSE_BYTES).read_to_vec()?;
    Ok(Reply { status, body, retry_after })
}

/// The header's seconds. A date is not read: it would need a clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn overloaded(reply: &Reply) -> RemoteFailure {
    let status = reply.status;
    RemoteFailureKind::Unreachable
        .because(format!("the server answered {status}: {}", quote(&reply.text())))
}

/// How long to wait after `attempt` attempts before this one: twice as long
/// each time, less up to a half of it that the seed decides, so that requests
/// that failed together do not come back together.
fn pause(first: Duration, attempt: u32, retry_after: Option<Duration>, draw: Seed) -> Duration {
    let longest = first.saturating_mul(2_u32.saturating_pow(attempt)).min(LONGEST_PAUSE);
    let share = 0.5 + 0.5 * draw.named("pause").at(u64::from(attempt)).unit();
    longest.mul_f64(share).max(retry_after.unwrap_or_default().min(LONGEST_PAUSE))
}

/// A server's words, cut to what a message can hold.
pub(super) fn quote(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(QUOTED_CHARACTERS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None if text.is_empty() => "(nothing more)".to_owned(),
        None => text.to_owned(),
    }
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
    fn pauses_grow_differ_by_seed_and_heed_the_server_up_to_a_bound() {
        let pause = |attempt, after: Option<u64>, seed| {
            pause(FIRST_PAUSE, attempt, after.map(Duration::from_secs), Seed::new(seed))
        };
        for attempt in 0..4 {
            let most = FIRST_PAUSE * 2_u32.pow(attempt);
            assert!((most / 2..=most).contains(&pause(attempt, None, 1)));
        }
        assert_eq!(pause(2, None, 1), pause(2, None, 1));
        assert_ne!(pause(2, None, 1), pause(2, None, 2));
        assert_eq!(pause(0, Some(7), 1), Duration::from_secs(7));
        assert_eq!(pause(0, Some(86_400), 1), LONGEST_PAUSE);
        assert!(pause(u32::MAX, None, 1) <= LONGEST_PAUSE);
    }

    #[test]
    fn no_proxy_is_asked_for_what_is_on_this_machine() {
        for url in ["http://127.0.0.1:8000/v1", "http://[::1]:1/v1", "http://localhost/v1"] {
            assert!(is_loopback(url), "{url}");
        }
        assert!(!is_loopback("https://example.org/v1"));
    }

    #[test]
    fn a_long_answer_is_quoted_in_part() {
        assert_eq!(quote("  short "), "short");
        assert!(quote(&"ä".repeat(5000)).chars().count() < 500);
    }
}
