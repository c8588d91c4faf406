//! The page on which people play.

use axum::Router;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::routing::get;

/// Only what this server gives; drawings are images, in which nothing runs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The parts of the page, at their paths.
pub(super) fn parts<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let part = |text: &'static str, kind: &'static str| {
        let headers = [
            (CONTENT_TYPE, kind),
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
            (CACHE_CONTROL, "no-cache"),
        ];
        get((headers, text))
    };
    Router::new()
        .route("/", part(include_str!("page/index.html"), "text/html; charset=utf-8"))
        .route("/page.css", part(include_str!("page/page.css"), "text/css; charset=utf-8"))
        .route("/page.js", part(include_str!("page/page.js"), "text/javascript; charset=utf-8"))
}
