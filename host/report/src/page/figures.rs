//! The figures of a run as a page draws them: not more lines than a curve can show, and not more
//! digits than anybody reads.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Number, Value};

/// Lines of metrics that a page holds.
const LINES: usize = 600;

/// Which lines are kept: all with a warning, the first `LINES` with something measured in them,
/// and of the others so many that `LINES` are not exceeded by much.
pub fn thinned(lines: Vec<Value>) -> Vec<Value> {
    let every = lines.len().div_ceil(LINES).max(1);
    let (last, mut told) = (lines.len().saturating_sub(1), 0);
    let mut keep = |index: usize, line: &Value| {
        let has = |key: &&str| line.get(key).is_some();
        let measured = ["validation", "test", "information"].iter().any(has);
        told += usize::from(measured);
        let is_told = has(&"warnings") || (measured && told <= LINES);
        is_told || index.is_multiple_of(every) || index == last
    };
    let kept = lines.into_iter().enumerate().filter(|(index, line)| keep(*index, line));
    kept.map(|(_, line)| rounded(line)).collect()
}

/// How many training episodes were void, by cause: of all lines, however few of them are kept.
pub fn void(lines: &[Value]) -> BTreeMap<String, u64> {
    let mut causes: BTreeMap<String, u64> = BTreeMap::new();
    for (cause, times) in lines.iter().filter_map(|line| line.get("void")?.as_object()).flatten() {
        *causes.entry(cause.clone()).or_default() += times.as_u64().unwrap_or_default();
    }
    causes
}

/// Numbers to six digits.
pub fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let short = format!("{:.5e}", number.as_f64().unwrap_or_default());
            let number = short.parse().ok().and_then(Number::from_f64);
            number.map_or(Value::Null, Value::Number)
        }
        Value::Array(values) => Value::Array(values.into_iter().map(rounded).collect()),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, rounded(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        value => value,
    }
}

/// The step whose greedy success on validation tasks is the highest, the first of them: the
/// checkpoint that a run keeps as its best. What training began from is none.
pub fn best_step(lines: &[Value]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for line in lines {
        let success = line.pointer("/validation/greedy/success").and_then(Value::as_f64);
        let (Some(step), Some(success)) = (step_of(line), success) else { continue };
        if step > 0 && best.is_none_or(|(_, highest)| success > highest) {
            best = Some((step, success));
        }
    }
    best.map(|(step, _)| step)
}

/// The step of a line.
pub fn step_of(line: &Value) -> Option<usize> {
    line.get("step").and_then(Value::as_u64).map(|step| step as usize)
}

/// What became of the held-out tasks of one step, in one family.
#[derive(Debug, PartialEq, Serialize)]
pub struct HeldOut {
    /// The step.
    pub step: usize,
    /// The part of the tasks.
    pub split: String,
    /// The family.
    pub family: String,
    /// A letter for each task in its order: the first of its ending, or `-` if it is not known.
    pub endings: String,
}

/// The outcomes of greedy answers, task by task.
pub fn held_out(lines: &[Value]) -> Vec<HeldOut> {
    let mut found: BTreeMap<(String, String, usize), BTreeMap<usize, char>> = BTreeMap::new();
    for line in lines {
        let text = |key: &str| line.get(key).and_then(Value::as_str);
        let task = line.get("task").and_then(Value::as_u64).filter(|task| *task < 10_000);
        let (Some("greedy"), Some(step), Some(task)) = (text("answers"), step_of(line), task)
        else {
            continue;
        };
        let (split, family) =
            (text("split").unwrap_or_default(), text("family").unwrap_or_default());
        let ending = text("ending").and_then(|ending| ending.chars().next()).unwrap_or('-');
        let tasks = found.entry((split.to_owned(), family.to_owned(), step)).or_default();
        tasks.insert(task as usize, if ending == 'f' { failed_or_finished(line) } else { ending });
    }
    let made = found.into_iter().map(|((split, family, step), tasks)| {
        let count = tasks.last_key_value().map_or(0, |(last, _)| last + 1);
        let endings = (0..count).map(|task| tasks.get(&task).copied().unwrap_or('-')).collect();
        HeldOut { step, split, family, endings }
    });
    made.collect()
}

