//! How a model's answer becomes an action of a server's.

use serde_json::{Map, Value, json};

use crate::plugin::{ActionKind, Move};

/// What an action of one field is called where a server has no kinds of its own.
const ACTION: &str = "action";

/// The form of an action, read from a server's schema.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ActionForm {
    /// The one field that the answer goes into; without one, the answer is the whole
    /// action, written as JSON.
    field: Option<Field>,
    required: Vec<String>,
    properties: Map<String, Value>,
    /// The kinds that a field `kind` chooses from.
    kinds: Vec<ActionKind>,
    /// The seats that a field `role` chooses from.
    pub(super) seats: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    kind: Kind,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Text,
    Integer,
    Number,
    Flag,
}

impl ActionForm {
    /// Reads a JSON schema of actions.
    pub(super) fn of(schema: &Value) -> Self {
        let properties = match schema.get("properties") {
            Some(Value::Object(properties)) => properties.clone(),
            _ => Map::new(),
        };
        let required = words(schema.get("required"));
        let field = match required.as_slice() {
            [name] => properties.get(name).and_then(kind_of),
            _ => None,
        };
        let field = field.map(|kind| Field { name: required[0].clone(), kind });
        let described = properties.get("kind").and_then(|kind| kind["description"].as_str());
        let summary = |name: &str| {
            let parts = described.unwrap_or_default().split("; ");
            let summary_of_kind =
                parts.filter_map(|part| part.split_once(": ")).find(|(kind, _)| *kind == name);
            summary_of_kind
                .map_or_else(|| "an action".to_owned(), |(_, summary)| summary.to_owned())
        };
        let kinds = words(properties.get("kind").and_then(|kind| kind.get("enum")));
        let kinds =
            kinds.into_iter().map(|name| ActionKind { summary: summary(&name), name }).collect();
        let seats = words(properties.get("role").and_then(|role| role.get("enum")));
        ActionForm { field, required, properties, kinds, seats }
    }

    /// The kinds of action that workflows choose from.
    pub(super) fn kinds(&self) -> Vec<ActionKind> {
        if !self.kinds.is_empty() {
            return self.kinds.clone();
        }
        let summary = match &self.field {
            Some(field) => match self.properties[&field.name]["description"].as_str() {
                Some(description) => description.to_owned(),
                None => format!("what goes into `{}`", field.name),
            },
            None => format!("a JSON object with {}", self.fields()),
        };
        vec![ActionKind { name: ACTION.to_owned(), summary }]
    }

    /// The action that a move is; what is wrong with its text, if it is none.
    pub(super) fn action(&self, Move { seat, action }: &Move) -> Result<Value, String> {
        let mut fields = match &self.field {
            None => self.object(&action.text)?,
            Some(Field { name, kind }) => {
                Map::from_iter([(name.clone(), kind.read(&action.text)?)])
            }
        };
        if self.kinds.iter().any(|kind| kind.name == action.kind) {
            fields.insert("kind".to_owned(), json!(action.kind));
        }
        let seat = seat.to_string();
        if self.seats.contains(&seat) {
            fields.insert("role".to_owned(), json!(seat));
        }
        Ok(Value::Object(fields))
    }

    /// Texts that are actions by their form, to try what the server makes of them.
    pub(super) fn examples(&self) -> Vec<String> {
        let of = |schema: &Value, turn: usize| match &schema["enum"] {
            Value::Array(values) if !values.is_empty() => values[turn % values.len()].clone(),
            _ if kind_of(schema) == Some(Kind::Text) => json!(turn.to_string()),
            _ => json!(turn),
        };
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let example = |turn: usize| match &self.field {
            Some(field) => text(of(&self.properties[&field.name], turn)),
            None => {
                let fields = self.required.iter().map(|name| {
                    let schema = self.properties.get(name).unwrap_or(&Value::Null);
                    (name.clone(), of(schema, turn))
                });
                Value::Object(fields.collect()).to_string()
            }
        };
        (0..4).map(example).collect()
    }

