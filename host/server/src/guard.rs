//! Which requests are let in at all.
//!
//! A server on loopback is reached by every web page that is open on the same
//! machine, unless it looks. A browser sends `Origin` with every POST; a name
//! that was made to point here (DNS rebinding) shows in `Host`.

use std::net::IpAddr;

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;

use super::refusal::Refusal;

/// Refuses what a web page sent, and what is meant for another machine unless
/// the server is `public`.
pub(super) fn admit(headers: &HeaderMap, public: bool) -> Result<(), Refusal> {
    if headers.contains_key(ORIGIN) {
        return Err(Refusal::forbidden(
            "the request has an `Origin`, so it comes from a web page; those are not served",
        ));
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    if public || host.is_some_and(is_loopback) {
        return Ok(());
    }
    Err(Refusal::forbidden(
        "`Host` is none of this machine's own names; use 127.0.0.1, [::1] or localhost, or start \
         the server for others (--public for a grader, else --token-file)",
    ))
}

/// The same for a server that has a page of its own, which may come back.
pub(super) fn admit_own_page(headers: &HeaderMap, public: bool) -> Result<(), Refusal> {
    let mut others = headers.clone();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    let of_origin = origin.and_then(|origin| origin.split_once("://"));
    if host.is_some() && of_origin.map(|(_, authority)| authority) == host {
        others.remove(ORIGIN);
    }
    admit(&others, public)
}

fn is_loopback(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    !host.contains('@')
        && (name.eq_ignore_ascii_case("localhost")
            || address.is_ok_and(|address| address.is_loopback()))
}

#[cfg(test)]
mod tests {
    use axum::http::header::HeaderValue;

    use super::*;

    fn headers(host: Option<&'static str>, origin: Option<&'static str>) -> HeaderMap {
        let pairs = [(HOST, host), (ORIGIN, origin)];
        let value = HeaderValue::from_static;
        pairs.into_iter().filter_map(|(name, text)| Some((name, value(text?)))).collect()
    }

    #[test]
    fn this_machines_own_names_are_let_in() {
        for host in
            ["127.0.0.1:8080", "127.0.0.1", "localhost:1", "LocalHost", "[::1]:8080", "127.9.9.9"]
        {
            assert!(admit(&headers(Some(host), None), false).is_ok(), "{host}");
        }
    }

    #[test]
    fn other_names_are_let_in_only_where_everybody_may_come() {
        let other = [
            "evil.example",
            "localhost.evil.example:8080",
            "10.0.0.1:8080",
            "0.0.0.0:8080",
            "evil.example@localhost",
            "127.0.0.1.evil.example",
            "",
            "[::ffff:10.0.0.1]",
        ];
        for host in other.map(Some).into_iter().chain([None]) {
            assert!(admit(&headers(host, None), false).is_err(), "{host:?}");
            assert!(admit(&headers(host, None), true).is_ok(), "{host:?}");
        }
    }

    #[test]
    fn of_web_pages_only_the_servers_own_comes_back() {
        let let_in = |host, origin, public| {
            admit_own_page(&headers(Some(host), Some(origin)), public).is_ok()
        };
        assert!(let_in("localhost:8000", "http://localhost:8000", false));
        assert!(let_in("play.example", "https://play.example", true));
        assert!(!let_in("play.example", "https://play.example", false), "a name that points here");
        for origin in ["http://localhost:8001", "http://evil.example", "null", "localhost:8000"] {
            assert!(!let_in("localhost:8000", origin, false), "{origin}");
            assert!(!let_in("localhost:8000", origin, true), "{origin}");
        }
    }

    #[test]
    fn a_web_page_is_let_in_nowhere_else() {
        for origin in ["http://localhost:8080", "https://evil.example", "null"] {
            for public in [false, true] {
                assert!(admit(&headers(Some("localhost"), Some(origin)), public).is_err());
            }
        }
    }
}
