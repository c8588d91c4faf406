//! A body that may come piece by piece.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::mpsc::Receiver;

/// The body of an answer.
pub(super) enum Pieces {
    /// In one piece.
    Whole(Full<Bytes>),
    /// As they come.
    Stream(Receiver<Bytes>),
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Pieces::Whole(body) => Pin::new(body).poll_frame(context),
            Pieces::Stream(pieces) => {
                pieces.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Pieces::Whole(body) => body.size_hint(),
            Pieces::Stream(_) => SizeHint::default(),
        }
    }
}
