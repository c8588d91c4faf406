//! Questions that somebody asks who does not know the answer, as `host serve --run` does.
//!
//! Such a task has an entry in the place of a data set's record: the question, and that it is
//! asked. Nothing is right or wrong there, so nothing is paid, and the answer ends the episode
//! as not solved.

use plugin_sdk::environment::{Configuration, Task};
use plugin_sdk::types::Extra;
use serde_json::{Value, json};

/// The key of `Configuration::extras` that says that questions may be asked, and which actions
/// answer them.
const QUESTIONS: &str = "questions";
/// The fields of an entry.
const ASKED: &str = "asked";
const QUESTION: &str = "question";

/// The same configuration, by which a question can become a task: [`asked`] says which one it is.
/// Its answer is the last action of the first of these kinds, or the one that ends the episode, if
/// it is of another of them.
#[must_use]
pub fn taken(mut configuration: Configuration, answers: &[&str]) -> Configuration {
    configuration.extras.push(Extra { key: QUESTIONS.to_owned(), value: answers.join(" ") });
    configuration
}

/// The kinds of actions that answer questions; none if no question can become a task.
pub fn answers(configuration: &Configuration) -> Vec<&str> {
    let said = configuration.extras.iter().find(|extra| extra.key == QUESTIONS);
    said.map(|extra| extra.value.split_whitespace().collect()).unwrap_or_default()
}

/// The question of a task that somebody asks, without white space around it; nothing if it is a
/// task of another kind.
pub fn asked(task: &Task) -> Option<String> {
    let entry: Value = serde_json::from_str(task.entry.as_deref()?).ok()?;
    let question = entry.get(QUESTION).filter(|_| entry.get(ASKED) == Some(&Value::Bool(true)))?;
    Some(question.as_str()?.trim().to_owned())
}

/// The entry of a task that is this question.
pub fn entry(question: &str) -> String {
    json!({ ASKED: true, QUESTION: question }).to_string()
}

/// Whether a record of a data set could be taken for what somebody asks.
pub fn is_asked(record: &[u8]) -> bool {
    let names = || record.windows(ASKED.len()).any(|window| window == ASKED.as_bytes());
    let says = |record: Value| record.get(ASKED) == Some(&Value::Bool(true));
    names() && serde_json::from_slice(record).is_ok_and(says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plugin_sdk::environment::Split;

    #[test]
    fn what_is_asked_is_what_is_read_and_records_are_no_questions() {
        let task = |entry: Option<String>| Task {
            split: Split::Test,
            seed: 0,
            settings: Vec::new(),
            seats: Vec::new(),
            entry,
        };
        let question = "What is \"1 + 1\"?\n";
        assert_eq!(asked(&task(Some(entry(question)))).as_deref(), Some(question.trim()));
        assert!(is_asked(entry(question).as_bytes()));
        for other in [
            r#"{"question": "Q"}"#,
            r#"{"asked": "yes", "question": "Q"}"#,
            "asked",
            r#"["asked"]"#,
        ] {
            assert_eq!(asked(&task(Some(other.to_owned()))), None, "{other}");
            assert!(!is_asked(other.as_bytes()), "{other}");
        }
        assert_eq!(asked(&task(None)), None);
        let configuration = taken(Configuration::default(), &["answer", "query"]);
        assert_eq!(answers(&configuration), ["answer", "query"]);
        assert!(answers(&Configuration::default()).is_empty());
    }
}
