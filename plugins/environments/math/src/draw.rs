//! Drawing the question of a task.

use plugin_sdk::environment::{Configured, Problem, Split, Task};
use plugin_sdk::{Random, SettingError, Settings};

use crate::arithmetic::{self, Operator};
use crate::question::{Drawn, Question};
use crate::{algebra, number_theory};

/// Draws before the settings are called impossible.
const ATTEMPTS: usize = 20_000;

/// What the settings ask for.
struct Wanted {
    kind: String,
    arithmetic: arithmetic::Wanted,
    difficulty: u32,
}

/// Draw the question of a task. No question is in two splits: it belongs to the
/// split that its key decides.
pub fn draw(task: &Task) -> Result<Question, Problem> {
    let wanted = Wanted::read(&task.settings)?;
    let mut random = Random::new(task.split, task.seed, "question");
    let ours = |drawn: &Drawn| Split::owning(drawn.key.as_bytes()) == task.split;
    let drawn = (0..ATTEMPTS).filter_map(|_| wanted.draw(&mut random)).find(ours);
    drawn.map(|drawn| drawn.question).ok_or_else(|| {
        let split = task.split;
        Problem::settings(format!("{ATTEMPTS} draws gave no question of the {split} split"))
    })
}

/// Say which settings contradict each other.
pub fn check(settings: &[Configured]) -> Result<(), Problem> {
    let wanted = Wanted::read(settings)?;
    match wanted.arithmetic.is_plain && wanted.kind != "arithmetic" {
        true => Err(Problem::settings(
            "`observation = \"plain\"` asks for one whole number, which only \
             `kind = \"arithmetic\"` always has for an answer",
        )),
        false => Ok(()),
    }
}

impl Wanted {
    fn read(settings: &[Configured]) -> Result<Self, SettingError> {
        Ok(Wanted {
            kind: settings.text("kind")?.to_owned(),
            arithmetic: arithmetic::Wanted {
                operators: Operator::all_in(settings.text("operators")?),
                operands: settings.integer("operands")?,
                largest: match settings.integer("largest")? {
                    0 => 10_usize.pow(settings.integer("digits")?) - 1,
                    largest => largest,
                },
                is_plain: settings.text("observation")? == "plain",
            },
            difficulty: settings.integer("difficulty")?,
        })
    }

    fn draw(&self, random: &mut Random) -> Option<Drawn> {
        let kind = match self.kind.as_str() {
            "mixed" => ["arithmetic", "algebra", "number-theory"][random.below(3)],
            kind => kind,
        };
        match kind {
            "algebra" => algebra::draw(self.difficulty, random),
            "number-theory" => number_theory::draw(self.difficulty, random),
            _ => arithmetic::draw(&self.arithmetic, random),
        }
    }
}
