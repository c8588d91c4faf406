//! The page on which people play.

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};

/// Only what this server gives; drawings are images, in which nothing runs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// A part of the page, if there is one at this path.
pub(super) fn part(path: &str) -> Option<Response<Full<Bytes>>> {
    let (text, kind) = match path {
        "/" => (include_str!("page/index.html"), "text/html; charset=utf-8"),
        "/page.css" => (include_str!("page/page.css"), "text/css; charset=utf-8"),
        "/page.js" => (include_str!("page/page.js"), "text/javascript; charset=utf-8"),
        _ => return None,
    };
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    response.headers_mut().extend([
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ]);
    Some(response)
}
