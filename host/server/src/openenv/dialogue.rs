//! What a session answers to a frame.

use serde_json::{Map, Value};

use super::chance::Chance;
use super::envelope::{Problem, frame};
use super::game::Game;
use super::mcp;
use super::reset::Reset;
use super::session::Session;

/// What is answered.
pub(super) enum Reply {
    /// This frame.
    Frame(String),
    /// Nothing; the client takes its leave.
    Farewell,
}

/// Answers a frame of `/ws`.
pub(super) fn answer(session: &mut Session, game: &Game, chance: &Chance, text: &str) -> Reply {
    match try_answer(session, game, chance, text) {
        Ok(said) => said,
        Err(problem) => Reply::Frame(problem.to_frame()),
    }
}

fn try_answer(
    session: &mut Session,
    game: &Game,
    chance: &Chance,
    text: &str,
) -> Result<Reply, Problem> {
    let message: Map<String, Value> = serde_json::from_str(text).map_err(Problem::not_json)?;
    let data = message.get("data");
    let kind = message.get("type").and_then(Value::as_str).unwrap_or_default();
    let (kind, data) = match kind {
        "reset" => ("observation", session.reset(game, chance, Reset::parse(data)?)?),
        "step" => ("observation", session.step(game, game.read(data)?)?),
        "state" => ("state", session.state()),
        "render" => ("render", session.render(game)?),
        "mcp" => {
            let request = data.cloned().unwrap_or_default();
            ("mcp", mcp::answer(session, game, chance, &request))
        }
        "close" => return Ok(Reply::Farewell),
        other => return Err(Problem::unknown_type(other)),
    };
    Ok(Reply::Frame(frame(kind, data)))
}
