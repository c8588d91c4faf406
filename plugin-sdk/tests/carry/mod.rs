//! Two who carry a load along a corridor, and have to move at the same time:
//! the faults that only a team shows.

use std::sync::atomic::{AtomicU32, Ordering};

use plugin_sdk::Random;
use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Effect, Environment, Move, Outcome, Problem,
    Recipient, Seat, Split, Status, Task,
};
use serde::{Deserialize, Serialize};

pub const SOUND: u8 = 0;
/// What the first gains by going on is taken back from the second.
pub const CHARGES_THE_OTHER: u8 = 1;
/// The second is paid for every answer of the first, whatever it says.
pub const PAYS_FOR_THE_OTHERS_WORDS: u8 = 2;
pub const PAYS_A_THIRD_MOVER: u8 = 3;
pub const PAYS_A_STRANGER: u8 = 4;
/// What a joint move changed is not saved.
pub const FORGETS_JOINT_MOVES: u8 = 5;
/// Only the second seat's view shows it.
pub const SHOWS_THE_SECOND_ITS_LOOKS: u8 = 6;
pub const SHOWS_THE_SECOND_ITS_ANSWER: u8 = 7;
pub const TELLS_THE_SECOND_THE_SEED: u8 = 8;
pub const SHOWS_THE_SECOND_AN_UNLISTED_WORD: u8 = 9;
pub const KEEPS_ITS_PRIVACY_TO_ITSELF: u8 = 10;
pub const SHOWS_ALL_THE_SAME: u8 = 11;
/// What one wins the other loses, round after round.
pub const IS_A_CONTEST: u8 = 12;
/// A contest, in which the second is paid for every round.
pub const PAYS_IN_A_CONTEST: u8 = 13;
/// One at a time: several moves are refused as out of order.
pub const TAKES_TURNS: u8 = 14;
pub const PANICS_AT_JOINT_MOVES: u8 = 15;

const WORDS: [&str; 4] = ["on", "back", "left", "right"];
const LENGTH: usize = 4;
const ROUNDS: usize = 8;

static LOOKS: AtomicU32 = AtomicU32::new(0);

#[derive(Serialize, Deserialize)]
pub struct Carry<const FAULT: u8> {
    /// What each has to say at each place, known to the other.
    keys: Vec<[usize; 2]>,
    here: usize,
    rounds: usize,
    wins: usize,
    seed: u32,
    #[serde(skip)]
    joint: usize,
}

impl<const FAULT: u8> Environment for Carry<FAULT> {
    fn describe() -> Description {
        let summary = "Carry a load, each in the words that the other knows.";
        Description::new("carry", "1.0.0", summary).action("word", "one word")
    }

    fn configure(_: &[Configured]) -> Result<Configuration, Problem> {
        let numbers = (0..=ROUNDS).map(|number| number.to_string());
        let words = WORDS.map(str::to_owned).into_iter().chain(numbers).collect();
        let configuration = Configuration::default().vocabulary(words).max_turns(8).seats(&seats());
        Ok(match FAULT {
            KEEPS_ITS_PRIVACY_TO_ITSELF | IS_A_CONTEST | PAYS_IN_A_CONTEST => configuration,
            _ => configuration.private(),
        })
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let mut random = Random::new(task.split, task.seed, "keys");
        let keys = loop {
            let keys: Vec<[usize; 2]> =
                (0..LENGTH).map(|_| [(); 2].map(|()| random.below(WORDS.len()))).collect();
            if Split::owning(format!("{keys:?}").as_bytes()) == task.split {
                break keys;
            }
        };
        Ok(Carry { keys, here: 0, rounds: 0, wins: 0, seed: task.seed, joint: 0 })
    }

    fn rules(&self, seat: &Seat) -> String {
        match FAULT {
            TELLS_THE_SECOND_THE_SEED if *seat == seats()[1] => format!("Task {}.", self.seed),
            _ => "Say at the same time what the other is shown.".to_owned(),
        }
    }

    fn observe(&self, seat: &Seat) -> String {
        let Some(place) = seats().iter().position(|other| other == seat) else {
            return String::new();
        };
        let key = |place: usize| self.keys.get(self.here).map_or("", |keys| WORDS[keys[place]]);
        let shown = format!("{} {} {}", self.here, self.rounds, key(1 - place));
        match FAULT {
            IS_A_CONTEST | PAYS_IN_A_CONTEST => {
                let keys = self.keys.iter().flatten().map(|key| WORDS[*key]);
                format!("{} {}", self.rounds, keys.collect::<Vec<_>>().join(" "))
            }
            SHOWS_ALL_THE_SAME => format!("{} {}", self.here, self.rounds),
            _ if place == 0 => shown,
            FORGETS_JOINT_MOVES => format!("{} {shown}", self.joint.min(ROUNDS)),
            SHOWS_THE_SECOND_ITS_LOOKS => {
                format!("{} {shown}", LOOKS.fetch_add(1, Ordering::Relaxed) % 7)
            }
            SHOWS_THE_SECOND_ITS_ANSWER => format!("{shown} {}", key(1)),
            SHOWS_THE_SECOND_AN_UNLISTED_WORD => format!("psst {shown}"),
            _ => shown,
        }
    }

