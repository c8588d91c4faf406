//! A session as tools, in the Model Context Protocol's words (JSON-RPC 2.0).

use serde_json::{Map, Value, json};

use super::chance::Chance;
use super::envelope::Problem;
use super::game::Game;
use super::invalid::{self, Invalid};
use super::reset::Reset;
use super::session::Session;
use troupe_guests::plugin::ActionKind;

/// The protocol's revision whose shapes these are.
const REVISION: &str = "2025-06-18";
/// Names that OpenEnv keeps for itself.
const RESERVED: [&str; 4] = ["reset", "step", "state", "close"];
const BEGIN: &str = "begin";
const OBSERVE: &str = "observe";
/// The tool of a team, whose workflow decides what comes of an answer.
const ANSWER: &str = "answer";
/// What a call of a tool may have; `_meta` is for the protocol's other half, and changes nothing.
const CALL: [&str; 4] = ["name", "arguments", "session_id", "_meta"];

const INVALID_REQUEST: i64 = -32600;
const NO_SUCH_METHOD: i64 = -32601;
const INVALID_PARAMETERS: i64 = -32602;
const SERVER_ERROR: i64 = -32000;
const PARSE_ERROR: i64 = -32700;

/// A request that was called off, with JSON-RPC's number for why.
pub(super) struct Fault {
    number: i64,
    message: String,
    data: Option<Value>,
}

impl Fault {
    /// The parameters are wrong.
    pub(super) fn parameters(message: impl Into<String>) -> Self {
        Fault { number: INVALID_PARAMETERS, message: message.into(), data: None }
    }

    /// The text is no JSON.
    pub(super) fn not_json(reason: impl std::fmt::Display) -> Self {
        Fault { number: PARSE_ERROR, message: format!("not JSON: {reason}"), data: None }
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        let mut data = problem.more;
        data.insert("code".to_owned(), json!(problem.code));
        Fault { number: SERVER_ERROR, message: problem.message, data: Some(Value::Object(data)) }
    }
}

/// A request, taken apart.
pub(super) struct Call<'a> {
    pub(super) id: Value,
    pub(super) method: &'a str,
    pub(super) parameters: Map<String, Value>,
}

impl<'a> Call<'a> {
    /// Reads a request; what is wrong with it is the answer.
    pub(super) fn parse(request: &'a Value) -> Result<Self, Value> {
        let id = request.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
        let id = id.unwrap_or(Value::Null);
        let invalid = |message: &str| {
            let fault = Fault { number: INVALID_REQUEST, message: message.to_owned(), data: None };
            replied(&id, Err(fault))
        };
        if request.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(invalid("a request is an object with \"jsonrpc\": \"2.0\""));
        }
        let Some(method) = request.get("method").and_then(Value::as_str) else {
            return Err(invalid("a request has a `method`"));
        };
        match invalid::fields(request.get("params")) {
            Ok(parameters) => Ok(Call { id, method, parameters }),
            Err(_) => Err(invalid("`params` is an object")),
        }
    }
}

/// Whether it only tells of something, which is answered by nothing.
pub(super) fn is_notification(request: &Value) -> bool {
    let method = request.get("method").and_then(Value::as_str);
    request.get("id").is_none() && method.is_some_and(|method| method.starts_with("notifications/"))
}

/// The answer to the request of this id.
pub(super) fn replied(id: &Value, result: Result<Value, Fault>) -> Value {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(Fault { number, message, data }) => {
            let mut error = json!({ "code": number, "message": message });
            if let Some(data) = data {
                error["data"] = data;
            }
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    }
}

/// Answers a request that is about the session. `own` is the name by which the client has it, if
/// it has one.
pub(super) fn answer(
    session: &mut Session,
    game: &Game,
    chance: &Chance,
    own: Option<&str>,
    request: &Value,
) -> Value {
    match Call::parse(request) {
        Ok(call) => {
            let result = check_session(&call.parameters, own)
                .and_then(|()| carry_out(session, game, chance, &call));
            replied(&call.id, result)
        }
        Err(refused) => refused,
    }
}

