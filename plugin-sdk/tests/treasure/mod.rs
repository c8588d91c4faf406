//! A treasure on a field, with faults of many kinds: in numbers, in texts, in
//! what is saved, in what is paid.

use std::cell::Cell;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Split,
    Task,
};
use plugin_sdk::{Random, Setting, Settings};
use serde::{Deserialize, Serialize};

pub const SOUND: u8 = 0;
pub const SPLITS_BY_AN_OFFSET: u8 = 1;
pub const SHARES_EVERY_OTHER_TASK: u8 = 2;
pub const REMEMBERS_EPISODES: u8 = 3;
pub const FORGETS_ITS_PATIENCE: u8 = 4;
pub const KEEPS_A_LOG: u8 = 5;
pub const SHOWS_A_LOG: u8 = 6;
pub const PAYS_MORE_THAN_IT_SAYS: u8 = 7;
pub const PAYS_MORE_THAN_IT_DECLARES: u8 = 8;
pub const ADVISES_TOO_FEW_TURNS: u8 = 9;
pub const LISTS_A_WORD_IT_REFUSES: u8 = 10;
pub const QUOTES_A_WORD_IT_REFUSES: u8 = 11;
pub const DESCRIBES_A_KIND_IT_REFUSES: u8 = 12;
pub const RINGS_A_BELL: u8 = 13;
pub const HIDES_LETTERS_IN_FEEDBACK: u8 = 14;
pub const REFUSES_ITS_DOMAIN: u8 = 15;
pub const PANICS_IN_A_CORNER: u8 = 16;
pub const PAYS_AND_TELLS_ITS_STORY: u8 = 17;
pub const HINTS_NOW_AND_THEN: u8 = 18;
pub const SHOWS_THE_NEXT_SEED: u8 = 19;
pub const SHOWS_THE_END_OF_THE_SEED: u8 = 20;
pub const SPELLS_THE_PLAN: u8 = 21;
pub const PAYS_FOR_SILENCE_LATER: u8 = 22;
pub const LOSES_ITS_WAY: u8 = 23;
pub const DESCRIBES_ITSELF_ANEW: u8 = 24;
pub const PAYS_NOTHING_BUT_NUMBERS: u8 = 25;
pub const NAMES_ITS_SPLIT: u8 = 26;

const WAYS: [(&str, i32, i32); 4] =
    [("north", 0, -1), ("south", 0, 1), ("east", 1, 0), ("west", -1, 0)];
/// Actions after which a digger gives up.
const PATIENCE: u32 = 45;

thread_local! {
    static EPISODES: Cell<u32> = const { Cell::new(0) };
}

#[derive(Serialize, Deserialize)]
pub struct Treasure<const FAULT: u8> {
    size: i32,
    at: (i32, i32),
    treasure: (i32, i32),
    stones: Vec<(i32, i32)>,
    actions: u32,
    number: u32,
    told: String,
    log: Vec<String>,
    #[serde(skip)]
    tired: u32,
}

impl<const FAULT: u8> Environment for Treasure<FAULT> {
    fn describe() -> Description {
        let text = match FAULT {
            LISTS_A_WORD_IT_REFUSES => "one of north, south, east, west or wait",
            QUOTES_A_WORD_IT_REFUSES => "`north`, `south`, `east`, `west`; `dig` digs",
            _ => "north, south, east or west",
        };
        let summary = match FAULT {
            PAYS_MORE_THAN_IT_SAYS => "Find a treasure; an episode pays at most 1.",
            DESCRIBES_ITSELF_ANEW if EPISODES.get() % 2 == 1 => "Find another treasure.",
            _ => "Find a treasure.",
        };
        EPISODES.set(EPISODES.get() + 1);
        let description = Description::new("treasure", "1.0.0", summary)
            .setting(Setting::integer("size", "Columns and rows.", 3..=9, 7))
            .setting(Setting::flag("fog", "Whether stones are hidden.", false))
            .action("go", text);
        match FAULT {
            DESCRIBES_A_KIND_IT_REFUSES => description.action("shout", "a word"),
            _ => description,
        }
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        if FAULT == REFUSES_ITS_DOMAIN && settings.integer::<i32>("size")? > 7 {
            return Err(Problem::settings("the field is too large"));
        }
        let turns = if FAULT == ADVISES_TOO_FEW_TURNS { 4 } else { 30 };
        let configuration = Configuration::default().max_turns(turns);
        Ok(match FAULT {
            PAYS_MORE_THAN_IT_DECLARES => configuration.awards(-3.0, 0.5),
            _ => configuration,
        })
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let size = task.settings.integer("size")?;
        if FAULT == PANICS_IN_A_CORNER && size == 9 && task.settings.flag("fog")? {
            panic!("lost in the fog");
        }
        let (split, seed) = origin::<FAULT>(task);
        let mut random = Random::new(split, seed, "field");
        let mut place = || (random.below(size as usize) as i32, random.below(size as usize) as i32);
        let (at, treasure, stones) = loop {
            let (at, treasure) = (place(), place());
            let stones: Vec<_> = (0..5).map(|_| place()).collect();
            let name = format!("{at:?} {treasure:?} {stones:?}");
            let free = !stones.contains(&at) && !stones.contains(&treasure);
            // Whoever splits by seeds leaves it at that.
            let owned = [SPLITS_BY_AN_OFFSET, SHARES_EVERY_OTHER_TASK].contains(&FAULT)
                || Split::owning(name.as_bytes()) == split;
            if at != treasure && free && owned {
                break (at, treasure, stones);
            }
        };
        let told = match FAULT {
            NAMES_ITS_SPLIT => format!("This is a {} field. ", task.split.name()),
            _ => String::new(),
        };
        let number = match FAULT {
            SHOWS_THE_NEXT_SEED => task.seed.wrapping_add(1),
            SHOWS_THE_END_OF_THE_SEED => task.seed % 1000,
            REMEMBERS_EPISODES => EPISODES.get(),
            SHARES_EVERY_OTHER_TASK => Random::new(task.split, task.seed, "serial").bits() as u32,
            _ => 0,
        };
        EPISODES.set(EPISODES.get() + 1);
        let (log, actions, tired) = (Vec::new(), 0, 0);
        Ok(Treasure { size, at, treasure, stones, actions, number, told, log, tired })
    }

