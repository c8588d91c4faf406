//! A client that stays connected.
//!
//! The socket is read while a step runs, so that pings are answered and a client
//! that leaves is noticed; what it says meanwhile waits.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseCode, CloseFrame, Message, WebSocket, close_code};
use tokio::task::JoinError;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Error;

use super::dialogue::Reply;
use super::envelope::Problem;
use super::options::OpenEnvOptions;
use super::registry::Attached;
use super::session::Session;
use crate::http_server::Door;

/// What a frame that waits takes beside its text, at least.
const FRAME_BYTES: usize = 64;
/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// What becomes of a frame's text, on a worker.
pub(super) type Answerer = Arc<dyn Fn(&mut Session, &str) -> Reply + Send + Sync>;

/// A frame that is being answered.
type Working = Pin<Box<dyn Future<Output = Result<Reply, JoinError>> + Send>>;

/// A client, its session, and what they have under way.
pub(super) struct Conversation {
    socket: WebSocket,
    session: Attached,
    answerer: Answerer,
    idle: Duration,
    silence: Duration,
    /// When the client last showed that it is there.
    heard: Instant,
    /// When the last answer was given, or the last frame came.
    active: Instant,
    /// Whether it was asked since whether it is there.
    is_asked: bool,
    working: Option<Working>,
    waiting: Backlog,
}

/// Frames that wait for those before them.
struct Backlog {
    frames: VecDeque<String>,
    bytes: usize,
    most_bytes: usize,
}

impl Backlog {
    /// One that holds as much as a frame of this length.
    fn new(frame_bytes: usize) -> Self {
        let most_bytes = frame_bytes.saturating_add(FRAME_BYTES);
        Backlog { frames: VecDeque::new(), bytes: 0, most_bytes }
    }

    /// Has one more wait, if it holds so much; whether it does.
    fn push(&mut self, text: &str) -> bool {
        let bytes = self.bytes.saturating_add(text.len() + FRAME_BYTES);
        let fits = bytes <= self.most_bytes;
        if fits {
            self.bytes = bytes;
            self.frames.push_back(text.to_owned());
        }
        fits
    }

    fn pop(&mut self) -> Option<String> {
        let text = self.frames.pop_front()?;
        self.bytes -= text.len() + FRAME_BYTES;
        Some(text)
    }
}

/// How a conversation goes on.
enum Next {
    On,
    Close(CloseCode, String),
    /// The client is gone.
    Gone,
}

impl Next {
    /// How it goes on after a frame that cannot be taken.
    fn after(error: axum::Error) -> Self {
        let error = error.into_inner();
        match error.downcast_ref() {
            Some(Error::Capacity(error)) => {
                Next::Close(close_code::SIZE, format!("{error} (--max-frame-kib)"))
            }
            Some(Error::Utf8(_)) => {
                Next::Close(close_code::INVALID, "text is UTF-8, and this is not".to_owned())
            }
            Some(Error::Protocol(error)) => Next::Close(close_code::PROTOCOL, error.to_string()),
            _ => Next::Gone,
        }
    }
}

impl Conversation {
    /// One that has just begun.
    pub(super) fn new(
        socket: WebSocket,
        session: Attached,
        answerer: Answerer,
        options: &OpenEnvOptions,
    ) -> Self {
        Conversation {
            socket,
            session,
            answerer,
            idle: options.idle,
            silence: options.silence,
            heard: Instant::now(),
            active: Instant::now(),
            is_asked: false,
            working: None,
            waiting: Backlog::new(options.frame_bytes),
        }
    }

    /// Goes on until one of both ends it.
    pub(super) async fn go_on(mut self, mut door: Door) {
        loop {
            let alarm = self.alarm();
            let next = tokio::select! {
                said = settled(&mut self.working) => self.reply(said).await,
                message = self.socket.recv() => self.hear(message).await,
                () = sleep_until(alarm) => self.wake().await,
                () = door.stopping() => {
                    Next::Close(close_code::AWAY, "the server is being stopped".to_owned())
                }
            };
            match next {
                Next::On => self.begin_next(),
                Next::Close(code, reason) => return self.close(code, reason).await,
                Next::Gone => return,
            }
        }
    }

