//! How long a run takes and how much it draws, by its first two steps.
//!
//! Episodes of a team that learns to solve its tasks are over sooner than those of one that tries
//! in vain, and a step takes as long as its episodes. How long they can become is measured, by the
//! expert's episodes or else by those that are solved; how soon they do is not, and is assumed: see
//! [`TIME_TO_LEARN`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{Budget, Config, MixConfig};

/// The file in a run's folder that keeps it.
pub const FILE: &str = "forecast.json";

/// Steps that a forecast is made of.
pub const MEASURED: usize = 2;

/// Steps in which what there is to learn falls to 1/e. With this, the answers that 49 runs of 29 to
/// 200 steps drew on boards of `plan-path` are told with an error of 7 % in the middle, below 13 %
/// in three of four, and of 34 % where next to nothing was learned.
const TIME_TO_LEARN: f64 = 25.0;

/// How often the number of steps of a budget is put right.
const ROUNDS: usize = 4;

/// Solved episodes in two steps, by which their length is told.
const ENOUGH: f64 = 4.0;

/// What a run will come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// What it will come to if things go as is assumed.
    pub likely: Bill,
    /// If all tasks are solved at once, as the expert does.
    pub learned: Bill,
    /// If all steps are like the first.
    pub unlearned: Bill,
    /// Seconds of a step like the first.
    pub step: f64,
    /// Seconds of a look at validation tasks before the first.
    pub validation: f64,
    /// Seconds of the test tasks before the first.
    pub test: f64,
    /// Whether it is known how long episodes can become.
    pub knows_lengths: bool,
}

/// What a run takes from its first step on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bill {
    /// Steps.
    pub steps: usize,
    /// How often validation tasks are looked at.
    pub looks: usize,
    /// Seconds.
    pub seconds: f64,
    /// Tokens drawn in training.
    pub tokens: f64,
    /// Answers drawn in training.
    pub samples: f64,
}

impl Forecast {
    /// By the lines of the metrics, if there are two steps of them, and the answers that the
    /// expert's episodes take in each family.
    pub fn of(lines: &[Value], config: &Config, experts: &BTreeMap<String, f64>) -> Option<Self> {
        let line = |step: u64| lines.iter().find(|line| line["step"] == step);
        let [start, first, second] = [line(0)?, line(1)?, line(2)?];
        let at = |line: &Value, path: &str| line.pointer(path).and_then(Value::as_f64);
        let phase =
            |line: &Value, name: &str| at(line, &format!("/timing/seconds/{name}")).unwrap_or(0.0);
        let drawn = |what: &str| Some(at(second, &format!("/totals/{what}"))? / 2.0);
        let (tokens, samples) = (drawn("completion_tokens")?, drawn("samples")?);
        // The first step also loads, allocates and saves; the second may have more or less to do.
        let spent = |line: &Value| at(line, "/timing/totals/seconds");
        let took =
            spent(second)? - spent(first)? - phase(second, "validation") - phase(second, "test");
        let share = (at(second, "/totals/samples")? - at(first, "/totals/samples")?) / samples;
        let length = shortened(&[first, second], config, experts);
        let mut forecast = Forecast {
            step: took / if share > 0.0 { share } else { 1.0 },
            validation: phase(start, "validation"),
            test: phase(start, "test"),
            knows_lengths: length.is_some(),
            ..Forecast::unknown()
        };
        let learned = length.unwrap_or(1.0);
        let bill = |length: f64| forecast.bill(config, length, (tokens, samples));
        // Where a budget ends the run, shorter steps are more of them.
        let mut likely = bill(1.0);
        for _ in 0..ROUNDS {
            likely = bill(learned + unlearned(likely.steps) * (1.0 - learned));
        }
        let (learned, unlearned) = (bill(learned), bill(1.0));
        (forecast.likely, forecast.learned, forecast.unlearned) = (likely, learned, unlearned);
        Some(forecast)
    }

    fn unknown() -> Self {
        let bill = Bill { steps: 0, looks: 0, seconds: 0.0, tokens: 0.0, samples: 0.0 };
        Forecast {
            likely: bill,
            learned: bill,
            unlearned: bill,
            step: 0.0,
            validation: 0.0,
            test: 0.0,
            knows_lengths: false,
        }
    }

    /// The run with episodes of this length, in that of the first ones.
    fn bill(&self, config: &Config, length: f64, (tokens, samples): (f64, f64)) -> Bill {
        let (tokens, samples) = (tokens * length, samples * length);
        let Budget { completion_tokens, samples: answers, seconds: limit } = config.train.budget;
        let within = |budget: Option<u64>, each: f64| {
            budget.map_or(usize::MAX, |budget| (budget as f64 / each.max(1e-9)).ceil() as usize)
        };
        let of_budget = within(completion_tokens, tokens).min(within(answers, samples));
        let of_time = within(limit.map(|limit| limit as u64), self.step * length);
        // Where there is a budget, it ends the run and the number of steps does not.
        let steps = match of_budget.min(of_time) {
            usize::MAX => config.train.steps,
            steps => steps,
        };
        let looks = steps.checked_div(config.validation.every).unwrap_or_default();
        let parts = self.step * steps as f64 + self.validation * looks as f64 + self.test;
        let seconds = (parts * length).min(limit.unwrap_or(f64::INFINITY));
        let many = steps as f64;
        Bill { steps, looks, seconds, tokens: tokens * many, samples: samples * many }
    }

    /// The least and the most seconds.
    pub fn range(&self) -> (f64, f64) {
        let (one, other) = (self.learned.seconds, self.unlearned.seconds);
        (one.min(other), one.max(other))
    }
}

