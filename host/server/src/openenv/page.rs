//! The pages on which people choose an environment and play it.

use std::sync::LazyLock;

use axum::Router;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::routing::{MethodRouter, get};

use troupe_page::STYLE;

/// Only what this server gives; drawings are images, in which nothing runs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// What pages look like, and what these look like besides.
static LOOKS: LazyLock<String> =
    LazyLock::new(|| format!("{STYLE}{}", include_str!("page/page.css")));

/// The page on which one environment is played: its parts, at their paths.
pub(super) fn parts<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", part(include_str!("page/index.html"), HTML))
        .route("/page.css", part(&LOOKS, CSS))
        .route("/token.js", part(include_str!("page/token.js"), SCRIPT))
        .route("/page.js", part(include_str!("page/page.js"), SCRIPT))
}

/// The page on which one of several is chosen.
pub(super) fn of_gallery<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", part(include_str!("page/gallery.html"), HTML))
        .route("/page.css", part(&LOOKS, CSS))
        .route("/token.js", part(include_str!("page/token.js"), SCRIPT))
        .route("/gallery.js", part(include_str!("page/gallery.js"), SCRIPT))
}

fn part<S: Clone + Send + Sync + 'static>(
    text: &'static str,
    kind: &'static str,
) -> MethodRouter<S> {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
    ];
    get((headers, text))
}
