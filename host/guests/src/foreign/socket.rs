//! A socket that stays open: the player asks and waits, and between two questions
//! the server's pings are answered.

use std::sync::mpsc::{self as answers, SyncSender};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::header::{AUTHORIZATION, HeaderValue};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::address::Address;
use super::http::connect;
use super::room::Place;
use super::trouble::{Trouble, short};

/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes that are read and written at once.
const BUFFER_BYTES: usize = 4 << 10;

type Stream = WebSocketStream<TcpStream>;

/// The player's side of a socket. Dropping it closes the socket.
#[derive(Debug)]
pub(super) struct Socket {
    asked: UnboundedSender<Asked>,
    timeout: Duration,
}

/// A question, and where its answer goes.
struct Asked {
    frame: String,
    answer: SyncSender<Result<String, Trouble>>,
}

/// The address of a socket, and its limits.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) address: Address,
    pub(super) token: Option<String>,
    pub(super) timeout: Duration,
    pub(super) frame_bytes: usize,
}

impl Way {
    /// Opens one. It takes its place until it is closed.
    pub(super) fn open(&self, on: &Handle, place: Place) -> Socket {
        let (asked, questions) = unbounded_channel();
        let way = self.clone();
        on.spawn(async move {
            way.serve(questions).await;
            drop(place);
        });
        Socket { asked, timeout: self.timeout }
    }

    async fn serve(&self, mut questions: UnboundedReceiver<Asked>) {
        let opened = timeout(self.timeout, self.connect()).await;
        let mut stream = match opened.unwrap_or(Err(Trouble::Silence(self.timeout.as_secs()))) {
            Ok(stream) => stream,
            Err(trouble) => return refuse(questions, trouble).await,
        };
        let mut early = None;
        loop {
            tokio::select! {
                asked = questions.recv() => {
                    let Some(Asked { frame, answer }) = asked else {
                        return part(&mut stream).await;
                    };
                    let reply = match early.take() {
                        Some(reply) => Ok(reply),
                        None => self.exchange(&mut stream, frame).await,
                    };
                    let lost = reply.as_ref().err().cloned();
                    // The question may have been abandoned meanwhile.
                    let _ = answer.send(reply);
                    if let Some(trouble) = lost {
                        drop(stream);
                        return refuse(questions, trouble).await;
                    }
                }
                message = stream.next() => match text_in(message) {
                    Ok(None) => {}
                    // Such as that all sessions are taken, as it is said to newcomers.
                    Ok(Some(frame)) if early.is_none() && is_error(&frame) => early = Some(frame),
                    Ok(Some(_)) => {
                        let trouble = "it spoke without being asked".to_owned();
                        drop(stream);
                        return refuse(questions, Trouble::Invalid(trouble)).await;
                    }
                    Err(trouble) => {
                        drop(stream);
                        return match early.take() {
                            Some(frame) => last_words(questions, frame, trouble).await,
                            None => refuse(questions, trouble).await,
                        };
                    }
                },
            }
        }
    }

    async fn connect(&self) -> Result<Stream, Trouble> {
        let stream = connect(&self.address).await?;
        let uri = format!("ws://{}{}", self.address.authority(), self.address.route("/ws"));
        let mut request = uri.into_client_request().map_err(|error| lost(&error))?;
        if let Some(token) = &self.token {
            let value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| Trouble::Connection("the token fits into no header".to_owned()))?;
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER_BYTES)
            .write_buffer_size(BUFFER_BYTES)
            .max_message_size(Some(self.frame_bytes))
            .max_frame_size(Some(self.frame_bytes));
        let opened = client_async_with_config(request, stream, Some(config)).await;
        opened.map(|(stream, _)| stream).map_err(|error| lost(&error))
    }

    /// Sends a frame and waits for its answer.
    async fn exchange(&self, stream: &mut Stream, frame: String) -> Result<String, Trouble> {
        let until = Instant::now() + self.timeout;
        let silence = |_| Trouble::Silence(self.timeout.as_secs());
        let sent = timeout_at(until, stream.send(Message::text(frame))).await.map_err(silence)?;
        loop {
            // Where nothing could be said any more, there may be last words to be heard.
            let message = timeout_at(until, stream.next()).await.map_err(silence)?;
            match text_in(message) {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => {}
                Err(trouble) => return Err(sent.err().map_or(trouble, |error| lost(&error))),
            }
        }
    }
}

