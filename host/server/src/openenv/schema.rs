//! What the server says of itself.

use serde_json::{Map, Value, json};

use super::game::Game;

/// The version that OpenEnv's clients ask for.
const API_VERSION: &str = "1.0.0";

/// What is served, in words.
pub(super) fn metadata(game: &Game) -> Value {
    let description = game.environment();
    let said = match game.workflow() {
        None => description.summary.clone(),
        Some(workflow) => format!("{} (played by `{workflow}`)", description.summary),
    };
    json!({
        "name": description.name,
        "description": said,
        "readme_content": null,
        "version": description.version,
        "author": null,
        "documentation_url": null,
    })
}

/// The schemas of actions, observations and states.
pub(super) fn schemas(game: &Game) -> Value {
    json!({ "action": action(game), "observation": observation(game), "state": state() })
}

/// Of an action. Its one required field is what a model writes.
fn action(game: &Game) -> Value {
    let seats: Vec<String> = game.seats().iter().map(ToString::to_string).collect();
    let kinds = game.kinds();
    let what = match kinds.first() {
        Some(kind) => kind.summary.as_str(),
        None => "the whole answer of the role whose turn it is",
    };
    let mut properties = Map::new();
    properties.insert("text".to_owned(), json!({ "type": "string", "description": what }));
    if let Some(first) = kinds.first() {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        let summaries: Vec<String> =
            kinds.iter().map(|kind| format!("{}: {}", kind.name, kind.summary)).collect();
        let kind = json!({
            "type": "string",
            "enum": names,
            "default": first.name,
            "description": summaries.join("; "),
        });
        properties.insert("kind".to_owned(), kind);
    } else {
        let complete = json!({
            "type": "boolean",
            "default": true,
            "description": "whether the answer ended by itself and was not cut",
        });
        properties.insert("complete".to_owned(), complete);
    }
    let role = json!({
        "type": "string",
        "enum": seats,
        "description": "the seat that acts; by default the one whose turn it is",
    });
    properties.insert("role".to_owned(), role);
    properties.insert("metadata".to_owned(), json!({ "type": "object" }));
    json!({
        "title": "TroupeAction",
        "type": "object",
        "properties": properties,
        "required": ["text"],
        "additionalProperties": false,
    })
}

fn observation(game: &Game) -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let mut properties = Map::new();
    let mut add = |name: &str, schema: Value| drop(properties.insert(name.to_owned(), schema));
    add("text", text("what can be seen"));
    add("role", text("the seat that sees it, or whose turn it is"));
    if game.workflow().is_none() {
        add("rules", text("the rules and the notation; after reset"));
        add("feedback", text("what the environment says of the action"));
        add("text_of", json!({ "type": "object", "description": "what each seat sees" }));
        add("rules_of", json!({ "type": "object", "description": "what each seat is told" }));
    } else {
        let messages = "what the role is told, as chat messages";
        add("messages", json!({ "type": "array", "description": messages }));
        add("turn", json!({ "type": "integer", "description": "how often it was asked before" }));
        add("current_player_id", json!({ "type": "integer" }));
        add("legal_players", json!({ "type": "array", "items": { "type": "integer" } }));
        add("tools", json!({ "type": "array", "description": "the tools it is told of" }));
        add("thread", text("the conversation, if it is not the main one"));
    }
    json!({ "title": "TroupeObservation", "type": "object", "properties": properties })
}

fn state() -> Value {
    json!({
        "title": "TroupeState",
        "type": "object",
        "properties": {
            "episode_id": { "type": ["string", "null"] },
            "step_count": { "type": "integer", "minimum": 0 },
            "status": { "type": "string" },
            "split": { "type": ["string", "null"] },
            "seed": { "type": ["integer", "null"] },
            "total_reward": { "type": ["number", "null"] },
        },
        "required": ["step_count"],
    })
}

/// The paths, for tools that ask which there are.
pub(super) fn openapi(game: &Game) -> Value {
    let get = |summary: &str| json!({ "get": operation(summary) });
    let post = |summary: &str| json!({ "post": operation(summary) });
    json!({
        "openapi": "3.1.0",
        "info": { "title": game.environment().name, "version": API_VERSION },
        "paths": {
            "/health": get("Whether it serves."),
            "/metadata": get("What is served."),
            "/schema": get("The schemas of actions, observations and states."),
            "/state": get("The state of an episode that has not begun."),
            "/reset": post("Begins an episode and gives it up; one that goes on is had on /ws."),
            "/step": post("Begins an episode, acts once and gives it up."),
            "/mcp": post("The environment as tools (JSON-RPC)."),
            "/list_environments": get("The environment's name."),
            "/{environment}/splits": get("The parts of its tasks."),
            "/{environment}/num_tasks": post("How many tasks a split has, if they are counted."),
            "/{environment}/tasks": post("All tasks of a split, if they are counted."),
            "/{environment}/task": post("One task."),
            "/{environment}/task_range": post("Several tasks."),
        },
    })
}

fn operation(summary: &str) -> Value {
    json!({ "summary": summary, "responses": { "200": { "description": "the answer, as JSON" } } })
}
