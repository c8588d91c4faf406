//! What a session answers to a frame.

use serde_json::{Map, Value};

use super::chance::Chance;
use super::envelope::{Problem, frame};
use super::game::Game;
use super::invalid;
use super::mcp;
use super::reset::Reset;
use super::session::Session;

/// What is answered.
pub(super) enum Reply {
    /// This frame.
    Frame(String),
    /// Nothing; the client does not wait for anything.
    Nothing,
    /// Nothing; the client takes its leave.
    Farewell,
}

/// What a frame may have.
const FIELDS: [&str; 2] = ["type", "data"];
/// Frames whose type says all, so that there is nothing for `data` to say.
const BARE: [&str; 3] = ["state", "render", "close"];

/// A frame, taken apart.
#[derive(Debug, PartialEq)]
struct Frame {
    kind: String,
    data: Option<Value>,
}

impl Frame {
    fn read(text: &str) -> Result<Self, Problem> {
        let mut message: Map<String, Value> =
            serde_json::from_str(text).map_err(Problem::not_json)?;
        invalid::check_names(&message, &FIELDS)?;
        let data = message.remove("data");
        let kind = message.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        if BARE.contains(&kind.as_str()) {
            invalid::check_names(&invalid::fields(data.as_ref())?, &[])?;
        }
        Ok(Frame { kind, data })
    }
}

/// Answers a frame of `/ws`. `own` is the name by which the socket has its session, if it has one.
pub(super) fn answer(
    session: &mut Session,
    game: &Game,
    chance: &Chance,
    own: Option<&str>,
    text: &str,
) -> Reply {
    match try_answer(session, game, chance, own, text) {
        Ok(said) => said,
        Err(problem) => Reply::Frame(problem.to_frame()),
    }
}

fn try_answer(
    session: &mut Session,
    game: &Game,
    chance: &Chance,
    own: Option<&str>,
    text: &str,
) -> Result<Reply, Problem> {
    let Frame { kind, data } = Frame::read(text)?;
    let data = data.as_ref();
    let (kind, data) = match kind.as_str() {
        "reset" => ("observation", session.reset(game, chance, Reset::parse(data)?)?),
        "step" => ("observation", session.step(game, game.read(data)?)?),
        "state" => ("state", session.state()),
        "render" => ("render", session.render(game)?),
        "mcp" => {
            let request = data.cloned().unwrap_or_default();
            ("mcp", mcp::answer(session, game, chance, own, &request))
        }
        "close" => return Ok(Reply::Farewell),
        other => return Err(Problem::unknown_type(other)),
    };
    Ok(Reply::Frame(frame(kind, data)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(frame: &Value) -> String {
        let problem = Frame::read(&frame.to_string()).unwrap_err();
        assert_eq!(problem.code, "VALIDATION_ERROR", "{frame}");
        problem.message
    }

    #[test]
    fn a_field_that_no_frame_has_is_refused_by_name() {
        for kind in ["reset", "step", "state", "mcp", "render", "close"] {
            let message = refused(&json!({"type": kind, "data": {}, "dta": {"seed": 3}}));
            assert_eq!(message, "there is no field `dta`; there are type, data");
        }
    }

    #[test]
    fn what_says_all_by_its_type_has_no_data() {
        for kind in BARE {
            let message = refused(&json!({"type": kind, "data": {"seed": 3}}));
            assert_eq!(message, "there is no field `seed`; there are none");
            for nothing in [json!({}), Value::Null] {
                let frame = json!({"type": kind, "data": nothing});
                assert_eq!(Frame::read(&frame.to_string()).unwrap().kind, kind);
            }
        }
        let data = json!({"seed": 3});
        let frame = Frame::read(&json!({"type": "reset", "data": data}).to_string()).unwrap();
        assert_eq!(frame, Frame { kind: "reset".to_owned(), data: Some(data) });
    }
}
