//! A request's body.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};
use tokio::time::timeout;

use super::refusal::Refusal;

/// All of it.
///
/// What is too much is received and thrown away: a client that is still
/// sending would not read the answer.
pub(super) async fn read(
    body: Incoming,
    limit: usize,
    patience: Duration,
) -> Result<Bytes, Refusal> {
    timeout(patience, collect(body, limit)).await.unwrap_or_else(|_| Err(Refusal::too_slow()))
}

/// Nothing of it.
pub(super) async fn discard(body: Incoming, patience: Duration) {
    // The answer is settled, whatever comes.
    let _ = read(body, 0, patience).await;
}

async fn collect(mut body: Incoming, limit: usize) -> Result<Bytes, Refusal> {
    let mut too_large = body.size_hint().lower() > limit as u64;
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Refusal::malformed(format!("the body broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        too_large |= data.len() > limit.saturating_sub(bytes.len());
        if too_large {
            bytes = Vec::new();
        } else {
            bytes.extend_from_slice(&data);
        }
    }
    if too_large { Err(Refusal::too_large(limit)) } else { Ok(bytes.into()) }
}
