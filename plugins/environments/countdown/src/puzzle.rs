//! A puzzle: numbers and a target, drawn for a task or read from a record.

use plugin_sdk::environment::{Configured, Problem, Split, Task};
use plugin_sdk::{Random, Settings};
use serde::{Deserialize, Serialize};

use crate::expression::Expression;
use crate::fraction::Fraction;

/// Puzzles to draw before the settings are called impossible.
const ATTEMPTS: usize = 20_000;
/// Numbers a record may have, and how large they and the target may be.
const MOST_NUMBERS: usize = 16;
const LARGEST: i64 = 1_000_000_000;

/// Numbers, and what is to be made of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Puzzle {
    /// What there is.
    #[serde(alias = "nums")]
    pub numbers: Vec<i64>,
    /// What is wanted.
    pub target: i64,
}

/// A record: a puzzle, or one among what else is known of it, as reasoning-gym
/// has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Record {
    Whole { metadata: Puzzle },
    Bare(Puzzle),
}

/// What is wrong with an expression that could be read.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// It uses numbers that there are not, or not all.
    Numbers(String),
    /// It comes to something else.
    Value(String),
}

impl Puzzle {
    /// The puzzle of a task: its record, if it has one, or one that is drawn and
    /// comes with an expression that solves it.
    pub fn of(task: &Task) -> Result<(Self, Option<String>), Problem> {
        match &task.entry {
            Some(entry) => Ok((Puzzle::from_record(entry)?, None)),
            None => draw(task).map(|(puzzle, way)| (puzzle, Some(way))),
        }
    }

    fn from_record(entry: &str) -> Result<Self, Problem> {
        let form = r#"`{"numbers": [3, 7, 25], "target": 46}`"#;
        let record = serde_json::from_str(entry);
        let puzzle = match record {
            Ok(Record::Whole { metadata: puzzle } | Record::Bare(puzzle)) => puzzle,
            Err(_) => return Err(Problem::task(format!("the record is not one like {form}"))),
        };
        let count = puzzle.numbers.len();
        if !(1..=MOST_NUMBERS).contains(&count) {
            let message = format!("the record has {count} numbers, not 1 to {MOST_NUMBERS}");
            return Err(Problem::task(message));
        }
        if puzzle.numbers.iter().any(|number| !(0..=LARGEST).contains(number)) {
            let message = format!("a number of the record is not one from 0 to {LARGEST}");
            return Err(Problem::task(message));
        }
        if puzzle.target.saturating_abs() > LARGEST {
            let message = format!("the target of the record is beyond {LARGEST}");
            return Err(Problem::task(message));
        }
        Ok(puzzle)
    }

    /// Whether the expression solves it; every number may be used as often as
    /// it is there, and `all` of them must be.
    pub fn judge(&self, expression: &Expression, all: bool) -> Result<(), Fault> {
        let mut left = self.numbers.clone();
        for number in &expression.numbers {
            match left.iter().position(|other| other == number) {
                Some(place) => drop(left.swap_remove(place)),
                None => {
                    let there = self.numbers.contains(number);
                    let why = if there { "used too often" } else { "not among the numbers" };
                    return Err(Fault::Numbers(format!("{number} is {why}.")));
                }
            }
        }
        if let Some(unused) = left.first().filter(|_| all) {
            return Err(Fault::Numbers(format!("{unused} is not used.")));
        }
        match expression.value {
            Some(value) if value == Fraction::whole(self.target) => Ok(()),
            Some(value) => Err(Fault::Value(format!("This is {value}, not {}.", self.target))),
            None => Err(Fault::Value("This has no value.".to_owned())),
        }
    }

    /// The split it belongs to, whatever the order of its numbers.
    fn owner(&self) -> Split {
        let mut numbers = self.numbers.clone();
        numbers.sort_unstable();
        numbers.push(self.target);
        Split::owning(&numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>())
    }
}

/// What the settings ask of a puzzle.
struct Wanted {
    numbers: usize,
    largest: i64,
    least_target: i64,
    most_target: i64,
}

impl Wanted {
    fn read(settings: &[Configured]) -> Result<Self, Problem> {
        let wanted = Wanted {
            numbers: settings.integer("numbers")?,
            largest: settings.integer("max_number")?,
            least_target: settings.integer("min_target")?,
            most_target: settings.integer("max_target")?,
        };
        if wanted.least_target > wanted.most_target {
            return Err(Problem::settings("`min_target` is greater than `max_target`"));
        }
        Ok(wanted)
    }
}

/// Say which settings no puzzle could meet.
pub fn check(settings: &[Configured]) -> Result<(), Problem> {
    Wanted::read(settings).map(drop)
}