/// What there is left to learn in a step, on average over so many.
fn unlearned(steps: usize) -> f64 {
    let time = steps.max(1) as f64 / TIME_TO_LEARN;
    (1.0 - (-time).exp()) / time
}

/// How many answers the episodes of a team take that has learned its tasks, in those of the first
/// two steps; nothing if that cannot be told, or if a curriculum gives the team harder tasks as it
/// learns.
fn shortened(lines: &[&Value], config: &Config, experts: &BTreeMap<String, f64>) -> Option<f64> {
    let climbs = |family: &MixConfig| !family.curriculum.settings.is_empty();
    if config.families().iter().any(climbs) {
        return None;
    }
    let (mut all, mut learned) = (0.0, 0.0);
    let mut knows = false;
    for (name, played) in played(lines) {
        let solved = (played.solved >= ENOUGH).then(|| played.turns_solved / played.solved);
        let turns = experts.get(&name).copied().or(solved);
        knows |= turns.is_some();
        all += played.turns;
        learned += turns.map_or(played.turns, |turns| turns * played.episodes);
    }
    (knows && all > 0.0).then_some(learned / all)
}

/// Episodes of a family and their answers, and of the solved ones.
#[derive(Default)]
struct Played {
    episodes: f64,
    turns: f64,
    solved: f64,
    turns_solved: f64,
}

fn played(lines: &[&Value]) -> BTreeMap<String, Played> {
    let mut families: BTreeMap<String, Played> = BTreeMap::new();
    let tables = lines.iter().filter_map(|line| line["families"].as_object());
    for (name, family) in tables.flatten() {
        let figure = |name: &str| family.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        let played = families.entry(name.clone()).or_default();
        let solved = figure("solved") * figure("episodes");
        played.episodes += figure("episodes");
        played.turns += figure("episodes") * figure("turns");
        played.solved += solved;
        played.turns_solved += solved * figure("turns_solved");
    }
    families
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Two steps of 100 answers and 10 s each, after a look of 4 s and a test of 6 s; half of the
    /// episodes are solved, in 2 answers where all take 5.
    fn lines(solved: f64) -> Vec<Value> {
        let family = json!({ "maze": {
            "episodes": 8, "solved": solved, "turns": 5.0, "turns_solved": 2.0,
        } });
        let line = |step: u64, seconds: f64| {
            json!({
                "step": step,
                "families": if step == 0 { json!({}) } else { family.clone() },
                "totals": { "samples": 100 * step, "completion_tokens": 1000 * step },
                "timing": { "seconds": {}, "totals": { "seconds": seconds } },
            })
        };
        let mut lines = vec![line(0, 10.0), line(1, 21.0), line(2, 31.0)];
        lines[0]["timing"]["seconds"] = json!({ "validation": 4.0, "test": 6.0 });
        lines
    }

    fn none() -> BTreeMap<String, f64> {
        BTreeMap::new()
    }

    fn config() -> Config {
        let mut config = Config::default();
        (config.train.steps, config.validation.every) = (40, 20);
        config
    }

    #[test]
    fn a_team_that_learns_takes_as_long_as_what_it_solves() {
        let forecast = Forecast::of(&lines(0.5), &config(), &none()).unwrap();
        assert_eq!((forecast.step, forecast.likely.steps, forecast.likely.looks), (10.0, 40, 2));
        let all = 40.0 * 10.0 + 2.0 * 4.0 + 6.0;
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(near(forecast.unlearned.seconds, all) && near(forecast.learned.seconds, 0.4 * all));
        // In 40 steps, (1 − e^(−40/25)) / (40/25) = 0.4988 is left to learn on average.
        let likely = forecast.likely.seconds / all;
        assert!((likely - (0.4 + 0.6 * 0.4988)).abs() < 1e-4, "{forecast:?}");
        assert!((forecast.likely.tokens / 40_000.0 - likely).abs() < 1e-9);
        assert_eq!(forecast.range(), (forecast.learned.seconds, forecast.unlearned.seconds));
    }

    #[test]
    fn where_there_is_an_expert_it_says_how_short_episodes_can_become() {
        let experts = BTreeMap::from([("maze".to_owned(), 1.5)]);
        for solved in [0.5, 0.0] {
            let forecast = Forecast::of(&lines(solved), &config(), &experts).unwrap();
            let length = forecast.learned.seconds / forecast.unlearned.seconds;
            assert!((length - 0.3).abs() < 1e-9, "{forecast:?}");
        }
    }

    #[test]
    fn where_next_to_nothing_is_solved_nobody_knows_how_long_that_takes() {
        let forecast = Forecast::of(&lines(0.1), &config(), &none()).unwrap();
        assert!(!forecast.knows_lengths);
        assert_eq!(forecast.likely, forecast.unlearned);
        assert_eq!(Forecast::of(&lines(0.5)[..2], &config(), &none()), None);
    }

    #[test]
    fn a_budget_of_answers_is_spent_in_more_steps_of_shorter_episodes() {
        let mut config = config();
        config.train.budget.samples = Some(1000);
        let forecast = Forecast::of(&lines(0.5), &config, &none()).unwrap();
        assert_eq!((forecast.unlearned.steps, forecast.learned.steps), (10, 25));
        config.train.budget.seconds = Some(50.0);
        let forecast = Forecast::of(&lines(0.5), &config, &none()).unwrap();
        assert_eq!(forecast.likely.seconds, 50.0);
    }

    #[test]
    fn a_curriculum_that_is_climbed_leaves_lengths_unknown() {
        let mut config = config();
        let ramp = crate::config::RampConfig { from: 1.0, to: 2.0, step: 1.0 };
        config.curriculum.settings.insert("walls".to_owned(), ramp);
        assert!(!Forecast::of(&lines(0.5), &config, &none()).unwrap().knows_lengths);
    }
}