    fn object(&self, text: &str) -> Result<Map<String, Value>, String> {
        let fields: Map<String, Value> = serde_json::from_str(text.trim())
            .map_err(|_| format!("the answer must be a JSON object with {}", self.fields()))?;
        match self.required.iter().find(|name| !fields.contains_key(*name)) {
            Some(name) => Err(format!("the answer has no field `{name}`")),
            None => Ok(fields),
        }
    }

    fn fields(&self) -> String {
        let names: Vec<String> = self.properties.keys().map(|name| format!("`{name}`")).collect();
        if names.is_empty() { "the action's fields".to_owned() } else { names.join(", ") }
    }
}

impl Kind {
    fn read(self, text: &str) -> Result<Value, String> {
        let (value, what) = match self {
            Kind::Text => return Ok(json!(text)),
            Kind::Integer => (text.trim().parse::<i64>().ok().map(Value::from), "a whole number"),
            Kind::Number => {
                let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
                (number.map(Value::from), "a number")
            }
            Kind::Flag => (text.trim().parse::<bool>().ok().map(Value::from), "true or false"),
        };
        value.ok_or_else(|| format!("the answer must be {what}"))
    }
}

fn kind_of(schema: &Value) -> Option<Kind> {
    match schema["type"].as_str()? {
        "string" => Some(Kind::Text),
        "integer" => Some(Kind::Integer),
        "number" => Some(Kind::Number),
        "boolean" => Some(Kind::Flag),
        _ => None,
    }
}

/// The texts of a list, the others left out.
fn words(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(properties: Value, required: Value) -> ActionForm {
        ActionForm::of(&json!({"properties": properties, "required": required}))
    }

    fn action(form: &ActionForm, kind: &str, text: &str) -> Result<Value, String> {
        form.action(&Move::new("player", kind, text))
    }

    #[test]
    fn an_answer_goes_into_the_one_required_field_as_what_that_holds() {
        let text = form(json!({"message": {"type": "string"}}), json!(["message"]));
        assert_eq!(action(&text, "action", " hi ").unwrap(), json!({"message": " hi "}));
        let number = form(json!({"action_id": {"type": "integer"}}), json!(["action_id"]));
        assert_eq!(action(&number, "action", " 3 ").unwrap(), json!({"action_id": 3}));
        assert_eq!(
            action(&number, "action", "up").unwrap_err(),
            "the answer must be a whole number"
        );
        let real = form(json!({"x": {"type": "number"}}), json!(["x"]));
        assert!(action(&real, "action", "nan").is_err());
    }

    #[test]
    fn where_there_is_no_such_field_the_answer_is_the_action_as_json() {
        let two = json!({"row": {"type": "integer"}, "column": {"type": "integer"}});
        let form = form(two, json!(["row", "column"]));
        assert_eq!(action(&form, "", " {\"row\": 1, \"column\": 2}").unwrap()["column"], 2);
        assert!(action(&form, "", "{\"row\": 1}").unwrap_err().contains("`column`"));
        assert!(
            action(&form, "", "[1]").unwrap_err().contains("a JSON object with `row`, `column`")
        );
        let deep = format!("{{\"row\":{}}}", "[".repeat(100_000));
        assert!(action(&form, "", &deep).is_err());
        assert_eq!(action(&form, "", &form.examples()[1]).unwrap()["row"], 1);
    }

    #[test]
    fn kinds_and_roles_are_named_where_the_server_has_such() {
        let kind = json!({"enum": ["moves", "plan"], "description": "moves: letters; plan: words"});
        let properties =
            json!({"text": {"type": "string"}, "kind": kind, "role": {"enum": ["player"]}});
        let form = form(properties, json!(["text"]));
        let sent = action(&form, "plan", "D").unwrap();
        assert_eq!(sent, json!({"text": "D", "kind": "plan", "role": "player"}));
        let other = form.action(&Move::new("coach", "shout", "D")).unwrap();
        assert_eq!(other, json!({"text": "D"}));
        assert_eq!(form.kinds()[1].summary, "words");
    }

    #[test]
    fn a_schema_that_says_nothing_takes_json() {
        let form = ActionForm::of(&json!(null));
        assert_eq!(action(&form, "", "{}").unwrap(), json!({}));
        assert_eq!(form.kinds()[0].name, "action");
    }
}
