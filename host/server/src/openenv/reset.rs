//! Which task an episode is to be of.

use serde_json::{Map, Value};

use super::invalid::{self, Invalid};
use troupe_core::seed::Seed;
use troupe_guests::plugin::Split;

/// Characters of an episode's name.
const ID_CHARACTERS: usize = 255;
const FIELDS: [&str; 5] = ["seed", "episode_id", "split", "index", "task"];
/// What says which task it is, beside `task` or in it.
const OF_TASK: [&str; 3] = ["seed", "split", "index"];

/// What a client says when it begins an episode.
#[derive(Debug, PartialEq)]
pub(super) struct Reset {
    /// The split; the training split by default.
    pub(super) split: Split,
    /// Which of its tasks; any by default.
    pub(super) seed: Option<u32>,
    /// What the client calls the episode.
    pub(super) episode_id: Option<String>,
}

impl Reset {
    /// Reads the fields `seed`, `episode_id`, `split`, and what the task routes
    /// give: `index`, or both in `task`.
    pub(super) fn parse(data: Option<&Value>) -> Result<Self, Invalid> {
        let data = invalid::fields(data)?;
        invalid::check_names(&data, &FIELDS)?;
        let task = match invalid::fields(data.get("task")) {
            Ok(task) => task,
            Err(_) => return Err(Invalid::field("dict_type", "task", "`task` must be an object")),
        };
        invalid::check_names(&task, &OF_TASK)?;
        let said = of_both(&data, &task)?;
        let split = split_of(&said)?.unwrap_or(Split::Train);
        let seeds = [
            invalid::count(&said, "seed")?.map(folded),
            invalid::count(&said, "index")?.map(folded),
        ];
        let seed = match seeds {
            [Some(seed), Some(index)] if seed != index => {
                let message = "`seed` and `index` are two names for the task's number; give one";
                return Err(Invalid::value("index", message));
            }
            [seed, index] => seed.or(index),
        };
        let episode_id = invalid::text(&data, "episode_id")?.map(str::to_owned);
        if episode_id.as_ref().is_some_and(|id| id.chars().count() > ID_CHARACTERS) {
            let message = format!("`episode_id` has more than {ID_CHARACTERS} characters");
            return Err(Invalid::value("episode_id", message));
        }
        Ok(Reset { split, seed, episode_id })
    }
}

/// What is said of the task beside `task` and in it; null counts as absent in both. They may say
/// the same, as clients do that copy a task's fields.
fn of_both(
    beside: &Map<String, Value>,
    task: &Map<String, Value>,
) -> Result<Map<String, Value>, Invalid> {
    let mut said = Map::new();
    for name in OF_TASK {
        let value = |of: &Map<String, Value>| of.get(name).filter(|it| !it.is_null()).cloned();
        match (value(beside), value(task)) {
            (Some(left), Some(right)) if left != right => {
                let message = format!(
                    "`{name}` has one value beside `task` and another in it; give it in one place"
                );
                return Err(Invalid::value(name, message));
            }
            (Some(value), _) | (None, Some(value)) => drop(said.insert(name.to_owned(), value)),
            (None, None) => {}
        }
    }
    Ok(said)
}

/// The split that is named, if one is.
pub(super) fn split_of(data: &Map<String, Value>) -> Result<Option<Split>, Invalid> {
    let Some(name) = invalid::text(data, "split")? else { return Ok(None) };
    Split::named(name)
        .map(Some)
        .ok_or_else(|| Invalid::value("split", "`split` must be `train`, `validation` or `test`"))
}

/// Trainers draw seeds of up to 64 bits; a task's number has 32.
fn folded(seed: u64) -> u32 {
    u32::try_from(seed).unwrap_or_else(|_| Seed::new(seed).value_u32())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(data: &Value) -> Result<Reset, String> {
        Reset::parse(Some(data)).map_err(|invalid| invalid.message())
    }

    #[test]
    fn a_task_is_named_by_seed_or_index_or_as_the_task_routes_give_it() {
        let said = |data| parse(&data).map(|reset| (reset.split, reset.seed)).unwrap();
        assert_eq!(said(json!({})), (Split::Train, None));
        assert_eq!(said(json!(null)), (Split::Train, None));
        assert_eq!(said(json!({"seed": 3})), (Split::Train, Some(3)));
        assert_eq!(said(json!({"split": "test", "index": 4})), (Split::Test, Some(4)));
        let task = json!({"task": {"split": "validation", "index": 5}});
        assert_eq!(said(task), (Split::Validation, Some(5)));
    }

    #[test]
    fn null_is_no_value_beside_task_nor_in_it() {
        let said = |data| parse(&data).map(|reset| (reset.split, reset.seed)).unwrap();
        let in_task = json!({"split": "test", "index": 5});
        for name in ["seed", "index", "split"] {
            let mut data = json!({ "task": in_task });
            data[name] = Value::Null;
            assert_eq!(said(data), (Split::Test, Some(5)), "{name}");
        }
        let nulls = json!({"split": null, "seed": null, "index": null});
        assert_eq!(
            said(json!({"split": "test", "seed": 5, "task": nulls})),
            (Split::Test, Some(5))
        );
        assert_eq!(said(json!({ "task": nulls })), (Split::Train, None));
    }

    #[test]
    fn what_task_and_the_fields_beside_it_say_differently_is_refused_by_name() {
        for (name, left, right) in [
            ("seed", json!(1), json!(2)),
            ("index", json!(1), json!(2)),
            ("split", json!("train"), json!("test")),
        ] {
            let mut data = json!({ "task": {} });
            (data[name], data["task"][name]) = (left.clone(), right);
            let refused = parse(&data).unwrap_err();
            assert!(refused.contains(&format!("`{name}` has one value beside")), "{refused}");
            data["task"][name] = left;
            assert!(parse(&data).is_ok(), "{name} is the same in both");
        }
        let refused = parse(&json!({"seed": 1, "task": {"index": 2}})).unwrap_err();
        assert!(refused.contains("two names"), "{refused}");
    }

    #[test]
    fn a_seed_of_64_bits_is_folded_and_always_to_the_same_task() {
        let of = |seed: u64| parse(&json!({"seed": seed})).unwrap().seed;
        assert_eq!(of(u64::from(u32::MAX)), Some(u32::MAX));
        assert_eq!(of(1 << 40), of(1 << 40));
        assert_ne!(of(1 << 40), of((1 << 40) + 1));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |data| parse(&data).unwrap_err();
        assert!(error(json!({"seeds": 1})).contains("there is no field `seeds`"));
        assert!(error(json!({"seed": -1})).contains("whole number"));
        assert!(error(json!({"seed": true})).contains("whole number"));
        assert!(error(json!({"seed": 1, "index": 2})).contains("two names"));
        assert!(error(json!({"split": "holdout"})).contains("`train`"));
        assert!(error(json!({"episode_id": "x".repeat(256)})).contains("255"));
        assert!(error(json!([])).contains("object"));
        assert!(error(json!({"task": 1})).contains("`task`"));
    }
}
