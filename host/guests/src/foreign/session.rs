//! One session: an episode on the server.

use serde_json::{Map, Value, json};

use super::observation::Observation;
use super::socket::Socket;
use super::trouble::Trouble;

/// An episode on the server.
#[derive(Debug)]
pub(super) struct Session {
    socket: Socket,
    most_bytes: usize,
    /// Whether it has stood in a state since it last answered: its server may have closed it.
    pub(super) has_waited: bool,
}

impl Session {
    /// Begins an episode.
    pub(super) fn begin(
        socket: Socket,
        reset: &Map<String, Value>,
        most_bytes: usize,
    ) -> Result<(Self, Observation), Trouble> {
        let session = Session { socket, most_bytes, has_waited: false };
        let begun = session.ask(&json!({ "type": "reset", "data": reset }))?;
        Ok((session, begun))
    }

    /// Carries out an action.
    pub(super) fn step(&self, action: &Value) -> Result<Observation, Trouble> {
        self.ask(&json!({ "type": "step", "data": action }))
    }

    fn ask(&self, frame: &Value) -> Result<Observation, Trouble> {
        Observation::read(&self.socket.ask(frame.to_string())?, self.most_bytes)
    }
}