/// Draw a puzzle with an expression that solves it. A puzzle belongs to the
/// split that its numbers and target decide, so none is in two splits.
fn draw(task: &Task) -> Result<(Puzzle, String), Problem> {
    let wanted = Wanted::read(&task.settings)?;
    let mut random = Random::new(task.split, task.seed, "numbers");
    let targets = wanted.least_target..=wanted.most_target;
    (0..ATTEMPTS)
        .filter_map(|_| combine(&wanted, &mut random))
        .find(|(puzzle, _)| {
            targets.contains(&puzzle.target)
                && !puzzle.numbers.contains(&puzzle.target)
                && puzzle.owner() == task.split
        })
        .ok_or_else(|| {
            Problem::settings(format!(
                "no puzzle with {} numbers and a target from {} to {} turned up in {ATTEMPTS} \
                 attempts",
                wanted.numbers, wanted.least_target, wanted.most_target
            ))
        })
}

/// Numbers and what becomes of them when they are put together at random, in
/// positive whole numbers; nothing if that leads to none.
fn combine(wanted: &Wanted, random: &mut Random) -> Option<(Puzzle, String)> {
    let drawn = |_| 1 + random.below(wanted.largest as usize) as i64;
    let numbers: Vec<i64> = (0..wanted.numbers).map(drawn).collect();
    let mut parts: Vec<(i64, String)> =
        numbers.iter().map(|number| (*number, number.to_string())).collect();
    while parts.len() > 1 {
        let one = parts.swap_remove(random.below(parts.len()));
        let other = parts.swap_remove(random.below(parts.len()));
        parts.push(join(one, other, random.below(4))?);
    }
    let (target, text) = parts.pop()?;
    let way = text.strip_prefix("( ").and_then(|text| text.strip_suffix(" )")).unwrap_or(&text);
    Some((Puzzle { numbers, target }, way.to_owned()))
}

fn join(
    (one, text): (i64, String),
    (other, text_of_other): (i64, String),
    sign: usize,
) -> Option<(i64, String)> {
    let (value, sign) = match sign {
        0 => (one.checked_add(other)?, '+'),
        1 => (one.checked_sub(other)?, '-'),
        2 => (one.checked_mul(other)?, '*'),
        _ => ((one % other == 0).then(|| one / other)?, '/'),
    };
    ((1..=LARGEST).contains(&value)).then(|| (value, format!("( {text} {sign} {text_of_other} )")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Countdown;

    fn judged(text: &str, all: bool) -> String {
        let puzzle = Puzzle { numbers: vec![3, 7, 25, 3], target: 46 };
        let read = Expression::read(text).expect("an expression");
        match puzzle.judge(&read, all) {
            Ok(()) => "right".to_owned(),
            Err(Fault::Numbers(why) | Fault::Value(why)) => why,
        }
    }

    #[test]
    fn the_value_counts_and_the_numbers_that_are_used() {
        for (text, all, wanted) in [
            ("25 + 7 * 3", false, "right"),
            ("25 + 7 * 3", true, "3 is not used."),
            ("25 + 7 * 3 + 3 - 3", false, "3 is used too often."),
            ("46", false, "46 is not among the numbers."),
            ("25 + 7 + 3 + 3", true, "This is 38, not 46."),
            ("25 / (3 - 3) + 7", true, "This has no value."),
        ] {
            assert_eq!(judged(text, all), wanted, "{text}");
        }
    }

    #[test]
    fn records_are_read_in_both_forms_and_refused_in_a_sentence() {
        let puzzle = Puzzle { numbers: vec![1, 2], target: 3 };
        for entry in [
            r#"{"numbers": [1, 2], "target": 3}"#,
            r#"{"nums": [1, 2], "target": 3, "more": 1}"#,
            r#"{"question": "?", "metadata": {"numbers": [1, 2], "target": 3, "expression": "1 + 2"}}"#,
        ] {
            assert_eq!(Puzzle::from_record(entry).expect("a record"), puzzle, "{entry}");
        }
        for (entry, fault) in [
            ("{", "the record is not one like"),
            (r#"{"numbers": [1.5], "target": 3}"#, "the record is not one like"),
            (r#"{"numbers": [], "target": 3}"#, "0 numbers"),
            (r#"{"numbers": [-1, 2], "target": 3}"#, "not one from 0"),
            (r#"{"numbers": [1, 2], "target": -9223372036854775808}"#, "beyond"),
        ] {
            let problem = Puzzle::from_record(entry).expect_err(entry).sentence();
            assert!(problem.contains(fault), "{problem}");
        }
    }

    #[test]
    fn puzzles_come_with_a_solution_and_belong_to_their_split() {
        for split in Split::ALL {
            for seed in 0..100 {
                let numbers = 3 + seed as i32 % 4;
                let task = Task::of::<Countdown>(split, seed).with("numbers", numbers);
                let (puzzle, way) = draw(&task).expect("possible settings");
                let read = Expression::read(&way).expect("an expression");
                assert_eq!(puzzle.judge(&read, true), Ok(()), "{way}");
                assert_eq!((puzzle.numbers.len() as i32, puzzle.owner()), (numbers, split));
            }
        }
    }
}
