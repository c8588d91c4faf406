//! The tasks that there are, for clients that choose.

use serde_json::{Map, Value, json};

use super::game::Game;
use super::invalid::{self, Invalid};
use super::reset::split_of;
use troupe_guests::plugin::Split;

/// Tasks that are named in one answer.
const TASKS: u64 = 100_000;

/// What can be asked of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskQuery {
    Count,
    All,
    One,
    Range,
}

impl TaskQuery {
    /// What it may say.
    fn fields(self) -> &'static [&'static str] {
        match self {
            TaskQuery::Count | TaskQuery::All => &["split"],
            TaskQuery::One => &["split", "index"],
            TaskQuery::Range => &["split", "start", "stop"],
        }
    }

    fn read(self, body: Option<&Value>) -> Result<Map<String, Value>, Invalid> {
        let data = invalid::fields(body)?;
        invalid::check_names(&data, self.fields())?;
        Ok(data)
    }
}

/// Why there is no answer.
#[derive(Debug, PartialEq)]
pub(super) enum NoTasks {
    /// The question is wrong.
    Invalid(Invalid),
    /// The tasks are without end.
    Uncounted,
}

impl From<Invalid> for NoTasks {
    fn from(invalid: Invalid) -> Self {
        NoTasks::Invalid(invalid)
    }
}

/// The parts of an environment's tasks.
pub(super) fn splits() -> Value {
    let split = |split: Split| json!({ "name": split.name(), "type": split.name() });
    Split::ALL.into_iter().map(split).collect()
}

/// Answers a question.
pub(super) fn answer(
    game: &Game,
    question: TaskQuery,
    body: Option<&Value>,
) -> Result<Value, NoTasks> {
    let data = question.read(body)?;
    let split = split_of(&data)?.unwrap_or(Split::Train);
    let count = game.records().map(|records| records.count(split) as u64);
    let name = &game.environment().name;
    Ok(match question {
        TaskQuery::Count => json!({ "num_tasks": count.ok_or(NoTasks::Uncounted)? }),
        TaskQuery::All => {
            let tasks = range(split, 0, count.ok_or(NoTasks::Uncounted)?)?;
            json!({ "tasks": tasks, "env_name": name })
        }
        TaskQuery::One => {
            let index = required(&data, "index")?;
            check(index, count)?;
            json!({ "task": task(split, index) })
        }
        TaskQuery::Range => {
            let start = invalid::count(&data, "start")?.unwrap_or(0);
            let stop = match invalid::count(&data, "stop")? {
                Some(stop) => stop,
                None => count.ok_or(NoTasks::Uncounted)?,
            };
            check(stop.saturating_sub(1), count)?;
            json!({ "tasks": range(split, start, stop)?, "env_name": name })
        }
    })
}

fn required(data: &Map<String, Value>, name: &str) -> Result<u64, Invalid> {
    let missing = || Invalid::field("missing", name, format!("the field `{name}` is missing"));
    invalid::count(data, name)?.ok_or_else(missing)
}

/// A task's number is one of 32 bits, and one of those that there are.
fn check(index: u64, count: Option<u64>) -> Result<(), Invalid> {
    let most = count.unwrap_or(1 << 32);
    if index < most.max(1) {
        return Ok(());
    }
    Err(Invalid::value("index", format!("there is no task {index}; there are {most}")))
}

fn range(split: Split, start: u64, stop: u64) -> Result<Vec<Value>, Invalid> {
    if stop.saturating_sub(start) > TASKS {
        let message = format!("more than {TASKS} tasks at once; ask for them in parts");
        return Err(Invalid::value("stop", message));
    }
    Ok((start..stop).map(|index| task(split, index)).collect())
}

/// What reset takes as its `task`.
fn task(split: Split, index: u64) -> Value {
    json!({ "split": split.name(), "index": index })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_a_question_does_not_have_is_refused_by_name() {
        for (question, body, unknown) in [
            (TaskQuery::Count, json!({"split": "test", "index": 1}), "index"),
            (TaskQuery::All, json!({"splt": "test"}), "splt"),
            (TaskQuery::One, json!({"index": 1, "seed": 1}), "seed"),
            (TaskQuery::Range, json!({"start": 1, "end": 3}), "end"),
        ] {
            let refused = question.read(Some(&body)).unwrap_err().message();
            assert!(refused.contains(&format!("there is no field `{unknown}`")), "{refused}");
        }
        let whole = json!({"split": "test", "start": null, "stop": 3});
        let read = TaskQuery::Range.read(Some(&whole)).map(Value::Object);
        assert_eq!(read, Ok(whole));
    }
}
