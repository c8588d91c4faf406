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
    Wanted::read(settings).map(|_| ()).map_err(Problem::from)
}

impl Wanted {
    fn read(settings: &[Configured]) -> Result<Self, SettingError> {
        Ok(Wanted {
            kind: settings.text("kind")?.to_owned(),
            arithmetic: arithmetic::Wanted {
                operators: Operator::all_in(settings.text("operators")?),
                operands: settings.integer("operands")?,
                digits: settings.integer("digits")?,
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
