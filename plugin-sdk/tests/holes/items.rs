//! A room full of things, three of which are wanted.

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Task,
};
use plugin_sdk::{Random, Settings};
use serde::{Deserialize, Serialize};

/// Everything that is taken pays a part, wanted or not: all of it is worth more than a solution.
pub const PAYS_FOR_EVERYTHING: u8 = 1;

const THINGS: [&str; 14] = [
    "lamp", "rope", "coin", "map", "book", "cup", "ring", "shoe", "bell", "fork", "drum", "kite",
    "vase", "sock",
];

#[derive(Serialize, Deserialize)]
pub struct Items<const FAULT: u8> {
    /// The first three are wanted.
    things: Vec<usize>,
    taken: Vec<usize>,
    variant: usize,
}

impl<const FAULT: u8> Environment for Items<FAULT> {
    fn describe() -> Description {
        Description::new("items", "1.0.0", "Take what is wanted.")
            .setting(super::variant())
            .action("take", "the name of one thing")
    }

    fn configure(_: &[Configured]) -> Result<Configuration, Problem> {
        Ok(Configuration::default().max_turns(20))
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let variant: usize = task.settings.integer("variant")?;
        let mut random = Random::new(task.split, task.seed, "items");
        let mut things: Vec<usize> = (0..THINGS.len()).collect();
        random.shuffle(&mut things);
        things.truncate(10 + variant);
        Ok(Items { things, taken: Vec::new(), variant })
    }

    fn rules(&self, _seat: &Seat) -> String {
        "Take the three things that are wanted.".to_owned()
    }

    fn observe(&self, _seat: &Seat) -> String {
        let names = |things: &[usize]| {
            let mut names: Vec<&str> = things.iter().map(|&thing| THINGS[thing]).collect();
            names.sort_unstable();
            names.join(" ")
        };
        let (all, wanted) = (names(&self.things), names(&self.things[..3]));
        format!("here: {all}; wanted: {wanted}; taken: {}", names(&self.taken))
    }

    fn act(&mut self, _seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        let known = THINGS.iter().position(|name| *name == action.text.trim());
        let here = known.and_then(|thing| self.things.iter().position(|&it| it == thing));
        let (Some(thing), Some(place)) = (known, here) else {
            return Ok(Outcome::rejected("It is not here."));
        };
        if self.taken.contains(&thing) {
            return Ok(Outcome::rejected("You have it."));
        }
        self.taken.push(thing);
        let pays = place < 3 || FAULT == PAYS_FOR_EVERYTHING;
        let part = [0.3, 0.25, 0.2, 0.2, 0.15][self.variant];
        let outcome = Outcome::accepted().team("part", if pays { part } else { 0.0 });
        let is_all = self.things[..3].iter().all(|wanted| self.taken.contains(wanted));
        Ok(if is_all { outcome.team("all", 0.5).solved() } else { outcome })
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        let next = self.things[..3].iter().find(|thing| !self.taken.contains(thing))?;
        Some(Action::new("take", THINGS[*next]))
    }
}