/// Refuses what is meant for another session than the one that it came to.
fn check_session(parameters: &Map<String, Value>, own: Option<&str>) -> Result<(), Fault> {
    match parameters.get("session_id") {
        None | Some(Value::Null) => Ok(()),
        Some(named) if named.as_str().is_some_and(|named| own == Some(named)) => Ok(()),
        Some(_) => Err(Fault::parameters(
            "`session_id` is not this socket's session; leave it out, or say it to POST /mcp",
        )),
    }
}

/// Carries out a request that is about the session.
pub(super) fn carry_out(
    session: &mut Session,
    game: &Game,
    chance: &Chance,
    call: &Call,
) -> Result<Value, Fault> {
    match call.method {
        "tools/call" => call_tool(session, game, chance, &call.parameters),
        _ => without_session(game, call),
    }
}

/// Carries out a request that is about no session.
pub(super) fn without_session(game: &Game, call: &Call) -> Result<Value, Fault> {
    match call.method {
        "initialize" => Ok(json!({
            "protocolVersion": REVISION,
            "capabilities": { "tools": {} },
            "serverInfo": {
                "name": game.environment().name,
                "version": game.environment().version,
            },
        })),
        "ping" | "notifications/initialized" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": tools(game) })),
        method => {
            let message = format!("there is no method `{method}`");
            Err(Fault { number: NO_SUCH_METHOD, message, data: None })
        }
    }
}

/// Every tool, as the protocol describes tools.
fn tools(game: &Game) -> Vec<Value> {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let mut tools = vec![
        tool(
            BEGIN,
            "Begins a task; what was under way is given up.",
            json!({
                "seed": { "type": "integer", "minimum": 0, "description": "which task; any if left out" },
                "split": { "type": "string", "enum": ["train", "validation", "test"] },
            }),
            &[],
        ),
        tool(OBSERVE, "Says again what can be seen now.", json!({}), &[]),
    ];
    let role = || text("the seat that acts; by default the one whose turn it is");
    for kind in game.kinds() {
        let properties = json!({ "text": text(&kind.summary), "role": role() });
        tools.push(tool(&tool_name(&kind.name), &kind.summary, properties, &["text"]));
    }
    if game.kinds().is_empty() {
        let properties = json!({ "text": text("the whole answer"), "role": role() });
        tools.push(tool(ANSWER, "Answers for the role whose turn it is.", properties, &["text"]));
    }
    tools
}

fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        },
    })
}

/// The tool that sends actions of a kind.
fn tool_name(kind: &str) -> String {
    let is_taken = RESERVED.contains(&kind) || [BEGIN, OBSERVE].contains(&kind);
    if is_taken { format!("do-{kind}") } else { kind.to_owned() }
}

fn call_tool(
    session: &mut Session,
    game: &Game,
    chance: &Chance,
    parameters: &Map<String, Value>,
) -> Result<Value, Fault> {
    invalid::check_names(parameters, &CALL)
        .map_err(|invalid| Fault::parameters(invalid.message()))?;
    let name = parameters.get("name").and_then(Value::as_str).unwrap_or_default();
    let arguments = parameters.get("arguments");
    let told = match name {
        BEGIN => {
            let reset = Reset::parse(arguments).map_err(Problem::from)?;
            session.reset(game, chance, reset)?
        }
        OBSERVE => {
            let nothing = invalid::fields(arguments).map_err(Problem::from)?;
            invalid::check_names(&nothing, &[]).map_err(Problem::from)?;
            session.told().cloned().ok_or_else(|| {
                Problem::session(format!("no episode is under way; call `{BEGIN}` or send reset"))
            })?
        }
        _ => {
            let action = action_of(game.kinds(), name, arguments)?;
            session.step(game, game.read(Some(&action)).map_err(Problem::from)?)?
        }
    };
    Ok(json!({
        "content": [{ "type": "text", "text": summary(&told) }],
        "structuredContent": told,
        "isError": false,
    }))
}