impl Socket {
    /// Asks with a frame, and waits for its answer.
    pub(super) fn ask(&self, frame: String) -> Result<String, Trouble> {
        let (answer, answered) = answers::sync_channel(1);
        let gone = |_| Trouble::Connection("it is closed".to_owned());
        self.asked.send(Asked { frame, answer }).map_err(|_| gone(answers::RecvError))?;
        // Connecting and asking have a time limit each; this one is for a bug in them.
        match answered.recv_timeout(self.timeout * 3) {
            Ok(reply) => reply,
            Err(answers::RecvTimeoutError::Timeout) => {
                Err(Trouble::Silence(self.timeout.as_secs()))
            }
            Err(answers::RecvTimeoutError::Disconnected) => Err(gone(answers::RecvError)),
        }
    }
}

/// The text of a message, if it is one with text.
fn text_in(message: Option<Result<Message, Error>>) -> Result<Option<String>, Trouble> {
    match message {
        Some(Ok(Message::Text(text))) => Ok(Some(text.as_str().to_owned())),
        Some(Ok(Message::Binary(_))) => Err(Trouble::Invalid("it sent a binary frame".to_owned())),
        Some(Ok(Message::Close(Some(close)))) => Err(Trouble::Connection(format!(
            "the server closed it ({}) {}",
            close.code,
            short(close.reason.as_str())
        ))),
        Some(Ok(Message::Close(None))) | None => {
            Err(Trouble::Connection("the server closed it".to_owned()))
        }
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(None),
        Some(Err(error)) => Err(lost(&error)),
    }
}

fn is_error(frame: &str) -> bool {
    let frame = serde_json::from_str::<serde_json::Value>(frame).unwrap_or_default();
    frame.get("type").and_then(serde_json::Value::as_str) == Some("error")
}

/// The trouble that a failing socket means.
fn lost(error: &Error) -> Trouble {
    match error {
        Error::Http(answer) if matches!(answer.status().as_u16(), 401 | 403) => {
            let message = "it wants to be shown a token (`environment.token_file`)";
            Trouble::Connection(message.to_owned())
        }
        Error::Capacity(_) => Trouble::Invalid(format!("{error} (plugins.limits.text_kib)")),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            Trouble::Connection("it was closed in the middle of the episode".to_owned())
        }
        Error::Protocol(_) | Error::Utf8(_) => Trouble::Invalid(error.to_string()),
        error => Trouble::Connection(short(&error.to_string())),
    }
}

/// Answers everything that is still asked with why there is no answer.
async fn refuse(mut questions: UnboundedReceiver<Asked>, trouble: Trouble) {
    while let Some(asked) = questions.recv().await {
        let _ = asked.answer.send(Err(trouble.clone()));
    }
}

/// Answers one question with the last frame that the server sent, and refuses all others.
async fn last_words(mut questions: UnboundedReceiver<Asked>, frame: String, trouble: Trouble) {
    if let Some(asked) = questions.recv().await {
        let _ = asked.answer.send(Ok(frame));
    }
    refuse(questions, trouble).await;
}

/// Says that the session is over, to a server that may not listen any more.
async fn part(stream: &mut Stream) {
    let farewell = async {
        stream.send(Message::text("{\"type\":\"close\"}")).await?;
        stream.close(None).await?;
        while let Some(message) = stream.next().await {
            message?;
        }
        Ok::<(), Error>(())
    };
    let _ = timeout(FAREWELL, farewell).await;
}