    fn act(&mut self, _: &Seat, _: &Action) -> Result<Outcome, Problem> {
        Ok(Self::paid(self.contend(Outcome::rejected("Both have to move."), None)))
    }

    fn act_together(&mut self, moves: &[Move]) -> Result<Outcome, Problem> {
        assert!(FAULT != PANICS_AT_JOINT_MOVES, "two at once");
        if FAULT == TAKES_TURNS {
            return Err(Problem::order("one at a time"));
        }
        let seats = seats();
        let said = seats.each_ref().map(|seat| {
            let one = moves.iter().find(|one| one.seat == *seat)?;
            WORDS.iter().position(|word| *word == one.action.text)
        });
        let effect = |accepted| Effect { accepted, feedback: String::new() };
        let outcome = |accepted| Outcome {
            effects: vec![effect(accepted); moves.len()],
            awards: Vec::new(),
            status: Status::Ongoing,
        };
        let [Some(first), Some(second)] = said else {
            return Ok(Self::paid(self.contend(outcome(false), None)));
        };
        self.joint += 1;
        Ok(Self::paid(match FAULT {
            IS_A_CONTEST | PAYS_IN_A_CONTEST => self.contend(outcome(true), Some(first == second)),
            _ => self.carry(outcome(true), [first, second]),
        }))
    }

    fn demonstrate(&self, seat: &Seat) -> Option<Action> {
        let place = seats().iter().position(|other| other == seat)?;
        Some(Action::new(
            "word",
            match FAULT {
                IS_A_CONTEST | PAYS_IN_A_CONTEST => "on",
                _ => WORDS[self.keys[self.here][place]],
            },
        ))
    }
}

impl<const FAULT: u8> Carry<FAULT> {
    /// Both right is a place further; both wrong is a place back.
    fn carry(&mut self, outcome: Outcome, said: [usize; 2]) -> Outcome {
        let [first, second] = seats();
        let right = [0, 1].map(|place| said[place] == self.keys[self.here][place]);
        let outcome = match right {
            [true, true] => {
                self.here += 1;
                match FAULT {
                    CHARGES_THE_OTHER => outcome.seat(&first, "progress", 1.0),
                    _ => outcome.team("progress", 1.0),
                }
            }
            [false, false] if self.here > 0 => {
                self.here -= 1;
                match FAULT {
                    CHARGES_THE_OTHER => outcome.seat(&second, "progress", -1.0),
                    _ => outcome.team("progress", -1.0),
                }
            }
            _ => outcome,
        };
        if self.here == LENGTH { outcome.solved() } else { outcome }
    }

    /// The first wins a round where both say the same, and all if it wins every round.
    fn contend(&mut self, outcome: Outcome, same: Option<bool>) -> Outcome {
        if ![IS_A_CONTEST, PAYS_IN_A_CONTEST].contains(&FAULT) {
            return outcome;
        }
        let [first, second] = seats();
        self.rounds += 1;
        self.wins += usize::from(same == Some(true));
        let won = same.map_or(0.0, |same| if same { 1.0 } else { -1.0 });
        let outcome = outcome.seat(&first, "won", won).seat(&second, "won", -won);
        let outcome = match FAULT {
            PAYS_IN_A_CONTEST => outcome.seat(&second, "presence", 0.1),
            _ => outcome,
        };
        match self.rounds == ROUNDS {
            true if self.wins == ROUNDS => outcome.solved(),
            true => outcome.failed(),
            false => outcome,
        }
    }

    fn paid(outcome: Outcome) -> Outcome {
        match FAULT {
            PAYS_FOR_THE_OTHERS_WORDS => outcome.seat(&seats()[1], "patience", 0.1),
            PAYS_A_THIRD_MOVER => outcome.award(Recipient::Mover(2), "ghost", 0.1),
            PAYS_A_STRANGER => outcome.seat(&Seat::new("third"), "stranger", 0.1),
            _ => outcome,
        }
    }
}

pub fn seats() -> [Seat; 2] {
    [0, 1].map(|instance| Seat::numbered("carrier", instance))
}
