//! What answers may be as a grammar of bytes.

use llguidance::api::TopLevelGrammar;
use serde_json::{Value, json};

use crate::constraint::Constraint;

/// What stands around an answer and is no part of it.
#[derive(Clone, Copy)]
pub(super) struct Around {
    /// A regular expression of what may stand before it, of one character or more.
    pub(super) before: Option<&'static str>,
    /// Whether a space ends it.
    pub(super) ends_with_space: bool,
}

/// The grammar of answers with what stands around them.
pub(super) fn grammar(constraint: &Constraint, around: Around) -> TopLevelGrammar {
    let texts = match constraint {
        Constraint::Schema(schema) => return json_grammar(&on_one_line(schema), around),
        Constraint::Words(words) => {
            let word = one_of(words);
            format!("{word}(?: {word})*")
        }
        Constraint::Choices(texts) => one_of(texts),
    };
    let before = around.before.map(|before| format!("(?:{before})?")).unwrap_or_default();
    let after = if around.ends_with_space { " " } else { "" };
    TopLevelGrammar::from_regex(&format!("{before}{texts}{after}"))
}

fn json_grammar(schema: &Value, around: Around) -> TopLevelGrammar {
    let (mut start, mut terminals) = ("json".to_owned(), String::new());
    if let Some(before) = around.before {
        start = format!("BEFORE? {start}");
        terminals += &format!("BEFORE: /{before}/\n");
    }
    if around.ends_with_space {
        start += " \" \"";
    }
    TopLevelGrammar::from_lark(format!("start: {start}\n{terminals}json: %json {schema}\n"))
}

/// A regular expression for one of some texts.
fn one_of(texts: &[String]) -> String {
    let mut expression = String::from("(?:");
    for (place, text) in texts.iter().enumerate() {
        if place > 0 {
            expression.push('|');
        }
        for letter in text.chars() {
            if letter.is_ascii_punctuation() && !"<>".contains(letter) {
                expression.push('\\');
            }
            expression.push(letter);
        }
    }
    expression + ")"
}

/// The schema, which says how white space is put unless it does itself: where it is free, a policy
/// may say nothing else.
fn on_one_line(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let form =
        json!({ "whitespace_flexible": false, "item_separator": ", ", "key_separator": ": " });
    if let Some(entries) = schema.as_object_mut() {
        entries.entry("x-guidance").or_insert(form);
    }
    schema
}
