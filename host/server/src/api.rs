//! What is answered elsewhere, in crates above this one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What answers requests.
pub trait Api: Send + Sync + 'static {
    /// The answer. A request that brings something has a thread while it is made; to any other it
    /// is made at once, as others wait for it.
    fn answer(&self, request: &ApiRequest) -> ApiResponse;
}

/// A request.
#[derive(Debug)]
pub struct ApiRequest {
    /// The path, without what may stand behind `?`.
    pub path: String,
    /// Whether it brings something: POST; otherwise it is GET.
    pub is_post: bool,
    /// What it brings.
    pub body: Vec<u8>,
    pub(super) left: Arc<AtomicBool>,
}

/// An answer.
pub enum ApiResponse {
    /// JSON, with a status of HTTP.
    Json(u16, String),
    /// Server-sent events, each a line of data. They are dropped when the client leaves.
    Events(Box<dyn Iterator<Item = String> + Send>),
}

impl ApiRequest {
    /// A request that brings this, if anything, from a client that stays.
    pub fn new(path: &str, brings: Option<Vec<u8>>) -> Self {
        let (path, is_post) = (path.to_owned(), brings.is_some());
        ApiRequest { path, is_post, body: brings.unwrap_or_default(), left: Arc::default() }
    }

    /// Whether the client has left, so that the answer is not wanted any more.
    pub fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }
}