    /// The next frame that waits, if none is being answered.
    fn begin_next(&mut self) {
        if self.working.is_some() {
            return;
        }
        let Some(text) = self.waiting.pop() else { return };
        let answerer = self.answerer.clone();
        let work = self.session.session().work(move |session| answerer(session, &text));
        self.working = Some(Box::pin(work));
    }

    async fn reply(&mut self, said: Result<Reply, JoinError>) -> Next {
        self.working = None;
        self.active = Instant::now();
        match said {
            Ok(Reply::Frame(text)) => self.send(Message::text(text)).await,
            Ok(Reply::Nothing) => Next::On,
            Ok(Reply::Farewell) => Next::Close(close_code::NORMAL, String::new()),
            Err(error) => {
                let problem = Problem::session(format!("the server is at fault: {error}"));
                self.send(Message::text(problem.to_frame())).await
            }
        }
    }

    async fn hear(&mut self, message: Option<Result<Message, axum::Error>>) -> Next {
        self.heard = Instant::now();
        self.is_asked = false;
        match message {
            Some(Ok(Message::Text(text))) => {
                self.active = self.heard;
                if self.waiting.push(text.as_str()) {
                    return Next::On;
                }
                let reason = "too much is said before it is answered".to_owned();
                Next::Close(close_code::POLICY, reason)
            }
            Some(Ok(Message::Binary(_))) => {
                let problem = Problem::not_json("it is binary; send text");
                self.send(Message::text(problem.to_frame())).await
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Next::On,
            Some(Err(error)) => Next::after(error),
            Some(Ok(Message::Close(_))) | None => Next::Gone,
        }
    }

    /// When to look after the client, if nothing happens before.
    fn alarm(&self) -> Instant {
        let share = if self.is_asked { 1 } else { 2 };
        let sign = self.heard + self.silence / share;
        if self.working.is_some() { sign } else { sign.min(self.active + self.idle) }
    }

    /// The client was not heard for a while.
    async fn wake(&mut self) -> Next {
        if self.heard.elapsed() >= self.silence {
            return Next::Gone;
        }
        if self.working.is_none() && self.active.elapsed() >= self.idle {
            let seconds = self.idle.as_secs_f64();
            let message =
                format!("the session was idle for {seconds} s and has ended (--idle-timeout-s)");
            let problem = Problem::session(message.clone());
            return match self.send(Message::text(problem.to_frame())).await {
                Next::On => Next::Close(close_code::AWAY, message),
                other => other,
            };
        }
        self.is_asked = true;
        self.send(Message::Ping(Default::default())).await
    }

    /// Sends to a client that may be slow, and may be gone.
    async fn send(&mut self, message: Message) -> Next {
        match timeout(self.silence, self.socket.send(message)).await {
            Ok(Ok(())) => Next::On,
            Ok(Err(_)) | Err(_) => Next::Gone,
        }
    }

    async fn close(self, code: CloseCode, reason: String) {
        let Conversation { mut socket, session, working, silence, .. } = self;
        // Its place is free before the client has answered.
        drop((session, working));
        let farewell = async {
            let frame = CloseFrame { code, reason: reason.into() };
            // A client that has gone is told nothing.
            let _ = socket.send(Message::Close(Some(frame))).await;
            // The client's own farewell; what else it still says is thrown away.
            while let Some(Ok(_)) = socket.recv().await {}
        };
        let _ = timeout(silence.min(FAREWELL), farewell).await;
    }
}

/// Tells a client why it gets no session, and closes its socket.
pub(super) async fn turn_away(socket: &mut WebSocket, problem: &Problem, silence: Duration) {
    let farewell = async {
        // A client that has gone is told nothing.
        let _ = socket.send(Message::text(problem.to_frame())).await;
        let _ = socket.send(Message::Close(None)).await;
        while let Some(Ok(_)) = socket.recv().await {}
    };
    let _ = timeout(silence.min(FAREWELL), farewell).await;
}

/// What comes of the work; never anything where there is none.
async fn settled(working: &mut Option<Working>) -> Result<Reply, JoinError> {
    match working {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_room_while_it_waits_even_if_it_says_nothing() {
        let mut backlog = Backlog::new(1 << 10);
        assert!(backlog.push(&"x".repeat(1 << 10)) && !backlog.push(""));
        assert!(backlog.pop().is_some() && backlog.pop().is_none());
        assert_eq!((0..100).take_while(|_| backlog.push("")).count(), 17);
        assert!(backlog.pop().is_some() && backlog.push(""));
    }
}
