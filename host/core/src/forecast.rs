//! How long a run takes and how much it draws, by its first two steps.
//!
//! Episodes of a team that learns to solve its tasks are over sooner than those of one that tries
//! in vain, and a step takes as long as its episodes. How long solved ones are is measured; how
//! soon they are most of them is not, and is assumed: see [`UNLEARNED`].

use serde_json::Value;

use crate::config::{Budget, Config, MixConfig};

/// How far the mean step of a run is from one whose tasks are all solved towards one like the
/// first. In 47 runs of 30 to 83 steps on boards of `plan-path` it was 0.31 to 0.42 in the middle
/// half (0.18 to 0.89 in all); in longer runs it is less.
const UNLEARNED: f64 = 0.3;

/// Solved episodes in two steps, by which their length is told.
const ENOUGH: f64 = 4.0;

/// What a run will come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// What it will come to if things go as is assumed.
    pub likely: Bill,
    /// If all tasks are solved at once.
    pub learned: Bill,
    /// If all steps are like the first.
    pub unlearned: Bill,
    /// Seconds of a step like the first.
    pub step: f64,
    /// Seconds of a look at validation tasks before the first.
    pub validation: f64,
    /// Seconds of the test tasks before the first.
    pub test: f64,
    /// Whether it is known how long solved episodes are.
    pub knows_solved: bool,
}

/// What a run takes from its first step on.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// By the lines of the metrics, if there are two steps of them.
    pub fn of(lines: &[Value], config: &Config) -> Option<Self> {
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
        let length = shortened(&[first, second], config);
        let mut forecast = Forecast {
            step: took / if share > 0.0 { share } else { 1.0 },
            validation: phase(start, "validation"),
            test: phase(start, "test"),
            knows_solved: length.is_some(),
            ..Forecast::unknown()
        };
        let learned = length.unwrap_or(1.0);
        let mixed = learned + UNLEARNED * (1.0 - learned);
        let bill = |length: f64| forecast.bill(config, length, (tokens, samples));
        let (likely, learned, unlearned) = (bill(mixed), bill(learned), bill(1.0));
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
            knows_solved: false,
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

/// How many answers a solved episode takes, in those of any; nothing if too few were solved to
/// tell, or if a curriculum gives the team harder tasks as it learns.
fn shortened(lines: &[&Value], config: &Config) -> Option<f64> {
    let climbs = |family: &MixConfig| !family.curriculum.settings.is_empty();
    if config.families().iter().any(climbs) {
        return None;
    }
    let (mut all, mut solved) = ((0.0, 0.0), (0.0, 0.0));
    for family in
        lines.iter().filter_map(|line| line["families"].as_object()).flat_map(|it| it.values())
    {
        let figure = |name: &str| family.get(name).and_then(Value::as_f64);
        let Some(episodes) = figure("episodes") else { continue };
        let share = figure("solved").unwrap_or(0.0);
        all = (all.0 + episodes, all.1 + episodes * figure("turns")?);
        if let Some(turns) = figure("turns_solved") {
            solved = (solved.0 + share * episodes, solved.1 + share * episodes * turns);
        }
    }
    (solved.0 >= ENOUGH).then(|| (solved.1 / solved.0) / (all.1 / all.0))
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

    fn config() -> Config {
        let mut config = Config::default();
        (config.train.steps, config.validation.every) = (40, 20);
        config
    }

    #[test]
    fn a_team_that_learns_takes_as_long_as_what_it_solves() {
        let forecast = Forecast::of(&lines(0.5), &config()).unwrap();
        assert_eq!((forecast.step, forecast.likely.steps, forecast.likely.looks), (10.0, 40, 2));
        let all = 40.0 * 10.0 + 2.0 * 4.0 + 6.0;
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(near(forecast.unlearned.seconds, all) && near(forecast.learned.seconds, 0.4 * all));
        assert!(near(forecast.likely.seconds, 0.58 * all), "{forecast:?}");
        assert!(near(forecast.likely.tokens, 0.58 * 40_000.0));
        assert_eq!(forecast.range(), (forecast.learned.seconds, forecast.unlearned.seconds));
    }

    #[test]
    fn where_next_to_nothing_is_solved_nobody_knows_how_long_that_takes() {
        let forecast = Forecast::of(&lines(0.1), &config()).unwrap();
        assert!(!forecast.knows_solved);
        assert_eq!(forecast.likely, forecast.unlearned);
        assert_eq!(Forecast::of(&lines(0.5)[..2], &config()), None);
    }

    #[test]
    fn a_budget_of_answers_is_spent_in_more_steps_of_shorter_episodes() {
        let mut config = config();
        config.train.budget.samples = Some(1000);
        let forecast = Forecast::of(&lines(0.5), &config).unwrap();
        assert_eq!((forecast.unlearned.steps, forecast.learned.steps), (10, 25));
        config.train.budget.seconds = Some(50.0);
        let forecast = Forecast::of(&lines(0.5), &config).unwrap();
        assert_eq!(forecast.likely.seconds, 50.0);
    }

    #[test]
    fn a_curriculum_that_is_climbed_leaves_lengths_unknown() {
        let mut config = config();
        let ramp = crate::config::RampConfig { from: 1.0, to: 2.0, step: 1.0 };
        config.curriculum.settings.insert("walls".to_owned(), ramp);
        assert!(!Forecast::of(&lines(0.5), &config).unwrap().knows_solved);
    }
}
