//! A hundred keys, three of which have to be pressed in order.

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Split,
    Task,
};
use plugin_sdk::{Random, Settings};
use serde::{Deserialize, Serialize};

/// Two of the hundred, one after the other, pay.
pub const PAYS_AN_ALTERNATION: u8 = 1;

const KEYS: usize = 100;

#[derive(Serialize, Deserialize)]
pub struct Keys<const FAULT: u8> {
    wanted: Vec<usize>,
    pressed: usize,
    last: Option<usize>,
    pair: (usize, usize),
}

fn name(key: usize) -> String {
    format!("k{key:02}")
}

impl<const FAULT: u8> Environment for Keys<FAULT> {
    fn describe() -> Description {
        Description::new("keys", "1.0.0", "Press three keys in order.")
            .setting(super::variant())
            .action("press", "one key, such as k07")
    }

    fn configure(_: &[Configured]) -> Result<Configuration, Problem> {
        let words = ["press", "then", "done"].map(str::to_owned);
        let numbers = (0..4).map(|number: usize| number.to_string());
        let words = words.into_iter().chain(numbers).chain((0..KEYS).map(name)).collect();
        Ok(Configuration::default().vocabulary(words).max_turns(12))
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let variant: u32 = task.settings.integer("variant")?;
        let mut pairs = Random::new(Split::Train, variant, "pair");
        let first = pairs.below(KEYS);
        let pair = (first, (first + 1 + pairs.below(KEYS - 1)) % KEYS);
        let mut random = Random::new(task.split, task.seed, "keys");
        let mut keys: Vec<usize> =
            (0..KEYS).filter(|&key| key != pair.0 && key != pair.1).collect();
        random.shuffle(&mut keys);
        keys.truncate(3);
        Ok(Keys { wanted: keys, pressed: 0, last: None, pair })
    }

    fn rules(&self, _seat: &Seat) -> String {
        "press the keys in order".to_owned()
    }

    fn observe(&self, _seat: &Seat) -> String {
        let keys: Vec<String> = self.wanted.iter().copied().map(name).collect();
        format!("press {} then done {}", keys.join(" "), self.pressed)
    }

    fn act(&mut self, _seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        let Some(key) = (0..KEYS).find(|&key| name(key) == action.text.trim()) else {
            return Ok(Outcome::rejected("There is no such key."));
        };
        let last = self.last.replace(key);
        let is_pair = last == Some(self.pair.0) && key == self.pair.1;
        let outcome = match FAULT == PAYS_AN_ALTERNATION && is_pair {
            true => Outcome::accepted().team("rhythm", 0.02),
            false => Outcome::accepted(),
        };
        if self.wanted.get(self.pressed) != Some(&key) {
            return Ok(outcome);
        }
        self.pressed += 1;
        let outcome = outcome.team("right", 0.2);
        let is_all = self.pressed == self.wanted.len();
        Ok(if is_all { outcome.team("open", 1.0).solved() } else { outcome })
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        Some(Action::new("press", name(*self.wanted.get(self.pressed)?)))
    }
}
