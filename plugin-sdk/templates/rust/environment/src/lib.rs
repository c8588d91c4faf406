//! {{Name}}: find a number from 1 to 100 within eight guesses.

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Split,
    Task,
};
use plugin_sdk::Random;
use serde::{Deserialize, Serialize};

const TURNS: u32 = 8;

/// One episode: everything that happened is in these fields, and all of them are saved.
#[derive(Serialize, Deserialize)]
struct {{Name}} {
    secret: u32,
    /// The secret lies above this,
    above: u32,
    /// and below this.
    below: u32,
    guesses: u32,
}

impl Environment for {{Name}} {
    fn describe() -> Description {
        Description::new("{{name}}", env!("CARGO_PKG_VERSION"), "Find a number from 1 to 100.")
            .action("guess", "one whole number, such as `7`")
            .workflows(&["solo"])
            .reusable()
    }

    fn configure(_settings: &[Configured]) -> Result<Configuration, Problem> {
        // Every word that can be seen or said, for policies that have no tokenizer of their own.
        let words = ["above", "below"].map(str::to_owned).into_iter();
        let numbers = (0..=101).map(|number: u32| number.to_string());
        Ok(Configuration::default().vocabulary(words.chain(numbers).collect()).max_turns(TURNS))
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let mut random = Random::new(task.split, task.seed, "secret");
        // A secret belongs to one split, so that no task is in two of them.
        let secret = (0..1000)
            .map(|_| random.below(100) as u32 + 1)
            .find(|secret| Split::owning(&secret.to_le_bytes()) == task.split)
            .ok_or_else(|| Problem::internal("no secret for this split"))?;
        Ok({{Name}} { secret, above: 0, below: 101, guesses: 0 })
    }

    fn rules(&self, _seat: &Seat) -> String {
        format!(
            "Find the secret number within {TURNS} guesses. You are told above and below which numbers it lies."
        )
    }

    fn observe(&self, _seat: &Seat) -> String {
        format!("above {} below {}", self.above, self.below)
    }

    fn act(&mut self, _seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        self.guesses += 1;
        let guess = action.text.trim().parse().ok().filter(|guess| (1..=100).contains(guess));
        let outcome = match guess {
            None => {
                Outcome::rejected("This is not a number from 1 to 100.").local("unreadable", -0.1)
            }
            Some(guess) if guess == self.secret => {
                return Ok(Outcome::accepted().team("found", 1.0).solved());
            }
            Some(guess) => {
                let before = self.below - self.above;
                if guess < self.secret {
                    self.above = self.above.max(guess)
                } else {
                    self.below = self.below.min(guess)
                }
                // What is left shrinks and never grows, so this cannot be earned twice.
                let narrowed = f64::from(before - (self.below - self.above)) / 100.0;
                Outcome::accepted().team("narrowed", 0.5 * narrowed)
            }
        };
        Ok(if self.guesses == TURNS { outcome.failed() } else { outcome })
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        Some(Action::new("guess", self.above.midpoint(self.below).to_string()))
    }
}

plugin_sdk::export!(environment: {{Name}});

#[test]
fn it_keeps_the_contract() {
    plugin_sdk::testing::check_environment::<{{Name}}>().assert_passed();
}