/// Two endings begin with the same letter; the workflow's is written large.
fn failed_or_finished(line: &Value) -> char {
    let finished = line.get("ending").and_then(Value::as_str) == Some("finished");
    if finished { 'F' } else { 'f' }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_run_is_thinned_but_what_was_measured_or_said_stays() {
        let line = |step: usize| match step {
            777 => json!({ "step": step, "warnings": ["w"] }),
            step if step % 100 == 3 => json!({ "step": step, "validation": {} }),
            step => json!({ "step": step }),
        };
        let kept = thinned((0..5000).map(line).collect());
        let steps: Vec<usize> = kept.iter().filter_map(step_of).collect();
        assert!(steps.len() <= 2 * LINES, "{}", steps.len());
        for step in [0, 3, 777, 4903, 4999] {
            assert!(steps.contains(&step), "{step}");
        }
        assert_eq!(thinned((0..20).map(line).collect()).len(), 20);
    }

    #[test]
    fn a_warning_stays_after_however_many_measurements() {
        let line = |step: usize| match step {
            4999 => json!({ "step": step }),
            step if step > 4000 => json!({ "step": step, "warnings": ["w"] }),
            step => json!({ "step": step, "validation": {} }),
        };
        let kept = thinned((0..5000).map(line).collect());
        assert_eq!(kept.iter().filter(|line| line.get("warnings").is_some()).count(), 998);
    }

    #[test]
    fn void_episodes_are_counted_in_all_lines() {
        let line = |step: usize| json!({ "step": step, "void": { "trap": 2 } });
        let mut lines: Vec<Value> = (0..5000).map(line).collect();
        lines.push(json!({ "step": 5000, "void": { "time": 1 } }));
        lines.push(json!({ "step": 5001 }));
        let counted = [("time".to_owned(), 1), ("trap".to_owned(), 10_000)];
        assert_eq!(void(&lines), BTreeMap::from(counted));
    }

    #[test]
    fn numbers_are_cut_to_six_digits_and_counts_are_not() {
        let given = json!({ "a": [1.23456789, -1e-9], "n": 123456789, "t": "1.23456789" });
        let short = json!({ "a": [1.23457, -1e-9], "n": 123456789, "t": "1.23456789" });
        assert_eq!(rounded(given), short);
    }

    #[test]
    fn the_best_step_is_the_first_of_the_highest() {
        let line = |step: usize, success: f64| json!({ "step": step, "validation": { "greedy": { "success": success } } });
        let lines = [line(0, 0.9), json!({ "step": 1 }), line(2, 0.5), line(4, 0.5), line(6, 0.4)];
        assert_eq!(best_step(&lines), Some(2));
        assert_eq!(best_step(&lines[1..2]), None);
    }

    #[test]
    fn held_out_tasks_stand_in_their_order_and_what_was_sampled_is_left_out() {
        let line = |step: usize, answers: &str, task: usize, ending: &str| {
            json!({
                "step": step, "split": "validation", "answers": answers, "family": "maze",
                "task": task, "ending": ending,
            })
        };
        let lines = [
            line(4, "greedy", 2, "failed"),
            line(4, "greedy", 0, "finished"),
            line(4, "sampled", 1, "solved"),
            line(0, "greedy", 0, "void"),
            line(0, "greedy", 1, "solved"),
        ];
        let endings: Vec<(usize, String)> =
            held_out(&lines).into_iter().map(|of| (of.step, of.endings)).collect();
        assert_eq!(endings, [(0, "vs".to_owned()), (4, "F-f".to_owned())]);
    }
}