/// The action that a tool stands for: the tool says its kind.
fn action_of(kinds: &[ActionKind], name: &str, arguments: Option<&Value>) -> Result<Value, Fault> {
    let mut action = invalid::fields(arguments)
        .map_err(|invalid: Invalid| Fault::parameters(invalid.message()))?;
    match kinds.iter().find(|kind| tool_name(&kind.name) == name) {
        Some(_) if action.get("kind").is_some_and(|kind| !kind.is_null()) => {
            let message = format!("`kind` is what the tool `{name}` stands for; leave it out");
            return Err(Problem::from(Invalid::value("kind", message)).into());
        }
        Some(kind) => drop(action.insert("kind".to_owned(), json!(kind.name))),
        None if kinds.is_empty() && name == ANSWER => {}
        None => return Err(Fault::parameters(format!("there is no tool `{name}`"))),
    }
    Ok(Value::Object(action))
}

/// What was told, for a reader: feedback, what can be seen, and how it ended.
fn summary(told: &Value) -> String {
    let observation = &told["observation"];
    let said = ["rules", "feedback", "text"].map(|name| observation[name].as_str().unwrap_or(""));
    let mut lines: Vec<String> =
        said.into_iter().filter(|text| !text.is_empty()).map(str::to_owned).collect();
    if told["done"] == json!(true) {
        lines.push(format!(
            "The episode is over: {}.",
            told["metadata"]["status"].as_str().unwrap_or("")
        ));
    }
    lines.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> [ActionKind; 2] {
        ["moves", "reset"].map(|name| ActionKind { name: name.to_owned(), summary: String::new() })
    }

    #[test]
    fn a_notification_is_known_by_its_method_and_by_having_no_id() {
        assert!(is_notification(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})));
        for request in [
            json!({"jsonrpc": "2.0", "method": "notifications/initialized", "id": 1}),
            json!({"jsonrpc": "2.0", "method": "tools/list"}),
            json!({}),
            json!([]),
        ] {
            assert!(!is_notification(&request), "{request}");
        }
    }

    #[test]
    fn a_request_that_is_wrong_is_refused_under_its_own_id() {
        for (request, id) in [
            (json!({"id": 7}), json!(7)),
            (json!({"id": "a", "jsonrpc": "2.0"}), json!("a")),
            (json!({"id": 7, "jsonrpc": "2.0", "method": "ping", "params": 3}), json!(7)),
            (json!({"id": [], "jsonrpc": "2.0"}), Value::Null),
            (json!({}), Value::Null),
        ] {
            let Err(refused) = Call::parse(&request) else { panic!("{request} is not refused") };
            assert_eq!(refused["id"], id, "{request}");
        }
    }

    #[test]
    fn a_session_is_spoken_of_only_by_the_name_by_which_the_client_has_it() {
        let check = |named: Value, own| {
            let parameters = invalid::fields(Some(&json!({ "session_id": named }))).unwrap();
            check_session(&parameters, own).map_err(|fault| (fault.number, fault.message))
        };
        assert_eq!(check(json!("mine"), Some("mine")), Ok(()));
        assert_eq!(check(Value::Null, None), Ok(()));
        assert!(check_session(&Map::new(), Some("mine")).is_ok());
        for (named, own) in [
            (json!("another"), Some("mine")),
            (json!("another"), None),
            (json!(""), None),
            (json!(7), Some("7")),
        ] {
            let (number, message) = check(named, own).unwrap_err();
            assert!(number == INVALID_PARAMETERS && message.contains("`session_id`"), "{message}");
        }
    }

    #[test]
    fn a_tool_says_the_kind_of_its_actions_and_a_client_does_not() {
        let of = |tool: &str, arguments: Value| {
            action_of(&kinds(), tool, Some(&arguments)).map_err(|fault| fault.message)
        };
        for (tool, kind) in [("moves", "moves"), ("do-reset", "reset")] {
            let whole = json!({"text": "D", "kind": kind});
            assert_eq!(of(tool, json!({"text": "D"})), Ok(whole.clone()));
            assert_eq!(of(tool, json!({"text": "D", "kind": null})), Ok(whole));
            let refused = of(tool, json!({"text": "D", "kind": "moves"})).unwrap_err();
            assert!(refused.contains(&format!("`kind` is what the tool `{tool}`")), "{refused}");
        }
        assert!(of("fly", json!({})).unwrap_err().contains("`fly`"));
        // What a team's answer may have is read with the rest of it.
        let said = json!({"text": "D", "kind": "moves"});
        let action = action_of(&[], ANSWER, Some(&said)).map_err(|fault| fault.message);
        assert_eq!(action, Ok(said));
    }
}
