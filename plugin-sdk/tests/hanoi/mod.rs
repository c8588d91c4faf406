//! A tower of Hanoi with the faults that authors are likely to make.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Split,
    Task,
};
use plugin_sdk::{Random, Setting, Settings, state};
use serde::{Deserialize, Serialize};

/// What is wrong with a tower.
pub const SOUND: u8 = 0;
pub const FORGETS_A_STREAK: u8 = 1;
pub const PAYS_FOR_MOVES: u8 = 2;
pub const SHOWS_A_HASH_ORDER: u8 = 3;
pub const PAYS_FOR_GARBAGE: u8 = 4;
pub const IGNORES_THE_SPLIT: u8 = 5;
pub const NUMBERS_THE_SAME_TASKS: u8 = 6;
pub const OWNS_NO_TASKS: u8 = 7;
pub const SHOWS_THE_SOLUTION: u8 = 8;
pub const PAYS_AND_COUNTS_MOVES: u8 = 9;
pub const PAYS_AND_COUNTS_ACTIONS: u8 = 10;
pub const PAYS_WHO_LOOKS: u8 = 11;
pub const PANICS_AT_FOUR: u8 = 12;
// The same in other guises.
pub const PAYS_AND_SHOWS_A_CLOCK: u8 = 13;
pub const SHOWS_THE_PLAN: u8 = 14;
pub const TELLS_THE_SOLUTION_IN_THE_RULES: u8 = 15;
pub const SHOWS_THE_SEED: u8 = 16;
pub const PAYS_THE_TALKER: u8 = 17;
pub const HIDES_A_NUMBER: u8 = 18;
pub const NAMES_THE_SPLIT: u8 = 19;
pub const LISTS_THE_MOVES: u8 = 20;
pub const SAVES_NOTHING: u8 = 21;
pub const SHUFFLES_THE_SAME_TASKS: u8 = 22;
pub const HINTS_IN_BETWEEN: u8 = 23;
pub const COUNTS_HINTS: u8 = 24;
pub const PAYS_EVERY_THIRD_MOVE: u8 = 25;
pub const PAYS_EVERY_FIFTH_MOVE: u8 = 26;
pub const PAYS_EVERY_THIRD_PIECE_OF_GARBAGE: u8 = 27;
pub const PANICS_AT_FORTY_CHARACTERS: u8 = 28;
pub const PANICS_AT_OTHER_SCRIPTS: u8 = 29;
pub const PANICS_AT_LARGE_NUMBERS: u8 = 30;
pub const PANICS_AT_FENCES: u8 = 31;
pub const PANICS_AT_EMPTY_LINES: u8 = 32;
pub const PANICS_AT_CONTROL_CHARACTERS: u8 = 33;
pub const PANICS_WHEN_LOOKED_AT_AFTER_PROSE: u8 = 34;
pub const PANICS_AT_DEEP_NESTING: u8 = 35;
pub const DESCRIBES_ITSELF_ANEW: u8 = 36;
pub const CONFIGURES_ITSELF_ANEW: u8 = 37;

const PEGS: [char; 3] = ['A', 'B', 'C'];
/// What a legal move costs.
const MOVE: f64 = -0.01;

/// The peg of every disk, the smallest first.
type Tower = Vec<usize>;

#[derive(Serialize, Deserialize)]
pub struct Hanoi<const FAULT: u8> {
    tower: Tower,
    goal: Tower,
    number: u32,
    split: String,
    moves: u32,
    actions: u32,
    talked: bool,
    #[serde(skip)]
    streak: u32,
    #[serde(skip)]
    looks: Cell<u32>,
    longest: usize,
}

thread_local! {
    /// How often this instance was asked what it is.
    static ASKED: Cell<u32> = const { Cell::new(0) };
}

/// What stands where it was not expected, as the fault has it.
fn panics(fault: u8, text: &str) -> bool {
    match fault {
        PANICS_AT_FORTY_CHARACTERS => text.chars().count() >= 40,
        PANICS_AT_OTHER_SCRIPTS => {
            text.chars().any(|letter| !letter.is_ascii() && letter.is_alphabetic())
        }
        PANICS_AT_LARGE_NUMBERS => text.parse::<f64>().is_ok_and(|number| number.abs() > 1e30),
        PANICS_AT_FENCES => text.contains("```"),
        PANICS_AT_EMPTY_LINES => text.contains('\n') && text.trim().is_empty(),
        PANICS_AT_CONTROL_CHARACTERS => text.contains('\u{1b}'),
        PANICS_AT_DEEP_NESTING => text.matches('[').count() > 1000,
        _ => false,
    }
}

fn draw(random: &mut Random, disks: usize) -> (Tower, Tower) {
    let mut tower = || (0..disks).map(|_| random.below(3)).collect();
    (tower(), tower())
}