    fn rules(&self, _seat: &Seat) -> String {
        "Go to the treasure. Stones are in nobody's way.".to_owned()
    }

    fn observe(&self, _seat: &Seat) -> String {
        let spot = |(x, y): (i32, i32)| format!("{x}/{y}");
        let stones: Vec<String> = self.stones.iter().copied().map(spot).collect();
        let plain = format!(
            "{}you {}, treasure {}, stones {}",
            self.told,
            spot(self.at),
            spot(self.treasure),
            stones.join(" ")
        );
        let way = self.way();
        let next = way.first().copied().unwrap_or("");
        match FAULT {
            SHARES_EVERY_OTHER_TASK => {
                let digits = ["zero", "one", "two", "three", "four", "five", "six", "seven"];
                let words = (0..6).map(|place| digits[(self.number >> (3 * place)) as usize % 8]);
                format!("field {}: {plain}", words.collect::<Vec<_>>().join("-"))
            }
            REMEMBERS_EPISODES => format!("{plain}, day {}", self.number),
            SHOWS_A_LOG => format!("{plain}; before: {}", self.log.join(", ")),
            PAYS_AND_TELLS_ITS_STORY => format!("{plain}; {}", self.log.join(" then ")),
            RINGS_A_BELL if self.actions == 7 => format!("{plain}\u{7}"),
            HINTS_NOW_AND_THEN if self.actions % 3 == 1 => {
                format!("{plain} (a bird sings {next} of you)")
            }
            SHOWS_THE_NEXT_SEED => format!("puzzle {} of many: {plain}", self.number),
            SHOWS_THE_END_OF_THE_SEED => format!("no. {:03}: {plain}", self.number),
            SPELLS_THE_PLAN => format!("{plain} <{}>", way.concat()),
            _ => plain,
        }
    }

    fn act(&mut self, _seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        self.actions += 1;
        self.tired += 1;
        if FAULT == FORGETS_ITS_PATIENCE && self.tired > PATIENCE {
            return Ok(Outcome::rejected("You give up.").failed());
        }
        if [KEEPS_A_LOG, SHOWS_A_LOG, PAYS_AND_TELLS_ITS_STORY].contains(&FAULT) {
            self.log.push(action.text.chars().take(12).collect());
        }
        let way = WAYS.iter().find(|(name, ..)| *name == action.text.trim());
        let Some((_, x, y)) = way.filter(|_| action.kind == "go") else {
            let outcome = Outcome::rejected("Say where to.");
            return Ok(match FAULT {
                PAYS_FOR_SILENCE_LATER if self.actions == 2 => outcome.local("calm", 0.2),
                HIDES_LETTERS_IN_FEEDBACK => outcome.feedback("No.\u{202e}.oN"),
                _ => outcome,
            });
        };
        let before = self.distance();
        let inside = |to: i32| to.clamp(0, self.size - 1);
        self.at = (inside(self.at.0 + x), inside(self.at.1 + y));
        let nearer = f64::from(before - self.distance());
        let mut outcome = Outcome::accepted().team("nearer", 0.1 * nearer);
        if FAULT == PAYS_AND_TELLS_ITS_STORY {
            outcome = outcome.team("effort", 0.01);
        }
        if FAULT == PAYS_NOTHING_BUT_NUMBERS && self.actions > 9 {
            outcome = outcome.team("ratio", 0.0 / f64::from(self.actions.saturating_sub(u32::MAX)));
        }
        if self.at != self.treasure {
            return Ok(outcome);
        }
        Ok(outcome.team("found", if FAULT == PAYS_MORE_THAN_IT_SAYS { 3.0 } else { 1.0 }).solved())
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        let way = self.way();
        // Whoever loses the way walks up and down in some of the fields.
        if FAULT == LOSES_ITS_WAY && self.stones[0] == (2, 2) && way.len() == 1 {
            return Some(Action::new("go", WAYS[self.actions as usize % 2].0));
        }
        Some(Action::new("go", *way.first()?))
    }
}

/// Where a task's numbers come from.
fn origin<const FAULT: u8>(task: &Task) -> (Split, u32) {
    let place = Split::ALL.into_iter().position(|split| split == task.split).unwrap_or(0) as u32;
    match FAULT {
        SPLITS_BY_AN_OFFSET => (Split::Train, task.seed.wrapping_add(20_000 * place)),
        SHARES_EVERY_OTHER_TASK if task.seed.is_multiple_of(2) => (Split::Train, task.seed),
        _ => (task.split, task.seed),
    }
}

impl<const FAULT: u8> Treasure<FAULT> {
    fn distance(&self) -> i32 {
        (self.at.0 - self.treasure.0).abs() + (self.at.1 - self.treasure.1).abs()
    }

    /// First sideways, then up or down.
    fn way(&self) -> Vec<&'static str> {
        let (right, down) = (self.treasure.0 - self.at.0, self.treasure.1 - self.at.1);
        let sideways = if right > 0 { "east" } else { "west" };
        let along = if down > 0 { "south" } else { "north" };
        let mut way = vec![sideways; right.unsigned_abs() as usize];
        way.extend(vec![along; down.unsigned_abs() as usize]);
        way
    }
}
