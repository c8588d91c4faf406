//! One server: requests, time-outs and second attempts.

use std::thread;
use std::time::Duration;

use super::api_key::ApiKey;
use super::failure::{RemoteFailure, RemoteFailureKind};
use super::link::{Exchange, Link, Reply};
use troupe_core::config::RemoteConfig;
use troupe_core::seed::Seed;

/// How long anything may take for which the model need not run.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause before the first further attempt; it doubles from one to the next.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause, also if the server asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Characters of a server's words in a message.
const QUOTED_CHARACTERS: usize = 400;

/// A server that is asked.
#[derive(Debug)]
pub(super) struct Server {
    link: Link,
    url: String,
    /// For one answer of the model.
    timeout: Duration,
    retries: u32,
    pub(super) first_pause: Duration,
}

impl Server {
    pub(super) fn new(config: &RemoteConfig, key: ApiKey) -> Server {
        let url = config.url.trim_end_matches('/').to_owned();
        let link = Link::with_key(&url, key, &["authorization"], config.concurrency);
        let timeout = Duration::from_secs(config.timeout_seconds);
        Server { link, url, timeout, retries: config.retries, first_pause: FIRST_PAUSE }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The failure as it may be shown: short and without the key.
    pub fn shown(&self, failure: RemoteFailure) -> RemoteFailure {
        failure.kind.because(self.link.hide(&failure.message))
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
        self.link.exchange(match body {
            None => Exchange::get(url, self.timeout.min(PATIENCE)),
            Some(body) => Exchange::post(url, body, self.timeout),
        })
    }
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
    fn a_long_answer_is_quoted_in_part() {
        assert_eq!(quote("  short "), "short");
        assert!(quote(&"ä".repeat(5000)).chars().count() < 500);
    }
}