impl<const FAULT: u8> Environment for Hanoi<FAULT> {
    fn describe() -> Description {
        let asked = ASKED.get();
        ASKED.set(asked + 1);
        let anew = FAULT == DESCRIBES_ITSELF_ANEW && asked > 0;
        let summary = if anew { "Move another tower." } else { "Move a tower." };
        let description = Description::new("hanoi", "1.0.0", summary)
            .setting(Setting::integer("disks", "Disks of the tower.", 2..=6, 3))
            .action("move", "two pegs, such as `A C`");
        if FAULT == PAYS_THE_TALKER {
            return description.action("talk", "two pegs, such as `A C`");
        }
        description
    }

    fn configure(_: &[Configured]) -> Result<Configuration, Problem> {
        let asked = ASKED.get();
        ASKED.set(asked + 1);
        let more = if FAULT == CONFIGURES_ITSELF_ANEW { asked } else { 0 };
        Ok(Configuration::default().max_turns(40 + more))
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let disks = task.settings.integer("disks")?;
        if FAULT == PANICS_AT_FOUR {
            assert!(disks < 4, "too many disks");
        }
        let same = [IGNORES_THE_SPLIT, NUMBERS_THE_SAME_TASKS, HIDES_A_NUMBER, NAMES_THE_SPLIT];
        let split = if same.contains(&FAULT) { Split::Train } else { task.split };
        let owned =
            !same.contains(&FAULT) && ![OWNS_NO_TASKS, SHUFFLES_THE_SAME_TASKS].contains(&FAULT);
        let mut random = Random::new(split, task.seed, "towers");
        let (tower, goal) = loop {
            let (tower, goal) = draw(&mut random, disks);
            let name = format!("{tower:?} {goal:?}");
            if tower != goal && (!owned || Split::owning(name.as_bytes()) == split) {
                break (tower, goal);
            }
        };
        let serial = Random::new(task.split, task.seed, "serial").bits() as u32;
        let numbered = [NUMBERS_THE_SAME_TASKS, HIDES_A_NUMBER, SHUFFLES_THE_SAME_TASKS];
        Ok(Hanoi {
            tower,
            goal,
            number: if numbered.contains(&FAULT) {
                serial
            } else if FAULT == SHOWS_THE_SEED {
                task.seed
            } else {
                0
            },
            split: if FAULT == NAMES_THE_SPLIT {
                format!("{:?}", task.split)
            } else {
                String::new()
            },
            moves: 0,
            actions: 0,
            talked: false,
            streak: 0,
            looks: Cell::default(),
            longest: 0,
        })
    }

    fn rules(&self, _seat: &Seat) -> String {
        let solution = self.solution();
        match FAULT {
            TELLS_THE_SOLUTION_IN_THE_RULES => {
                format!("Move the disks. Begin with {}.", solution[0])
            }
            _ => "Move the disks, never a larger one onto a smaller one.".to_owned(),
        }
    }

