//! A request's body.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use super::refusal::Refusal;

/// All of it.
///
/// What is too much is received and thrown away, which no layer of tower-http does: a
/// client that is still sending would not read the answer.
pub(super) async fn read(body: Body, limit: usize, patience: Duration) -> Result<Bytes, Refusal> {
    timeout(patience, collect(body, limit)).await.unwrap_or_else(|_| Err(Refusal::too_slow()))
}

/// Nothing of it.
pub(super) async fn discard(body: Body, patience: Duration) {
    // The answer is settled, whatever comes.
    let _ = read(body, 0, patience).await;
}

async fn collect(mut body: Body, limit: usize) -> Result<Bytes, Refusal> {
    match Limited::new(&mut body, limit).collect().await {
        Ok(read) => return Ok(read.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {}
        Err(error) => return Err(Refusal::malformed(format!("the body broke off: {error}"))),
    }
    while let Some(Ok(_)) = body.frame().await {}
    Err(Refusal::too_large(limit))
}