    fn observe(&self, _seat: &Seat) -> String {
        self.looks.set(self.looks.get() + 1);
        assert!(self.longest < 1000, "there is no room for that");
        let shown = |tower: &Tower| -> String {
            let on = |peg: usize| -> String {
                (0..tower.len())
                    .rev()
                    .filter(|&disk| tower[disk] == peg)
                    .map(|disk| disk.to_string())
                    .collect()
            };
            PEGS.iter()
                .enumerate()
                .map(|(peg, name)| format!("{name}:{}", on(peg)))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let plain = format!("{} goal {}", shown(&self.tower), shown(&self.goal));
        let next = || self.solution().first().cloned().unwrap_or_default();
        match FAULT {
            SHOWS_A_HASH_ORDER => {
                let disks: HashSet<usize> = (0..12).collect();
                format!("{plain} {disks:?}")
            }
            NUMBERS_THE_SAME_TASKS | SHUFFLES_THE_SAME_TASKS => {
                format!("task {}: {plain}", self.number)
            }
            SHOWS_THE_SEED => format!("{plain} #{}", self.number),
            NAMES_THE_SPLIT => format!("{} {plain}", self.split),
            SHOWS_THE_SOLUTION => format!("{plain} {}", next()),
            HINTS_IN_BETWEEN => format!("{} hint: {}; {plain}", shown(&self.tower), next()),
            COUNTS_HINTS => format!("{plain}\nmove {}: {}", self.actions, next()),
            SHOWS_THE_PLAN => format!("{plain} plan: {}", self.solution().join(", ")),
            PAYS_AND_SHOWS_A_CLOCK => format!("{plain} ({} actions)", self.actions),
            LISTS_THE_MOVES => format!("{plain} moves: {}", self.legal().join(", ")),
            _ => plain,
        }
    }

    fn act(&mut self, _seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        assert!(!panics(FAULT, &action.text), "who would say that");
        if FAULT == PANICS_WHEN_LOOKED_AT_AFTER_PROSE {
            self.longest = self.longest.max(action.text.len());
        }
        if [PAYS_AND_COUNTS_ACTIONS, PAYS_AND_SHOWS_A_CLOCK, COUNTS_HINTS].contains(&FAULT) {
            self.actions += 1;
        }
        if action.kind == "talk" && moved(&self.tower, &action.text).is_some() {
            let worth = if self.talked { 0.0 } else { 0.3 };
            self.talked = true;
            return Ok(Outcome::accepted().local("plan", worth));
        }
        let Some(tower) = moved(&self.tower, &action.text) else {
            self.streak += u32::from(FAULT == FORGETS_A_STREAK);
            if FAULT == PAYS_EVERY_THIRD_PIECE_OF_GARBAGE {
                self.actions += 1;
                let worth = if self.actions.is_multiple_of(3) { 0.1 } else { 0.0 };
                return Ok(Outcome::rejected("That is no legal move.").local("patience", worth));
            }
            let outcome = if FAULT == PAYS_FOR_GARBAGE {
                Outcome::accepted().team("effort", 0.2)
            } else {
                Outcome::rejected("That is no legal move.").local("illegal", -0.1)
            };
            return Ok(outcome.local("streak", if self.streak > 2 { -0.05 } else { 0.0 }));
        };
        self.tower = tower;
        self.streak = 0;
        let counted = [PAYS_AND_COUNTS_MOVES, PAYS_EVERY_THIRD_MOVE, PAYS_EVERY_FIFTH_MOVE];
        self.moves += u32::from(counted.contains(&FAULT));
        let rare = match FAULT {
            PAYS_EVERY_THIRD_MOVE => self.moves.is_multiple_of(3),
            PAYS_EVERY_FIFTH_MOVE => self.moves.is_multiple_of(5),
            _ => false,
        };
        let paid = [
            PAYS_FOR_MOVES,
            PAYS_AND_COUNTS_MOVES,
            PAYS_AND_COUNTS_ACTIONS,
            PAYS_AND_SHOWS_A_CLOCK,
        ];
        let mut outcome =
            Outcome::accepted().team("move", if paid.contains(&FAULT) { 0.02 } else { MOVE });
        if rare {
            outcome = outcome.team("patience", 0.2);
        }
        if FAULT == PAYS_THE_TALKER && std::mem::take(&mut self.talked) {
            outcome = outcome.local("plan-used", -0.3);
        }
        if FAULT == PAYS_WHO_LOOKS && self.looks.get() > 1 {
            outcome = outcome.team("looked", 0.005);
        }
        self.looks.set(0);
        Ok(if self.tower == self.goal { outcome.team("solved", 9.0).solved() } else { outcome })
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        Some(Action::new("move", self.solution().first()?))
    }

    fn save(&self) -> Option<Vec<u8>> {
        if FAULT == SAVES_NOTHING { None } else { state::save(self) }
    }
}

impl<const FAULT: u8> Hanoi<FAULT> {
    /// A shortest way to the goal.
    fn solution(&self) -> Vec<String> {
        let distances = distances(&self.goal);
        let mut way = Vec::new();
        let mut tower = self.tower.clone();
        while tower != self.goal {
            let nearer = |text: &String| {
                let next = moved(&tower, text)?;
                (distances[&next] < distances[&tower]).then(|| (text.clone(), next))
            };
            let (text, next) = texts().iter().find_map(nearer).expect("every tower can be reached");
            way.push(text);
            tower = next;
        }
        way
    }

    fn legal(&self) -> Vec<String> {
        texts().into_iter().filter(|text| moved(&self.tower, text).is_some()).collect()
    }
}

type Distances = Rc<HashMap<Tower, usize>>;

/// How many moves every tower is from the goal.
fn distances(goal: &Tower) -> Distances {
    thread_local! {
        static KNOWN: RefCell<HashMap<Tower, Distances>> = RefCell::default();
    }
    let measure = || {
        let mut distances = HashMap::from([(goal.clone(), 0)]);
        let mut pending = VecDeque::from([goal.clone()]);
        while let Some(tower) = pending.pop_front() {
            let further = distances[&tower] + 1;
            for next in texts().iter().filter_map(|text| moved(&tower, text)) {
                if !distances.contains_key(&next) {
                    distances.insert(next.clone(), further);
                    pending.push_back(next);
                }
            }
        }
        Rc::new(distances)
    };
    KNOWN.with_borrow_mut(|known| known.entry(goal.clone()).or_insert_with(measure).clone())
}

fn texts() -> Vec<String> {
    let pairs = PEGS.iter().flat_map(|from| PEGS.iter().map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).map(|(from, to)| format!("{from} {to}")).collect()
}

fn moved(tower: &Tower, text: &str) -> Option<Tower> {
    let pegs: Vec<usize> = text
        .split(' ')
        .map(|word| PEGS.iter().position(|peg| peg.to_string() == word))
        .collect::<Option<_>>()?;
    let &[from, to] = pegs.as_slice() else { return None };
    let disk = tower.iter().position(|&peg| peg == from)?;
    let free = tower.iter().position(|&peg| peg == to).is_none_or(|top| top > disk);
    (from != to && free).then(|| {
        let mut tower = tower.clone();
        tower[disk] = to;
        tower
    })
}
